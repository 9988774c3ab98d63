"""Put snapshots that no command records on the head of a brain."""

from collections.abc import Callable

from brain import Brain
from brain.objects import lineage
from brain.objects import snapshot as snapshots
from brain.objects.operation import SnapshotOperation
from brain.objects.snapshot import Snapshot
from brain.objects.tree_node import FILE, TreeEntry
from brain.repo.transaction import log_operation
from brain.store.rows import ObjectKind


def forged(
    brain: Brain,
    edits: dict[str, bytes | None],
    operation: SnapshotOperation,
    *others: bytes,
    change: Callable[[Snapshot], Snapshot] = lambda made: made,
) -> bytes:
    """Put a snapshot on the head with all that belongs to it; return its id."""
    session = brain._session
    head = session.head()
    parents = [session.load_snapshot(one) for one in (head, *others)]
    with session.store.transaction() as tx:
        session.reader = tx
        entries: dict[str, TreeEntry | None] = {}
        for path, text in edits.items():
            known = None if text is None else TreeEntry(path, FILE, tx.put_blob(text), len(text))
            entries[path] = known
        after = session.state_of(head).edit(entries)
        for node_id, node in session.nodes.unstored.items():
            tx.put_object(ObjectKind.NODE, node_id, node)
        session.nodes.mark_stored()
        tx.put_object(ObjectKind.BUNDLE, after.id, after.encode())
        made = parents[0]._replace(
            brain=session.brain_id(),
            bundle=after.id,
            parents=(head, *others),
            generation=lineage.next_generation(parents),
            jump=lineage.next_jump(session.load_snapshot, head, parents[0]),
            operation=operation,
        )
        data = snapshots.encode_snapshot(change(made))
        here = snapshots.snapshot_id(data)
        tx.put_object(ObjectKind.SNAPSHOT, here, data)
        tx.update_ref("heads/main", head, here)
        log_operation(session, tx, "snapshot", "forged", [("heads/main", head, here)])
    session.reader = session.store
    session.clear_loaded()
    return here
