"""Garbage collection: mark what refs and recent operations reach, and sweep the rest.

Of the rejected attempts at skills only the newest keep their refs; older ones are in the
operation log for the grace period.

If a reachable object is missing, the store is damaged and nothing is removed.
"""

from __future__ import annotations

from ..digest import NO_DIGEST
from ..errors import FormatError, InvalidInput, NotFound, StoreError
from ..objects import bundle as bundles
from ..objects import operation
from ..objects import snapshot as snapshots
from ..objects import tree_node as nodes
from ..objects.tree_node import LEAF
from ..repo import working_copy
from ..repo.ledgers import final_head, last_seen_head
from ..repo.log_entry import decode_log_entry, load_merge_state
from ..repo.revisions import DROP_KIND, MAX_REJECTED, list_rejected_refs
from ..repo.session import Session
from ..repo.transaction import lock_for_writing, log_operation, store_transaction
from ..results import Collected
from ..store.reader import StoreReader
from ..store.rows import ObjectKind
from ..store.writer import incomplete_store_error, writable
from ..util.progress import Progress, no_progress
from ..verdicts.read_verdicts import read_verdict_blobs

_DAY_MS = 86_400_000
_RELEASED_OPERATION_KEY = "let-go"
"""The store's key for the last operation whose snapshots may have been removed."""
_NO_LIMIT = 1 << 62
_OBJECTS_PER_SWEEP = 32
"""The objects that one transaction removes on a full disk."""
_PROGRESS_INTERVAL = 256


def gc(session: Session, grace: int = 30, progress: Progress | None = None) -> Collected:
    """Remove objects that no branch and no operation of the last `grace` days refers to.

    Their space returns to the file system. Roots are the branches and tags, the snapshots in
    operations of the last `grace` days, pending writes, the pending merge and commitments to
    ledgers. Raises `InvalidInput` (`bad_grace`), `StoreError` (`incomplete`), having removed
    nothing, if the store is damaged.
    """
    if grace < 0:
        raise InvalidInput(
            f"--grace {grace} is below 0", code="bad_grace", hint="give a number of days: 0 or more"
        )
    with lock_for_writing(session):
        before = session.store.size_on_disk()
        _drop_old_attempts(session)
        with store_transaction(session) as tx:
            last_released = _last_released_operation(session, grace)
            marked = _Marker(tx, session.brain_id(), progress or no_progress).mark_from(
                _find_roots(session, last_released)
            )
            marked.update(row.blob for row in tx.list_pending_writes())
            if (pending_merge := load_merge_state(session)) is not None:
                # No tree may refer yet to the blobs that were chosen in it.
                marked.update(row.chosen for row in pending_merge.rows if row.chosen)
            _require_complete(tx, marked)
            count = tx.count_objects()
        if working_copy.read_cached_bundle_id(session) not in marked:
            # Else a scan would skip files whose recorded content is about to be removed.
            working_copy.delete_stat_cache(session)
        removed = _sweep_unmarked(session, marked, last_released)
        compacted = writable(session.store).compact()
        after = session.store.size_on_disk()
        session.clear_loaded()
    head = session.head().hex()
    return Collected(
        snapshot=head,
        removed=removed,
        kept=count - removed,
        bytes=max(before - after, 0),
        before=before,
        after=after,
        compacted=compacted,
    )


def _drop_old_attempts(session: Session) -> None:
    """Drop the refs of all rejected attempts but the newest."""
    old = list_rejected_refs(session)[MAX_REJECTED:]
    if not old:
        return
    try:
        with store_transaction(session) as tx:
            for ref, snapshot_id in old:
                tx.update_ref(ref, snapshot_id, None)
            refs = [(ref, snapshot_id, NO_DIGEST) for ref, snapshot_id in old]
            log_operation(session, tx, DROP_KIND, f"drop {len(old)} rejected attempts", refs)
    except StoreError as error:
        if error.code != "no_space":  # on a full disk the collection itself comes first
            raise


