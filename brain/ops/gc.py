"""Garbage collection: mark what refs and recent operations reach, and sweep the rest.

Of the rejected attempts at skills only the newest keep their refs; older ones are in the
operation log for the grace period.

If a reachable object is missing, the store is damaged and nothing is removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..digest import NO_DIGEST
from ..errors import FormatError, InvalidInput, NotFound, StoreError
from ..objects import bundle as bundles
from ..objects import operation
from ..objects import snapshot as snapshots
from ..objects import tree_node as nodes
from ..objects.tree_node import LEAF
from ..repo import working_copy
from ..repo.ledgers import seen
from ..repo.log_entry import decode_log_entry, load_merge_state
from ..repo.session import DROP_KIND, MAX_REJECTED, Session, list_rejected_refs
from ..repo.transaction import lock_for_writing, log_operation, store_transaction
from ..results import Collected
from ..store.reader import StoreReader
from ..store.rows import ObjectKind
from ..store.writer import incomplete_store_error, writable
from ..util.progress import Progress, no_progress
from ..verdicts.verdict import read_verdict_blobs

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
        store = writable(session.store)
        before = store.size_on_disk()
        _drop_old_attempts(session)
        with store_transaction(session) as tx:
            last_released = _last_released_operation(session, grace)
            roots = _find_roots(session, last_released)
            with _damage_as_incomplete():
                marked = _mark_reachable(tx, session.brain_id(), roots, progress or no_progress)
            marked.update(row.blob for row in tx.list_pending_writes())
            if (pending_merge := load_merge_state(session)) is not None:
                # No tree may refer yet to the blobs that were chosen in it.
                marked.update(row.chosen for row in pending_merge.rows if row.chosen)
            marked.discard(NO_DIGEST)
            missing = tx.find_missing(marked)
            missing.difference_update(tx.find_redactions(list(missing)))
            if missing:
                raise incomplete_store_error(f"object {min(missing).hex()} is missing")
            count = tx.count_objects()
        if working_copy.read_cached_bundle_id(session) not in marked:
            # Else a scan would skip files whose recorded content is about to be removed.
            working_copy.delete_stat_cache(session)
        removed = _sweep_unmarked(session, marked, last_released)
        compacted = store.compact()
        after = store.size_on_disk()
        session.clear_loaded()
    return Collected(
        snapshot=session.head().hex(),
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
    roots.update(row.snapshot for row in seen.read_last_seen_heads(session.reader).values())
    # Another copy of the brain, or a stolen signer, may have committed what is not here.
    final = [row.snapshot for row in seen.read_final_heads(session.reader).values()]
    roots.update(filter(session.reader.has_object, final))
    return roots - {NO_DIGEST}


def _mark_reachable(
    reader: StoreReader, brain: bytes, roots: set[bytes], progress: Progress
) -> set[bytes]:
    """Return the ids of `roots` and of all objects they reach, including blobs.

    Receipts, evidence, and what verdicts name may be missing; what exists is included.
    """
    marked: set[bytes] = set()
    blobs: set[bytes] = set()
    records: set[bytes] = set()
    queue = [(ObjectKind.SNAPSHOT, root) for root in roots]
    done = 0
    while queue:
        kind, id = queue.pop()
        if id in marked:
            continue
        marked.add(id)
        data = reader.read_object(kind, id)
        if kind == ObjectKind.NODE:
            node = nodes.decode_verified_node(id, data)
            if node.kind == LEAF:
                blobs.update(line[2] for line in node.entries)
            else:
                queue += [(kind, line[1]) for line in node.entries]
        elif kind == ObjectKind.BUNDLE:
            bundle = bundles.decode_verified_bundle(id, data)
            queue += [(ObjectKind.NODE, root.node) for root in bundle.values()]
        else:
            snapshot = snapshots.decode_verified_snapshot(id, data)
            origin = operation.fork_origin(snapshot.operation) if snapshot.is_genesis else b""
            queue += [(kind, one) for one in (*snapshot.parents, origin) if one]
            if (snapshot.brain or id) == brain:  # a fork lacks older files
                evidence = operation.evidence_blob(snapshot.operation)
                records.update(filter(None, (snapshot.receipt, evidence)))
                if snapshot.operation[0] in operation.DECISION_KINDS:
                    records.update(read_verdict_blobs(reader, evidence))
                queue.append((ObjectKind.BUNDLE, snapshot.bundle))
            done += 1
            if done % _PROGRESS_INTERVAL == 0:
                progress("snapshots", done, 0)
    return marked | blobs | (records - reader.find_missing(records))


@contextmanager
def _damage_as_incomplete() -> Iterator[None]:
    try:
        yield
    except (NotFound, FormatError, StoreError) as error:
        if isinstance(error, StoreError) and error.code != "corrupt_object":
            raise  # an I/O error does not say that an object is missing
        raise incomplete_store_error(error.message) from error
