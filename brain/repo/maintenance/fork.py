"""Fork a brain: create a new one from a revision of another, and record its origin.

The genesis of the fork names the origin snapshot and has the same bundle. The fork gets the
files of that bundle, and the snapshots of the lineage behind it without their files, so that
it can prove its origin by itself.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ...digest import NO_DIGEST
from ...errors import InvalidInput, printable_text
from ...objects import bundle as bundles
from ...objects import lineage, operation
from ...objects import snapshot as snapshots
from ...objects.bundle import Bundle
from ...results import Forked
from ...store.rows import ObjectKind, PendingWrite, StoreTransaction
from ...store.writer import open_store
from ...util.progress import Progress, no_progress
from ..core.path_collisions import refuse_invalid_bundle
from ..core.transaction import lock_for_writing
from ..open.discovery import CONTROL_FOLDER
from ..open.session import Session
from ..revisions import resolve_revision
from .create import record_genesis, staged_store

_BLOBS_PER_BATCH = 1024


def fork_brain(
    session: Session, path: Path, revision: str = "@", progress: Progress = no_progress
) -> Forked:
    """Create a brain in the new or empty folder `path` from a revision of this one.

    Raises `InvalidInput` (`not_empty`).
    """
    root = Path(os.path.abspath(path))
    origin = resolve_revision(session, revision)
    is_new = not root.exists()
    if not is_new and (not root.is_dir() or any(root.iterdir())):
        raise InvalidInput(
            f"{printable_text(root)} is not an empty folder",
            code="not_empty",
            hint="name a new folder, or an empty one",
        )
    root.mkdir(parents=True, exist_ok=True)
    try:
        bundle = session.bundle_of(origin)
        refuse_invalid_bundle(session, bundles.EMPTY_BUNDLE, bundle)
        size = bundles.bundle_totals(bundle).bytes
        with staged_store(root, session.author, session.sign_with, size) as (child, tx):
            redactions = _copy_lineage(session, tx, origin)
            tx.add_pending_writes(list(_copy_files(session, tx, bundle, progress)))
            for blob, snapshot_id in redactions.items():
                tx.redact_blob(blob, snapshot_id, lambda others: others)
            genesis = record_genesis(child, tx, bundle, "fork", origin)
    except BaseException:
        if is_new:
            shutil.rmtree(root, ignore_errors=True)
        raise
    child = Session(root, open_store(root / CONTROL_FOLDER), session.author)
    try:
        with lock_for_writing(child):  # recovery writes the pending files
            return Forked(genesis.hex(), genesis.hex(), origin.hex(), str(root), [])
    finally:
        child.store.close()


def _copy_lineage(session: Session, tx: StoreTransaction, start: bytes) -> dict[bytes, bytes]:
    """Copy a snapshot and all its ancestors, also across forks.

    Returns the redacted blobs, each with the snapshot that redacted it.
    """
    redactions: dict[bytes, bytes] = {}
    while start:
        for snapshot_id, snapshot in lineage.walk_ancestors(session.load_snapshot, start):
            tx.put_object(ObjectKind.SNAPSHOT, snapshot_id, snapshots.encode_snapshot(snapshot))
            if blob := operation.redacted_blob(snapshot.operation):
                redactions[blob] = snapshot_id
            if snapshot.is_genesis:
                start = operation.fork_origin(snapshot.operation)
    return redactions


def _copy_files(
    session: Session, tx: StoreTransaction, bundle: Bundle, progress: Progress
) -> Iterator[PendingWrite]:
    for node_id in bundles.walk_node_ids(session.nodes, bundle):
        tx.put_object(ObjectKind.NODE, node_id, session.nodes.peek(node_id).encode())
    entries = list(bundles.walk_entries(session.nodes, bundle))
    sizes = {entry.blob: entry.size for entry in entries}
    blobs = list(sizes)
    for start in range(0, len(blobs), _BLOBS_PER_BATCH):
        batch = blobs[start : start + _BLOBS_PER_BATCH]
        small = list(session.reader.read_small_blobs(batch))
        tx.put_blobs(small)
        for blob in set(batch) - {blob for blob, _ in small}:
            source = RestartableStream(partial(session.reader.stream_blob, blob, sizes[blob]))
            tx.put_blob_stream(source, sizes[blob], None)
        progress("copying", start + len(batch), len(blobs))
    for entry in entries:
        yield PendingWrite(entry.path, entry.kind, entry.blob, NO_DIGEST)


class RestartableStream:
    """A `Source` over pieces; `start` begins to stream them from the first one."""

    def __init__(self, start: Callable[[], Iterator[bytes]]) -> None:
        self._open_pieces = start
        self.seek(0)

    def seek(self, offset: int) -> int:
        """Go back to the start; the store seeks nowhere else."""
        if offset:
            raise ValueError(offset)
        self._pieces = self._open_pieces()
        self._remaining = memoryview(b"")
        return 0

    def readinto(self, buffer: memoryview) -> int:
        """Fill `buffer` as far as the next piece goes."""
        while not self._remaining:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._remaining = memoryview(piece)
        count = min(len(buffer), len(self._remaining))
        buffer[:count] = self._remaining[:count]
        self._remaining = self._remaining[count:]
        return count