def _sweep_unmarked(session: Session, marked: set[bytes], last_released: int) -> int:
    """Remove all unmarked objects: in one transaction, or in small ones on a full disk."""
    max_count, total = _NO_LIMIT, 0
    while True:
        try:
            removed = _sweep_once(session, marked, last_released, max_count)
        except StoreError as error:
            if error.code != "no_space" or max_count == 1:
                raise
            max_count = min(max_count, 2 * _OBJECTS_PER_SWEEP) // 2
            working_copy.delete_stat_cache(session)
            removed = max_count
        else:
            total += removed
        if removed < max_count:
            return total
        writable(session.store).compact()  # frees the space of the write-ahead log


def _sweep_once(session: Session, marked: set[bytes], last_released: int, max_count: int) -> int:
    with store_transaction(session) as tx:
        tx.write_meta(_RELEASED_OPERATION_KEY, last_released.to_bytes(8, "big"))
        return tx.sweep_objects(marked, max_count)


def _last_released_operation(session: Session, grace: int) -> int:
    """Return the last operation older than the grace period, or that an earlier run released."""
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
    # Another copy of the brain, or a stolen signer, may have committed what is not here.
    final = [row.snapshot for row in final_head.read_final_heads(session.reader).values()]
    roots.update(filter(session.reader.has_object, final))
    return roots - {NO_DIGEST}


def _require_complete(reader: StoreReader, marked: set[bytes]) -> None:
    marked.discard(NO_DIGEST)
    missing = reader.find_missing(marked)
    missing.difference_update(reader.find_redactions(list(missing)))
    if missing:
        raise incomplete_store_error(f"object {min(missing).hex()} is missing")


class _Marker:
    def __init__(self, reader: StoreReader, brain: bytes, progress: Progress) -> None:
        self._reader = reader
        self._brain_id = brain
        self._progress = progress
        self._marked: set[bytes] = set()
        self._blobs: set[bytes] = set()
        self._records: set[bytes] = set()

    def mark_from(self, roots: set[bytes]) -> set[bytes]:
        """Return the ids of `roots` and of all objects they reach, including blobs.

        Receipts, evidence, and what verdicts name may be missing; what exists is included.
        """
        try:
            self._mark_snapshots(list(roots))
        except (NotFound, FormatError) as error:
            raise incomplete_store_error(error.message) from error
        except StoreError as error:
            if error.code != "corrupt_object":
                raise  # an I/O error does not say that an object is missing
            raise incomplete_store_error(error.message) from error
        stored_records = self._records - self._reader.find_missing(self._records)
        return self._marked | self._blobs | stored_records

    def _mark_snapshots(self, queue: list[bytes]) -> None:
        done = 0
        while queue:
            snapshot_id = queue.pop()
            if snapshot_id in self._marked:
                continue
            self._marked.add(snapshot_id)
            snapshot = snapshots.decode_verified_snapshot(
                snapshot_id, self._reader.read_object(ObjectKind.SNAPSHOT, snapshot_id)
            )
            queue.extend(snapshot.parents)
            if snapshot.is_genesis and (origin := operation.fork_origin(snapshot.operation)):
                queue.append(origin)
            if (snapshot.brain or snapshot_id) == self._brain_id:  # a fork lacks older files
                records = snapshot.receipt, operation.evidence_blob(snapshot.operation)
                self._records.update(blob for blob in records if blob)
                if snapshot.operation[0] in operation.DECISION_KINDS:
                    self._records.update(read_verdict_blobs(self._reader, records[1]))
                self._mark_trees(snapshot.bundle)
            done += 1
            if done % _PROGRESS_INTERVAL == 0:
                self._progress("snapshots", done, 0)

    def _mark_trees(self, bundle_id: bytes) -> None:
        if bundle_id in self._marked:
            return
        self._marked.add(bundle_id)
        bundle = bundles.decode_verified_bundle(
            bundle_id, self._reader.read_object(ObjectKind.BUNDLE, bundle_id)
        )
        queue = [root.node for root in bundle.values()]
        while queue:
            node_id = queue.pop()
            if node_id in self._marked:
                continue
            self._marked.add(node_id)
            node = nodes.decode_verified_node(
                node_id, self._reader.read_object(ObjectKind.NODE, node_id)
            )
            if node.kind == LEAF:
                self._blobs.update(line[2] for line in node.entries)
            else:
                queue.extend(line[1] for line in node.entries)
