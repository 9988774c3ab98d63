"""Garbage collection: mark what refs and recent operations need, and sweep the rest.

First everything that is needed is followed to its last blob. If anything of it is
missing, the store is damaged, and nothing is removed.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...digest import NO_DIGEST
from ...errors import FormatError, InvalidInput, NotFound, StoreError
from ...objects import operation, verified_decode
from ...objects import tree_node as nodes
from ...objects.snapshot import Snapshot
from ...objects.tree_node import LEAF
from ...results import Collected
from ...store.protocol import ObjectKind, StoreReader
from ...store.sweep import incomplete_store_error
from ..core import working_copy
from ..core.checkout import Progress, no_progress
from ..core.transaction import lock_for_writing, store_transaction
from ..ledgers import last_seen_head
from ..open.session import Session
from ..read.merge_state_format import load_merge_state
from ..read.operation_entry import decode_log_entry

GRACE_DAYS = 30
_DAY_MS = 86_400_000
_RELEASED_OPERATION_KEY = "let-go"
"""Names the fact that holds the last operation whose snapshots may be gone."""
_NO_LIMIT = 1 << 62
_OBJECTS_PER_SWEEP = 32
"""Objects removed by one transaction on a full disk."""
_PROGRESS_INTERVAL = 256


def collect_garbage(
    session: Session, grace: int = GRACE_DAYS, progress: Progress = no_progress
) -> Collected:
    """Remove what nothing needs, and give the space back.

    Needed is what branches reach, what operations of the last `grace` days went from
    and to, files still to be written, a merge that waits and what ledgers hold. Raises
    `InvalidInput` (`bad_grace`), `StoreError` (`incomplete`).
    """
    if grace < 0:
        raise InvalidInput("a grace period of less than no days", code="bad_grace")
    with lock_for_writing(session):
        before = session.store.size_on_disk()
        with store_transaction(session) as tx:
            last_released = _last_released_operation(session, grace)
            marked = _Marker(tx, session.brain_id(), progress).mark_from(
                _find_roots(session, last_released)
            )
            marked.update(row.blob for row in tx.list_pending_writes())
            marked.update(_merge_state_blobs(session))
            _require_complete(tx, marked)
            count = tx.count_objects()
        if working_copy.read_cached_bundle_id(session) not in marked:
            # A scan would take files for recorded of which the content is about to go.
            working_copy.delete_stat_cache(session)
        removed = _sweep_unmarked(session, marked, last_released)
        compacted = session.store.compact()
        after = session.store.size_on_disk()
        session.clear_loaded()
    head = session.head().hex()
    return Collected(
        head, removed, count - removed, max(before - after, 0), before, after, compacted
    )


def _sweep_unmarked(session: Session, marked: set[bytes], last_released: int) -> int:
    """Remove all but `kept` at once, or bit by bit where there is no room for that."""
    most, total = _NO_LIMIT, 0
    while True:
        try:
            removed = _sweep_once(session, marked, last_released, most)
        except StoreError as error:
            if error.code != "no_space" or most == 1:
                raise
            most = min(most, 2 * _OBJECTS_PER_SWEEP) // 2
            working_copy.delete_stat_cache(session)
            removed = most
        else:
            total += removed
        if removed < most:
            return total
        session.store.compact()  # what the log took is room for the next transaction


def _sweep_once(session: Session, marked: set[bytes], last_released: int, most: int) -> int:
    with store_transaction(session) as tx:
        tx.write_meta(_RELEASED_OPERATION_KEY, last_released.to_bytes(8, "big"))
        return tx.sweep_objects(marked, most)


def _last_released_operation(session: Session, grace: int) -> int:
    """Return the last operation that is older than the grace period, or was let go before."""
    known = int.from_bytes(session.reader.read_meta(_RELEASED_OPERATION_KEY) or b"", "big")
    oldest = session.timestamp_ms() - grace * _DAY_MS
    for row in session.reader.stream_operations():
        if row.number <= known or decode_log_entry(row).time <= oldest:
            return max(row.number, known)
    return known


def _find_roots(session: Session, last_released: int) -> set[bytes]:
    roots = set(session.reader.list_refs().values())
    for row in session.reader.stream_operations():
        if row.number <= last_released:
            break
        record = decode_log_entry(row)
        roots.update(record.files_moved, *((old, new) for _, old, new in record.refs))
    pending_merge = load_merge_state(session)
    if pending_merge is not None:
        roots.add(pending_merge.theirs)
    roots.update(
        row.snapshot for row in last_seen_head.read_last_seen_heads(session.reader).values()
    )
    return roots - {NO_DIGEST}


def _merge_state_blobs(session: Session) -> Iterator[bytes]:
    """Yield the blobs that a merge which waits was decided with; its sides may be of no file."""
    pending_merge = load_merge_state(session)
    for row in pending_merge.rows if pending_merge else ():
        if row.chosen:
            yield row.chosen


def _require_complete(reader: StoreReader, marked: set[bytes]) -> None:
    marked.discard(NO_DIGEST)
    missing = reader.find_missing(marked)
    missing.difference_update(reader.find_redactions(list(missing)))
    if missing:
        raise incomplete_store_error(f"object {min(missing).hex()} is missing")


class _Marker:
    """Follows snapshots to all that they are made of, reading nothing but the store."""

    def __init__(self, reader: StoreReader, brain: bytes, progress: Progress) -> None:
        self._reader = reader
        self._brain_id = brain
        self._progress = progress
        self._marked: set[bytes] = set()
        self._blobs: set[bytes] = set()
        self._records: set[bytes] = set()

    def mark_from(self, roots: set[bytes]) -> set[bytes]:
        """Return the ids of `roots` and of all they reach, blobs included.

        Of records of the work only those that are here: none has to be.
        """
        try:
            self._mark_snapshots(list(roots))
        except (NotFound, FormatError) as error:
            raise incomplete_store_error(error.message) from error
        except StoreError as error:
            if error.code != "corrupt_object":
                raise  # the disk fails, which says nothing of what is on it
            raise incomplete_store_error(error.message) from error
        here = self._records - self._reader.find_missing(self._records)
        return self._marked | self._blobs | here

    def _mark_snapshots(self, left: list[bytes]) -> None:
        done = 0
        while left:
            here = left.pop()
            if here in self._marked:
                continue
            self._marked.add(here)
            snapshot = verified_decode.decode_verified_snapshot(
                here, self._reader.read_object(ObjectKind.SNAPSHOT, here)
            )
            left.extend(snapshot.parents)
            if snapshot.is_genesis and (origin := operation.fork_origin(snapshot.operation)):
                left.append(origin)
            if (snapshot.brain or here) == self._brain_id:  # else the files are with its own brain
                self._mark_content(snapshot)
            done += 1
            if done % _PROGRESS_INTERVAL == 0:
                self._progress("snapshots", done, 0)

    def _mark_content(self, snapshot: Snapshot) -> None:
        records = snapshot.receipt, operation.evidence_blob(snapshot.operation)
        self._records.update(blob for blob in records if blob)
        self._mark_trees(snapshot.bundle)

    def _mark_trees(self, bundle_id: bytes) -> None:
        if bundle_id in self._marked:
            return
        self._marked.add(bundle_id)
        bundle = verified_decode.decode_verified_bundle(
            bundle_id, self._reader.read_object(ObjectKind.BUNDLE, bundle_id)
        )
        left = [root.node for root in bundle.values()]
        while left:
            here = left.pop()
            if here in self._marked:
                continue
            self._marked.add(here)
            node = nodes.decode_verified_node(here, self._reader.read_object(ObjectKind.NODE, here))
            if node.kind == LEAF:
                self._blobs.update(line[2] for line in node.entries)
            else:
                left.extend(line[1] for line in node.entries)
