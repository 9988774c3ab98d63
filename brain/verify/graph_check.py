"""Check the graph of snapshots, the refs, the operation log and the rows of all other tables."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from ..digest import DIGEST_SIZE, NO_DIGEST, domain_hash
from ..errors import BrainError, printable_text
from ..objects import lineage, operation
from ..objects.snapshot import Snapshot
from ..repo.log_entry import check_against_head, decode_log_entry, load_merge_state
from ..repo.session import Session, head_ref
from ..results import Finding
from ..store import checks
from ..store.rows import PendingWrite


def error_finding(code: str, message: str, snapshot: str = "", path: str = "") -> Finding:
    """Return a finding of severity error; `snapshot` is a full id as text, "" for none."""
    return Finding(code, "error", snapshot, path, message)


def finding_from_error(error: BrainError, snapshot: str = "") -> Finding:
    """Return the finding that an exception is."""
    return error_finding(error.code, error.message, snapshot)


MAX_CLOCK_SKEW_MS = 5 * 60 * 1000
"""Milliseconds that a snapshot may be older than its parent without a warning."""
MAX_AHEAD_MS = 24 * 60 * 60 * 1000
"""Milliseconds that a snapshot may be ahead of this machine's clock without a warning."""

_hash_operation = domain_hash("brain v1 operation")


def check_refs(session: Session) -> tuple[list[bytes], list[Finding]]:
    """Return the snapshots that refs point to, and findings about refs."""
    try:
        refs = session.reader.list_refs()
        current = head_ref(Session.current_branch(session))  # no proposal, which begins later
        session.read_brain_id()
    except BrainError as error:
        return [], [finding_from_error(error)]
    if current not in refs:
        return list(refs.values()), [
            error_finding("bad_ref", f"the current branch {current} does not exist")
        ]
    return list(dict.fromkeys(refs.values())), []


def walk_reachable(
    session: Session, starts: list[bytes]
) -> Iterator[tuple[bytes, Snapshot | BrainError]]:
    """Yield `starts` and all their ancestors, children first; an error for an unreadable one.

    Memory grows with the width of the lineage only. Where a parent claims to be no older than its
    child, the order is lost: from there on a snapshot may come once more, and memory grows with
    the lineage, so that false generations cannot make the walk go the same ways for ever.
    """
    queue: list[tuple[int, bytes]] = []
    waiting: dict[bytes, Snapshot] = {}
    walked: set[bytes] = set()
    in_order = True

    def expect(snapshot_id: bytes) -> BrainError | None:
        if snapshot_id in waiting or snapshot_id in walked:
            return None
        try:
            snapshot = session.load_snapshot(snapshot_id)
        except BrainError as error:
            return error
        waiting[snapshot_id] = snapshot
        heapq.heappush(queue, (-snapshot.generation, snapshot_id))
        return None

    for start in starts:
        if (fault := expect(start)) is not None:
            yield start, fault
    while queue:
        _, here = heapq.heappop(queue)
        snapshot = waiting.pop(here)
        if not in_order:
            walked.add(here)
        yield here, snapshot
        for parent in snapshot.parents:
            if (fault := expect(parent)) is not None:
                yield parent, fault
            elif parent in waiting and waiting[parent].generation >= snapshot.generation:
                in_order = False


def check_graph_position(session: Session, here: bytes, snapshot: Snapshot) -> Iterator[Finding]:
    """Check a snapshot's brain, parents, generation, jump and time."""
    name, brain = here.hex(), session.read_brain_id()
    if snapshot.is_genesis:
        if here != brain:
            message = f"it is a first snapshot other than this brain's, {brain.hex()}"
            yield Finding("foreign_genesis", "error", name, "", message)
        yield from _check_fork_origin(session, name, snapshot)
        return
    if snapshot.brain != brain:
        message = f"it names another brain, {snapshot.brain.hex()}"
        yield Finding("foreign_brain", "error", name, "", message)
    try:
        parents = [session.load_snapshot(parent) for parent in snapshot.parents]
        jump = lineage.next_jump(session.load_snapshot, snapshot.parents[0], parents[0])
    except BrainError as error:
        yield finding_from_error(error, name)
        return
    if snapshot.generation != lineage.next_generation(parents):
        yield Finding(
            "bad_generation", "error", name, "", "its generation is not that of its parents + 1"
        )
    if snapshot.jump != jump:
        message = (
            f"it jumps from depth {snapshot.jump.depth} to {snapshot.jump.target.hex()[:12]}, "
            f"not from {jump.depth} to {jump.target.hex()[:12]}"
        )
        yield Finding("bad_jump", "error", name, "", message)
    if snapshot.operation[0] != "import":  # imports keep the times of their source
        yield from _check_time(session, name, snapshot, parents)


def _check_time(
    session: Session, name: str, snapshot: Snapshot, parents: list[Snapshot]
) -> Iterator[Finding]:
    late = max(parent.time for parent in parents) - snapshot.time
    if late > MAX_CLOCK_SKEW_MS:
        message = f"its time is {late / 1000:.0f} s before that of its parent"
        yield Finding("time_backwards", "warning", name, "", message)
    ahead = snapshot.time - session.timestamp_ms()
    if ahead > MAX_AHEAD_MS:
        message = f"its time is {ahead // MAX_AHEAD_MS} days ahead of the clock of this machine"
        yield Finding("time_ahead", "warning", name, "", message)


