"""Check receipts: that those are stored which snapshots name, and what they claim.

The content of a snapshot does not depend on its receipt, so a receipt that is missing is a
warning. `verify_receipt` checks the claims of one run, in numbered steps:

1. The receipt decodes, and a snapshot of the lineage carries it.
2. The parts before it are stored, back to part 0, and are of the same run.
3. Each part is carried by a descendant of the snapshot that carries the part before; the
   first by a descendant of `snapshot_before`, whose bundle is `bundle_before`.
4. `bundle_after` of each part is the bundle of the snapshot that carries it.
5. The steps of a part claim exactly what its snapshot changed against its first parent:
   the same files, blobs and versions of skills.
6. No other snapshot since the run began carries a receipt of this run.
7. The run was closed, and its last snapshot states the same outcome.

Other writers may record snapshots in between. A receipt does not prove what a model or
tool said; it proves what was written, and that the record was not made up, shortened or
moved afterwards. Everything is computed from stored objects, never from the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from .. import limits
from ..digest import NO_DIGEST, blob_id
from ..errors import BrainError, FormatError
from ..objects import lineage
from ..objects import operation as operations
from ..objects.operation import BINDING_KINDS
from ..objects.snapshot import Snapshot
from ..objects.tree_node import TreeEntry
from ..programs.program import slug_of_tool
from ..receipts import Receipt, RunStep, decode_receipt
from ..repo import read_receipts
from ..repo.read_receipts import (
    ReceiptPart,
    find_closing_snapshots,
    iter_parts,
    read_part,
)
from ..repo.session import Session
from ..results import Finding, ReceiptVerified
from .decision_check import DecisionCheck, find_texts, find_usual_texts, read_program, read_version

LOOKUP_BATCH_RECEIPTS = 512
"""Receipts that are looked up in one batch."""
_RECEIPT_MARKER = b'"format":"brain v1 receipt"'


class ReceiptPresence:
    """Checks one snapshot after the other.

    With `add_receipt`, receipts are read; it is called with each and the snapshot that carries it.
    """

    def __init__(
        self, session: Session, add_receipt: Callable[[bytes, Receipt], None] | None = None
    ) -> None:
        self._session = session
        self._add_receipt = add_receipt
        self._pending: list[tuple[bytes, bytes, str]] = []

    def add_snapshot(self, snapshot_id: bytes, snapshot: Snapshot) -> list[Finding]:
        """Add the next snapshot; return findings when a batch is full."""
        if snapshot.receipt != NO_DIGEST:
            self._pending.append((snapshot_id, snapshot.receipt, "receipt"))
        if snapshot.operation[0] in BINDING_KINDS:
            self._pending.append((snapshot_id, snapshot.operation[-1], "document"))
        return self.flush() if len(self._pending) >= LOOKUP_BATCH_RECEIPTS else []

    def flush(self) -> list[Finding]:
        """Return the findings about the snapshots added since the last batch."""
        waiting, self._pending = self._pending, []
        return list(self._check_batch(waiting)) if waiting else []

    def _check_batch(self, waiting: list[tuple[bytes, bytes, str]]) -> Iterator[Finding]:
        reader = self._session.reader
        missing = reader.find_missing(blob for _, blob, _ in waiting)
        redacted = reader.find_redactions(list(missing))
        for snapshot_id, blob, label in waiting:
            if blob in redacted:
                message = f"{label} redacted by snapshot {redacted[blob].hex()[:12]}; its id stays"
                yield Finding("redacted", "note", snapshot_id.hex(), "", message)
            elif blob in missing:
                message = f"its {label} {blob.hex()} is missing"
                yield Finding(f"missing_{label}", "warning", snapshot_id.hex(), "", message)
            elif self._add_receipt is not None and label == "receipt":
                yield from self._check_receipt(snapshot_id, blob, self._add_receipt)

    def _check_receipt(
        self, snapshot_id: bytes, blob: bytes, add_receipt: Callable[[bytes, Receipt], None]
    ) -> Iterator[Finding]:
        from ..receipts import decode_receipt

        reader = self._session.reader
        try:
            if reader.blob_size(blob) > limits.MAX_RECEIPT_BYTES:
                yield Finding("foreign_receipt", "note", snapshot_id.hex(), "", _FOREIGN_MESSAGE)
                return
            data = reader.read_blob(blob)
        except BrainError:  # reported where every blob is read
            return
        try:
            add_receipt(snapshot_id, decode_receipt(data))
        except FormatError as error:
            if _RECEIPT_MARKER in data:
                message = f"its receipt is malformed: {error.message}"
                yield Finding("bad_receipt", "warning", snapshot_id.hex(), "", message)
            else:
                yield Finding("foreign_receipt", "note", snapshot_id.hex(), "", _FOREIGN_MESSAGE)


_FOREIGN_MESSAGE = "carries a record of another format than receipts have"


class _SkillRun(NamedTuple):
    """A run that a receipt claims; `since` is the snapshot before it, empty if unknown."""

    carrier: bytes
    since: bytes
    tool: str
    version: str


class RunCheck:
    """Check that the skills which receipts say were run had been admitted.

    A receipt names each run of an executable skill as a `tool` step with the version of the skill.
    Between the part before and the snapshot that carries the step, there must be a state of the
    brain in which the skill had that version, and in which its program had been admitted; else
    the step is `unadmitted_run`. That is a warning, like all that is found about receipts: the
    admission may have been undone since.
    """

    def __init__(self, session: Session, decisions: DecisionCheck) -> None:
        self._session = session
        self._decisions = decisions
        self._runs: dict[_SkillRun, None] = {}

    def add_receipt(self, snapshot_id: bytes, receipt: Receipt) -> None:
        """Add the runs of a receipt that a snapshot carries."""
        since = receipt.previous or receipt.snapshot_before
        for step in receipt.steps:
            if step.kind == "tool" and step.version:
                self._runs[_SkillRun(snapshot_id, since, step.name, step.version)] = None

    def findings(self) -> Iterator[Finding]:
        """Yield the runs of what had not been admitted."""
        for run in self._runs:
            try:
                admitted = self._was_admitted(run)
            except BrainError:  # of an object, reported by itself
                continue
            if not admitted:
                message = (
                    f"its receipt says that {run.tool} ran at version {run.version}, which no "
                    "verdict had admitted"
                )
                yield Finding("unadmitted_run", "warning", run.carrier.hex(), "", message)

    def _was_admitted(self, run: _SkillRun) -> bool:
        session, slug = self._session, slug_of_tool(run.tool)
        for parent in session.load_snapshot(run.carrier).parents:
            texts = find_texts(session.state_of(parent), slug)
            if self._could_run(parent, texts, run.version):
                return True
        return any(
            self._could_run(here, find_usual_texts(session.state_of(here), slug), run.version)
            for here in self._find_states(run, slug)
        )

    def _find_states(self, run: _SkillRun, slug: str) -> Iterator[bytes]:
        """Yield the snapshots before the carrier that may have had the skill as it was run."""
        load = self._session.load_snapshot
        if not run.since or not self._session.reader.has_object(run.since):
            return
        yield run.since
        oldest = load(run.since).generation
        for here, snapshot in lineage.walk_ancestors(load, run.carrier):
            if snapshot.generation <= oldest:
                return
            kind, *about = snapshot.operation[:2]
            if here != run.carrier and (slug in about or kind in ("snapshot", "merge")):
                yield here

    def _could_run(self, at: bytes, texts: Iterator[TreeEntry], version: str) -> bool:
        """Tell whether one of `texts` has the version, and its program was admitted by then."""
        state = self._session.state_of(at)
        for text in texts:
            if read_version(self._session, text) in (version, None):
                program = read_program(state, text.path)
                if self._decisions.was_admitted(program, at):
                    return True
        return False


_RUN_FIELDS = ("run", "task", "agent", "model", "started", "snapshot_before", "bundle_before")
_WRITE_KINDS = ("skill_create", "memory_write")


def verify_receipt(session: Session, rev: str = "@") -> ReceiptVerified:
    """Check the receipts of a run against the lineage. Raises as `show`."""
    return _verify_run(session, read_part(session, session.resolve(rev)))


def verify_receipt_file(session: Session, data: bytes) -> ReceiptVerified:
    """Check a receipt from a file against the lineage. Raises `FormatError`."""
    blob, load = blob_id(data), session.load_snapshot
    carriers = (
        snapshot_id
        for start in _list_starts(session)
        for snapshot_id, snapshot in lineage.walk_ancestors(load, start)
        if snapshot.receipt == blob
    )
    carrier = next(carriers, NO_DIGEST)
    return _verify_run(session, ReceiptPart(decode_receipt(data), blob, carrier))


def _list_starts(session: Session) -> Iterable[bytes]:
    """Return the heads of all branches, that of the current one first."""
    return dict.fromkeys([session.head(), *session.reader.list_refs().values()])


def _verify_run(session: Session, last: ReceiptPart) -> ReceiptVerified:
    findings: list[Finding] = []
    carriers, steps, writes = list[bytes](), 0, 0
    # 1. A snapshot of the lineage carries it.
    if not last.snapshot:
        findings.append(
            _error_finding("not_carried", NO_DIGEST, "no snapshot of this brain carries it")
        )
    elif not any(
        lineage.is_ancestor(session.load_snapshot, last.snapshot, start)
        for start in _list_starts(session)
    ):
        message = "carried by a snapshot that no branch reaches"
        findings.append(_error_finding("not_in_lineage", last.snapshot, message))
    later = last
    try:
        for part in iter_parts(session, last):
            findings += _check_continuation(session, part, later, last.receipt)
            if part.snapshot:
                findings += _check_part(session, part)
            carriers.append(part.snapshot)
            steps += len(part.receipt.steps)
            writes += sum(len(step.writes) for step in part.receipt.steps)
            later = part
        findings += _check_start(session, later)
        findings += _find_unnamed_parts(session, last, set(carriers))
    except BrainError as error:  # 2. A part is not there, or does not decode or follow.
        findings.append(_error_finding(error.code, later.receipt.previous, error.message))
    findings += _check_end(session, last)
    return ReceiptVerified(
        all(finding.severity != "error" for finding in findings),
        last.blob.hex(),
        last.receipt.run,
        [carrier.hex() for carrier in reversed(carriers) if carrier],
        steps,
        writes,
        findings,
    )


def _check_continuation(
    session: Session, part: ReceiptPart, later: ReceiptPart, last: Receipt
) -> Iterator[Finding]:
    # 2. It is of the same run.
    for name in _RUN_FIELDS:
        if getattr(part.receipt, name) != getattr(last, name):
            yield _error_finding(
                "other_run", part.snapshot, f"part {part.receipt.part} has another {name}"
            )
    # 3. It is carried by an ancestor of what carries the next part.
    if part is later or not later.snapshot:
        return
    if not lineage.is_ancestor(session.load_snapshot, part.snapshot, later.snapshot):
        message = f"{later.snapshot.hex()[:12]}, which carries the next part, does not descend"
        yield _error_finding("not_in_lineage", part.snapshot, message)


def _check_start(session: Session, first: ReceiptPart) -> Iterator[Finding]:
    # 3. The run began at an ancestor, which had the bundle it says.
    start = first.receipt.snapshot_before
    if not start or not first.snapshot:
        return
    if start == first.snapshot or not lineage.is_ancestor(
        session.load_snapshot, start, first.snapshot
    ):
        yield _error_finding(
            "wrong_before",
            first.snapshot,
            "does not descend from the snapshot that the run began at",
        )
    if session.load_snapshot(start).bundle != first.receipt.bundle_before:
        yield _error_finding("wrong_before", start, "the run began with another bundle")


def _check_part(session: Session, part: ReceiptPart) -> Iterator[Finding]:
    receipt, snapshot_id = part.receipt, part.snapshot
    snapshot = session.load_snapshot(snapshot_id)
    # 4. It names the bundle of its snapshot.
    if receipt.bundle_after != snapshot.bundle:
        yield _error_finding(
            "wrong_after",
            snapshot_id,
            f"its bundle is {snapshot.bundle.hex()[:12]}, not the one claimed",
        )
    # 5. The steps wrote what changed.
    parent = session.parent_state(snapshot)
    after = session.load_state(snapshot.bundle)
    changes = parent.diff(after)
    actual = read_receipts.build_write_steps(parent, after, changes, snapshot.operation)
    yield from _check_writes(snapshot_id, receipt.steps, actual)
    yield from _check_versions(session, snapshot_id, receipt.steps, actual)
    ending = snapshot.operation[1:]
    if operations.is_task_end(snapshot.operation) and ending != (receipt.run, receipt.outcome):
        yield _error_finding("wrong_outcome", snapshot_id, "the snapshot states another outcome")


def _check_writes(
    snapshot_id: bytes, steps: tuple[RunStep, ...], actual: tuple[RunStep, ...]
) -> Iterator[Finding]:
    claimed = [write for step in steps for write in step.writes]
    actual_writes = [write for step in actual for write in step.writes]
    for write in sorted(set(actual_writes) - set(claimed)):
        yield _error_finding(
            "unnamed_write", snapshot_id, "changed, which no step claims", write.path
        )
    for write in sorted(set(claimed) - set(actual_writes)):
        message = "not written as a step claims" if write.blob else "not removed, as a step claims"
        yield _error_finding("unproven_write", snapshot_id, message, write.path)
    if len(claimed) != len(set(claimed)):
        yield _error_finding("unproven_write", snapshot_id, "claims one file twice")
    if sum(step.omitted for step in steps) != sum(step.omitted for step in actual):
        yield _error_finding(
            "wrong_count", snapshot_id, "another number of files changed than it claims"
        )
    for step in steps:
        if step.kind in _WRITE_KINDS and not step.writes and not step.omitted:
            yield _error_finding(
                "unproven_step", snapshot_id, f"a {step.kind} step that wrote nothing"
            )


def _check_versions(
    session: Session, snapshot_id: bytes, steps: tuple[RunStep, ...], actual: tuple[RunStep, ...]
) -> Iterator[Finding]:
    blobs = [write.blob for step in actual for write in step.writes if write.blob]
    if session.reader.find_redactions(blobs):  # their versions cannot be read any more
        return
    actual_writes = {(s.kind, s.name, s.version, s.from_version) for s in actual}
    for step in steps:
        claimed_version = (step.kind, step.name, step.version, step.from_version)
        if step.kind in _WRITE_KINDS and step.writes and claimed_version not in actual_writes:
            message = f"not {step.name} from version {step.from_version!r} to {step.version!r}"
            yield _error_finding("wrong_version", snapshot_id, message, step.writes[0].path)


def _find_unnamed_parts(
    session: Session, last: ReceiptPart, part_snapshots: set[bytes]
) -> Iterator[Finding]:
    # 6. Nothing else carries a receipt of this run.
    start = last.receipt.snapshot_before
    if not start or not last.snapshot:
        return
    since = session.load_snapshot(start).generation
    name = last.receipt.run.encode()
    for snapshot_id, snapshot in lineage.walk_ancestors(session.load_snapshot, last.snapshot):
        if snapshot.generation <= since:
            break
        if (
            snapshot_id in part_snapshots
            or not snapshot.receipt
            or not _has_run_name(session, snapshot, name)
        ):
            continue
        if read_part(session, snapshot_id).receipt.run == last.receipt.run:
            yield _error_finding(
                "unnamed_snapshot", snapshot_id, "carries a receipt of this run that no part names"
            )


def _has_run_name(session: Session, snapshot: Snapshot, name: bytes) -> bool:
    """Tell cheaply, by its text, whether a receipt could be of a run."""
    try:
        return name in session.reader.read_blob(snapshot.receipt)
    except BrainError:  # missing, which verification of the brain reports
        return False


def _check_end(session: Session, last: ReceiptPart) -> Iterator[Finding]:
    # 7. The run was closed.
    if last.receipt.is_closed or not last.snapshot:
        return
    since = session.load_snapshot(last.snapshot).generation
    found = find_closing_snapshots(session, session.head(), {last.receipt.run}, since)
    if not found:
        message = "the run was not closed: no later step of it is recorded"
        yield Finding("still_open", "warning", last.snapshot.hex(), "", message)


def _error_finding(code: str, snapshot: bytes, message: str, path: str = "") -> Finding:
    return Finding(code, "error", snapshot.hex(), path, message)
