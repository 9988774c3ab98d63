"""Check the structured objects of the store, part by part, in insertion order.

An object is stored after those that it refers to. So each object is read and decoded once:
when a snapshot is read, its tree and its parents' are mostly still in memory, and it is
checked against its first parent at once. Parts are independent, so several processes share
them, and memory is flat.

Findings about an edge name its snapshot, since only the walk from the refs knows which
snapshots count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import BrainError, FormatError
from ..objects import bundle as bundles
from ..objects import snapshot as snapshots
from ..objects import tree_node as tree_nodes
from ..objects.tree_node import TreeNode
from ..repo.session import BrainState, Session
from ..results import Finding
from ..store.rows import ObjectKind, ObjectRange
from .findings import finding_from_error
from .parent_diff import EdgeChecker, EdgeResult

OBJECTS_PER_PART = 4096
"""Objects in a part; in smaller parts too many objects would be read twice."""

_MAX_REMEMBERED_NODES = 256
"""Nodes kept with their hashes, about 30 KB each."""
_KIND_NAMES = {
    ObjectKind.NODE: "node",
    ObjectKind.BUNDLE: "bundle",
    ObjectKind.SNAPSHOT: "snapshot",
}

PartAnswer = tuple[list[tuple[str, ...]], list[tuple[str, ...]], tuple[list[Any], ...]]
"""The results of a part as plain values, which processes exchange; see `unpack_answer`."""


def check_part(
    session: Session,
    part: ObjectRange,
    brain_id: bytes,
    sizes: Mapping[bytes, int],
    collect_sizes: bool,
) -> PartAnswer:
    """Check the objects of a part, and the edges to its snapshots of the brain `brain_id`.

    `sizes` and `collect_sizes` are as for `EdgeChecker`.
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
        found.append(finding_from_error(error))
    result = edges.result
    return [tuple(one) for one in found], [tuple(one) for one in result.findings], result[1:]


def unpack_answer(answer: PartAnswer) -> tuple[list[Finding], EdgeResult]:
    """Return the findings about single objects, and the results of edges."""
    object_rows, edge_rows, rest = answer
    return [Finding(*row) for row in object_rows], EdgeResult(
        [Finding(*row) for row in edge_rows], *rest
    )


def _read_objects(session: Session, part: ObjectRange, found: list[Finding]) -> Iterator[bytes]:
    """Read the objects of a part; yield the snapshots, add to `found` what is wrong."""
    object_reader = _ObjectReader(session)
    for kind, id, data in session.reader.read_object_range(part):
        name = f"{_KIND_NAMES.get(kind, 'object')} {id.hex()}"
        try:
            true_id = object_reader.decode_object(kind, id, data)
        except BrainError as error:
            found.append(
                Finding(error.code, "error", "", "", f"{name} cannot be read: {error.message}")
            )
            continue
        if true_id != id:
            message = f"{name} hashes to {true_id.hex()}"
            found.append(Finding("hash_mismatch", "error", "", "", message))
        if kind == ObjectKind.SNAPSHOT:
            yield id


class _ObjectReader:
    """Decodes objects, keeps them in memory, and computes their true ids."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._latest: dict[tuple[int, str], TreeNode] = {}
        self._decoders: dict[int, Callable[[bytes, bytes], bytes]] = {
            ObjectKind.NODE: self._decode_node,
            ObjectKind.BUNDLE: self._decode_bundle,
            ObjectKind.SNAPSHOT: self._decode_snapshot,
        }

    def decode_object(self, kind: int, id: bytes, data: bytes | BrainError) -> bytes:
        """Return the true id of an object. Raises `BrainError` if it is malformed."""
        if isinstance(data, BrainError):
            raise data
        if kind not in self._decoders:
            raise FormatError(
                f"the object is of the unknown kind {kind}",
                code="wrong_type",
                hint="a newer version of brain may have written it: upgrade",
            )
        return self._decoders[kind](id, data)

    def _decode_node(self, id: bytes, data: bytes) -> bytes:
        """Decode a node, hashing only the rows in which it differs from the similar one before."""
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
        state = BrainState(self._session, bundles.decode_bundle(data))
        self._session.states[id] = state
        return state.id

    def _decode_snapshot(self, id: bytes, data: bytes) -> bytes:
        self._session.snapshots[id] = snapshots.decode_snapshot(data)
        return snapshots.snapshot_id(data)
