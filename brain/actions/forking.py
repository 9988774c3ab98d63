"""Forks: a new brain that begins where another one stands, and says so.

The genesis of the fork names the snapshot it came from and holds the same bundle.
With it come that bundle's files and the snapshots of the lineage behind it,
without their files, so that the fork proves alone where it comes from.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ..digest import EMPTY
from ..errors import InvalidInput, printable
from ..objects import bundle as bundles
from ..objects import lineage, operation
from ..objects import snapshot as snapshots
from ..objects.bundle import Bundle
from ..results import Forked
from ..session import CONTROL, Session
from ..store.opening import create_store, open_store
from ..store.protocol import Kind, Pending, Transaction
from . import streams
from .create import begin, sync
from .files import Progress, no_progress
from .holdable import refuse_target
from .revisions import resolve
from .turn import locked

_AT_ONCE = 1024
"""Small blobs copied at a time."""


def fork(
    session: Session, path: Path, revision: str = "@", progress: Progress = no_progress
) -> Forked:
    """Make a brain of its own in the new folder `path`, from a revision of this one.

    Raises `InvalidInput` (`not_empty`) for a folder that holds anything.
    """
    root = Path(os.path.abspath(path))
    origin = resolve(session, revision)
    made = not root.exists()
    if not made and (not root.is_dir() or any(root.iterdir())):
        raise InvalidInput(
            f"{printable(root)} is not an empty folder",
            code="not_empty",
            hint="a fork needs a folder of its own",
        )
    root.mkdir(parents=True, exist_ok=True)
    staging = root / f"{CONTROL}.new"
    try:
        genesis = _build(session, staging, origin, progress)
        os.rename(staging, root / CONTROL)
    except BaseException:
        shutil.rmtree(root if made else staging, ignore_errors=True)
        raise
    sync(root)
    child = Session(root, open_store(root / CONTROL), session.author)
    try:
        with locked(child):  # which writes the files, as it would after a kill
            return Forked(genesis.hex(), genesis.hex(), origin.hex(), str(root), [])
    finally:
        child.store.close()


def _build(session: Session, staging: Path, origin: bytes, progress: Progress) -> bytes:
    """Make the store of the fork in the folder `staging`; return the id of its genesis."""
    store = create_store(staging)
    try:
        child = Session(staging, store, session.author)
        child.sign_with = session.sign_with
        bundle = session.bundle_of(origin)
        refuse_target(session, bundles.EMPTY, bundle)
        size = bundles.total(bundle).bytes
        with store.transaction(expected_bytes=size) as tx:
            child.reader = tx
            redactions = _copy_lineage(session, tx, origin)
            tx.set_pending(list(_copy(session, tx, bundle, progress)))
            for blob, snapshot_id in redactions.items():
                tx.redact(blob, snapshot_id, lambda others: others)
            return begin(child, tx, bundle, "fork", origin)
    finally:
        store.close()


def _copy_lineage(session: Session, tx: Transaction, start: bytes) -> dict[bytes, bytes]:
    """Copy a snapshot and what is behind it, back through all forks.

    Returns the blobs that were redacted there, each with the snapshot that says so.
    """
    redactions: dict[bytes, bytes] = {}
    while start:
        for snapshot_id, snapshot in lineage.history(session.load, start):
            tx.put(Kind.SNAPSHOT, snapshot_id, snapshots.encode(snapshot))
            if blob := operation.redacted_blob(snapshot.operation):
                redactions[blob] = snapshot_id
            if snapshot.is_genesis:
                start = operation.origin(snapshot.operation)
    return redactions


def _copy(
    session: Session, tx: Transaction, bundle: Bundle, progress: Progress
) -> Iterator[Pending]:
    """Copy the nodes and files of a bundle; yield the files that are then to be written."""
    for node_id in bundles.node_ids(session.nodes, bundle):
        tx.put(Kind.NODE, node_id, session.nodes.glance(node_id).encode())
    entries = list(bundles.walk(session.nodes, bundle))
    sizes = {entry.blob: entry.size for entry in entries}
    blobs = list(sizes)
    for start in range(0, len(blobs), _AT_ONCE):
        some = blobs[start : start + _AT_ONCE]
        small = list(session.reader.read_blobs(some))
        tx.put_blobs(small)
        for blob in set(some) - {blob for blob, _ in small}:
            source = streams.Pieces(partial(session.reader.stream_blob, blob, sizes[blob]))
            tx.put_stream(source, sizes[blob], None)
        progress("copying", start + len(some), len(blobs))
    for entry in entries:
        yield Pending(entry.path, entry.kind, entry.blob, EMPTY)
