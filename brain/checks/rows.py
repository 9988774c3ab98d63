"""Checks of single objects, in the order the store holds them, with flat memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..actions.files import Progress
from ..errors import BrainError
from ..objects import bundle as bundles
from ..objects import node as tree_nodes
from ..objects import snapshot as snapshots
from ..results import Finding
from ..session import Session
from ..store.protocol import Kind

_STEP = 1024


def _node_id(data: bytes) -> bytes:
    return tree_nodes.decode(data).id


def _bundle_id(data: bytes) -> bytes:
    return bundles.bundle_id(bundles.decode(data))


def _snapshot_id(data: bytes) -> bytes:
    snapshots.decode(data)
    return snapshots.snapshot_id(data)


_IDS: dict[int, tuple[str, Callable[[bytes], bytes]]] = {
    Kind.NODE: ("node", _node_id),
    Kind.BUNDLE: ("bundle", _bundle_id),
    Kind.SNAPSHOT: ("snapshot", _snapshot_id),
}


def structured(session: Session, progress: Progress) -> Iterator[Finding]:
    """Check that every structured object is canonical and hashes to its id."""
    for kind, (name, id_of) in _IDS.items():
        done = 0
        for object_id, data in session.reader.structured(kind):
            try:
                true_id = id_of(data)
            except BrainError as error:
                message = f"{name} {object_id.hex()}: {error.message}"
                yield Finding(error.code, "error", "", "", message)
                continue
            if true_id != object_id:
                message = f"{name} {object_id.hex()} hashes to {true_id.hex()}"
                yield Finding("hash_mismatch", "error", "", "", message)
            done += 1
            if done % _STEP == 0:
                progress(f"{name}s", done, 0)


def blobs(session: Session, progress: Progress) -> Iterator[Finding]:
    """Check that every blob of the store, read again, hashes to its id."""
    done = 0
    for blob, _, fault in session.reader.check_blobs():
        if fault:
            yield Finding("corrupt_blob", "error", "", "", f"blob {blob.hex()}: {fault}")
        done += 1
        if done % _STEP == 0:
            progress("blobs", done, 0)