class MergeBaseCheck:
    """Checks, while a lineage is walked, that merges name the best common ancestors."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._multi_parent: list[tuple[bytes, int]] = []
        self._merges: list[bytes] = []

    def add_snapshot(self, here: bytes, snapshot: Snapshot) -> None:
        """Add the next snapshot of the walk."""
        if len(snapshot.parents) > 1:
            self._multi_parent.append((here, snapshot.generation))
            if snapshot.operation[0] == "merge":
                self._merges.append(here)

    def findings(self) -> Iterator[Finding]:
        """Yield the merges that name other bases."""
        load = self._session.load_snapshot
        bases = lineage.MergeBaseFinder(load, self._multi_parent)
        for here in self._merges:
            snapshot = load(here)
            try:
                expected = bases.find(*snapshot.parents)
            except BrainError:  # of an ancestor, reported by itself
                continue
            if expected != list(snapshot.operation[1]):
                names = ", ".join(base.hex()[:12] for base in expected) or "none"
                message = f"the merge bases of its parents are others: {names}"
                yield Finding("bad_bases", "error", here.hex(), "", message)


def _check_fork_origin(session: Session, name: str, genesis: Snapshot) -> Iterator[Finding]:
    origin = operation.fork_origin(genesis.operation)
    if origin == NO_DIGEST or not session.reader.has_object(origin):
        return
    try:
        bundle = session.load_snapshot(origin).bundle
    except BrainError as error:
        yield finding_from_error(error, name)
        return
    if bundle != genesis.bundle:
        message = f"it begins with another bundle than its origin {origin.hex()}"
        yield Finding("bad_origin", "error", name, "", message)


def check_operation_log(session: Session) -> Iterator[Finding]:
    """Check that the operation log is an unbroken chain that ends with the current refs."""
    try:
        ref_targets, last = _read_refs_and_last_operation(session)
        newer: tuple[int, bytes, bytes] | None = None
        for row in session.reader.stream_operations():
            if row.number > last:  # logged after the refs were read
                continue
            if newer is not None:
                yield from _check_log_link(newer, row.id)
            newer = (row.number, row.id, row.data)
            for name, old, new in decode_log_entry(row).refs:
                if ref_targets.get(name, NO_DIGEST) != new:
                    message = f"operation {row.number} left {name} at {new.hex()[:12]}"
                    yield error_finding("ref_mismatch", f"{message}, but it is elsewhere")
                ref_targets[name] = old
        if newer is not None:
            yield from _check_log_link(newer, NO_DIGEST)
    except BrainError as error:
        yield finding_from_error(error)
        return
    for name, old in ref_targets.items():
        if old:
            yield error_finding("ref_mismatch", f"no operation set {name} to {old.hex()[:12]}")


def _read_refs_and_last_operation(session: Session) -> tuple[dict[str, bytes], int]:
    """Return refs and the number of the last operation, with no writer in between."""
    before = -1
    while True:
        refs = dict(session.reader.list_refs())
        last = next((row.number for row in session.reader.stream_operations()), 0)
        if last == before:
            return refs, last
        before = last


def _check_log_link(newer: tuple[int, bytes, bytes], previous: bytes) -> Iterator[Finding]:
    number, operation_id, data = newer
    if _hash_operation(previous + data) != operation_id:
        yield error_finding("broken_log", f"operation {number} does not follow the one before it")


def check_tables(session: Session) -> Iterator[Finding]:
    """Yield findings about pending writes, redactions, a waiting merge and stray rows."""
    for part in (
        _check_pending_writes,
        _check_redaction_rows,
        _check_waiting_merge,
        _check_stray_rows,
    ):
        try:
            yield from part(session)
        except BrainError as error:
            yield finding_from_error(error)


def _check_pending_writes(session: Session) -> Iterator[Finding]:
    head, rows, damaged = _read_consistently(session)
    for problem in damaged:
        yield error_finding("corrupt_pending", problem)
    for path in check_against_head(session, rows, head)[1]:
        yield error_finding(
            "foreign_pending", f"{printable_text(path)} is pending, but the head disagrees"
        )


def _read_consistently(session: Session) -> tuple[bytes, list[PendingWrite], list[str]]:
    while True:
        head = session.folder_head()
        rows, damaged = session.reader.inspect_pending_writes()
        if session.folder_head() == head:
            return head, rows, damaged


def _check_redaction_rows(session: Session) -> Iterator[Finding]:
    for blob, snapshot in session.reader.list_redaction_rows().items():
        if (len(blob), len(snapshot)) != (DIGEST_SIZE, DIGEST_SIZE):
            yield error_finding("corrupt_redaction", "a row of the redactions holds a malformed id")


def _check_waiting_merge(session: Session) -> Iterator[Finding]:
    waiting = load_merge_state(session)
    if waiting is not None:
        session.load_snapshot(waiting.theirs)
        chosen = [row.chosen for row in waiting.rows if row.chosen]
        for blob in sorted(session.reader.find_missing(chosen)):
            yield error_finding(
                "missing_object", f"the waiting merge names blob {blob.hex()}, which is missing"
            )


def _check_stray_rows(session: Session) -> Iterator[Finding]:
    for fault in checks.check_stray_rows(session.reader):
        yield error_finding("damaged_store", fault)
