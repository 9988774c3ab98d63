"""Checks of single objects, in the order the store holds them, with flat memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..actions.files import Progress
from ..errors import BrainError
from ..objects import bundle as bundles
from ..objects import node as tree_nodes
from ..objects import snapshot as snapshots
from ..objects.node import Node
from ..objects.snapshot import Snapshot
from ..results import Finding
from ..session import Session
from ..store.protocol import Checked, Kind
from . import lineages
from .sizes import Sizes

_STEP = 1024
_KEPT = 256
"""Nodes kept with their hashes, about 30 KB each."""


class _NodeIds:
    """Gives the ids of nodes; what a node shares with the like one before is not hashed again."""

    def __init__(self) -> None:
        self._latest: dict[tuple[int, str], Node] = {}

    def __call__(self, data: bytes) -> bytes:
        node = tree_nodes.decode(data)
        place = node.kind, node.last
        if (like := self._latest.get(place)) is not None:
            node.rows_like(like)
        elif len(self._latest) >= _KEPT:
            self._latest.clear()
        self._latest[place] = node
        return node.id


def _bundle_id(data: bytes) -> bytes:
    return bundles.bundle_id(bundles.decode(data))


def _snapshot_id(data: bytes) -> bytes:
    snapshots.decode(data)
    return snapshots.snapshot_id(data)


def _ids() -> dict[int, tuple[str, Callable[[bytes], bytes]]]:
    return {
        Kind.NODE: ("node", _NodeIds()),
        Kind.BUNDLE: ("bundle", _bundle_id),
        Kind.SNAPSHOT: ("snapshot", _snapshot_id),
    }


def structured(session: Session, progress: Progress) -> Iterator[Finding]:
    """Check that every structured object is canonical and hashes to its id."""
    for kind, (name, id_of) in _ids().items():
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


def blobs(
    session: Session, progress: Progress, verdicts: Iterable[Checked], sizes: Sizes
) -> Iterator[Finding]:
    """Check that every blob of the store, read again, hashes to its id and has its size."""
    faults: dict[bytes, str] = {}
    done = 0
    for checked in verdicts:
        sizes.confirm(checked.sizes)
        for blob, fault in checked.faults:
            faults[blob] = fault.removeprefix(f"object {blob.hex()} is damaged: ")
        done += len(checked.sizes) + len(checked.faults)
        progress("blobs", done, 0)
    sizes.settle(session.reader.blob_size, faults.keys())
    if faults:
        yield from _named(session, faults)


def _named(session: Session, faults: dict[bytes, str]) -> Iterator[Finding]:
    """Name the files that damaged blobs are the content of, newest snapshot first."""
    left = dict(faults)
    starts, _ = lineages.heads(session)
    for here, snapshot in lineages.reachable(session, starts):
        if not left:
            return
        try:
            found = _holders(session, snapshot, left) if isinstance(snapshot, Snapshot) else {}
        except BrainError:  # a finding of the trees already
            continue
        for blob, path in found.items():
            message = f"blob {blob.hex()}: {left.pop(blob)}"
            yield Finding("corrupt_blob", "error", here.hex(), path, message)
    for blob, fault in left.items():
        yield Finding("corrupt_blob", "error", "", "", f"blob {blob.hex()}: {fault}")


def _holders(session: Session, snapshot: Snapshot, wanted: dict[bytes, str]) -> dict[bytes, str]:
    """Return the paths of `wanted` blobs that are new in a snapshot against its parent."""
    before = session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY
    after = session.bundle(snapshot.bundle)
    out = {}
    for path, _, now in bundles.compare(session.nodes, before, after):
        if now is not None and now.blob in wanted:
            out[now.blob] = path
    return out
