"""Check the structured objects of the store, part by part, in insertion order.

What an object refers to was stored before it. So each is read and decoded once, and
when a snapshot comes, its tree and those of its parents are mostly still at hand: it is
checked against its first parent there and then. Parts depend on nothing but what is
stored, so several processes take them in turn, and memory is flat.

Which snapshots count, the walk from the refs knows. So what is wrong with an edge is
told by snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ..errors import BrainError, FormatError
from ..objects import bundle as bundles
from ..objects import snapshot as snapshots
from ..objects import tree_node as tree_nodes
from ..objects.tree_node import TreeNode
from ..repo.open.session import Session
from ..results import Finding
from ..store.protocol import ObjectKind, ObjectRange
from .parent_diff import EdgeChecker, EdgeResult

OBJECTS_PER_PART = 4096
"""Objects in a part: fewer, and too much of what is at hand would be read anew in each."""

_MAX_REMEMBERED_NODES = 256
"""Nodes kept with their hashes, about 30 KB each."""
_KIND_NAMES = {
    ObjectKind.NODE: "node",
    ObjectKind.BUNDLE: "bundle",
    ObjectKind.SNAPSHOT: "snapshot",
}

PartAnswer = tuple[
    list[tuple[str, ...]], list[tuple[str, ...]], list[bytes], list[tuple[bytes, int]]
]
"""What a part tells, as it goes from process to process: see `unpack`."""


def check_part(
    session: Session,
    part: ObjectRange,
    brain_id: bytes,
    sizes: Mapping[bytes, int],
    collect_sizes: bool,
) -> PartAnswer:
    """Check the objects of a part, and the edges to the snapshots in it of the brain `home`.

    `sizes` and `noting` are as for `Edges`.
    """
    found: list[Finding] = []
    edges = EdgeChecker(session, sizes, collect_sizes)
    try:
        for snapshot_id in _read_objects(session, part, found):
            snapshot = session.load_snapshot(snapshot_id)
            if (snapshot.brain or snapshot_id) == brain_id:
                edges.check_edge(snapshot_id, snapshot)
        edges.flush()
    except BrainError as error:
        found.append(Finding(error.code, "error", "", "", error.message))
    result = edges.result
    return [tuple(one) for one in found], [tuple(one) for one in result.findings], *result[1:]


def unpack_answer(answer: PartAnswer) -> tuple[list[Finding], EdgeResult]:
    """Return the findings about single objects, and what came of edges."""
    found, edges, trusting, said = answer
    return [Finding(*one) for one in found], EdgeResult(
        [Finding(*one) for one in edges], trusting, said
    )


def _read_objects(session: Session, part: ObjectRange, found: list[Finding]) -> Iterator[bytes]:
    """Read the objects of a part; yield the snapshots, tell in `found` what is wrong."""
    object_reader = _ObjectReader(session)
    for kind, id, data in session.reader.read_object_range(part):
        name = f"{_KIND_NAMES.get(kind, 'object')} {id.hex()}"
        try:
            true_id = object_reader.decode_object(kind, id, data)
        except BrainError as error:
            found.append(Finding(error.code, "error", "", "", f"{name}: {error.message}"))
            continue
        if true_id != id:
            message = f"{name} hashes to {true_id.hex()}"
            found.append(Finding("hash_mismatch", "error", "", "", message))
        if kind == ObjectKind.SNAPSHOT:
            yield id


class _ObjectReader:
    """Decodes objects, keeps them at hand, and gives their true ids."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._latest: dict[tuple[int, str], TreeNode] = {}
        self._decoders: dict[int, Callable[[bytes, bytes], bytes]] = {
            ObjectKind.NODE: self._decode_node,
            ObjectKind.BUNDLE: self._decode_bundle,
            ObjectKind.SNAPSHOT: self._decode_snapshot,
        }

    def decode_object(self, kind: int, id: bytes, data: bytes | BrainError) -> bytes:
        """Return the true id of an object; raises `BrainError` if it is not what it has to be."""
        if isinstance(data, BrainError):
            raise data
        if kind not in self._decoders:
            raise FormatError("no kind of object that is known", code="wrong_type")
        return self._decoders[kind](id, data)

    def _decode_node(self, id: bytes, data: bytes) -> bytes:
        """What a node shares with the like one before is not hashed again."""
        node = tree_nodes.decode_node(data)
        place = node.kind, node.last
        if (similar := self._latest.get(place)) is not None:
            node.reuse_rows(similar)
        elif len(self._latest) >= _MAX_REMEMBERED_NODES:
            self._latest.clear()
        self._latest[place] = node
        self._session.nodes.put(id, node)
        return node.id

    def _decode_bundle(self, id: bytes, data: bytes) -> bytes:
        bundle = bundles.decode_bundle(data)
        self._session.keep_loaded_bundle(id, bundle)
        return bundles.bundle_id(bundle)

    def _decode_snapshot(self, id: bytes, data: bytes) -> bytes:
        self._session.keep_loaded_snapshot(id, snapshots.decode_snapshot(data))
        return snapshots.snapshot_id(data)
