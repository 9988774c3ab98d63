"""Checks of what is structured in the store, part by part, in the order of insertion.

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
from ..objects import node as tree_nodes
from ..objects import snapshot as snapshots
from ..objects.node import Node
from ..results import Finding
from ..session import Session
from ..store.parts import Part
from ..store.protocol import Kind
from .edges import Edges, Told

SIZE = 4096
"""Objects in a part: fewer, and too much of what is at hand would be read anew in each."""

_KEPT = 256
"""Nodes kept with their hashes, about 30 KB each."""
_NAMES = {Kind.NODE: "node", Kind.BUNDLE: "bundle", Kind.SNAPSHOT: "snapshot"}

Answer = tuple[list[tuple[str, ...]], list[tuple[str, ...]], list[bytes], list[tuple[bytes, int]]]
"""What a part tells, as it goes from process to process: see `unpack`."""


def check(
    session: Session, part: Part, home: bytes, sizes: Mapping[bytes, int], noting: bool
) -> Answer:
    """Check the objects of a part, and the edges to the snapshots in it of the brain `home`.

    `sizes` and `noting` are as for `Edges`.
    """
    found: list[Finding] = []
    edges = Edges(session, sizes, noting)
    try:
        for here in _objects(session, part, found):
            snapshot = session.load(here)
            if (snapshot.brain or here) == home:
                edges.take(here, snapshot)
        edges.settle()
    except BrainError as error:
        found.append(Finding(error.code, "error", "", "", error.message))
    told = edges.told
    return [tuple(one) for one in found], [tuple(one) for one in told.findings], *told[1:]


def unpack(answer: Answer) -> tuple[list[Finding], Told]:
    """Return the findings about single objects, and what came of edges."""
    found, edges, trusting, said = answer
    return [Finding(*one) for one in found], Told([Finding(*one) for one in edges], trusting, said)


def _objects(session: Session, part: Part, found: list[Finding]) -> Iterator[bytes]:
    """Read the objects of a part; yield the snapshots, tell in `found` what is wrong."""
    reading = _Reading(session)
    for kind, id, data in session.reader.part(part):
        name = f"{_NAMES.get(kind, 'object')} {id.hex()}"
        try:
            true_id = reading.take(kind, id, data)
        except BrainError as error:
            found.append(Finding(error.code, "error", "", "", f"{name}: {error.message}"))
            continue
        if true_id != id:
            message = f"{name} hashes to {true_id.hex()}"
            found.append(Finding("hash_mismatch", "error", "", "", message))
        if kind == Kind.SNAPSHOT:
            yield id


class _Reading:
    """Decodes objects, keeps them at hand, and gives their true ids."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._latest: dict[tuple[int, str], Node] = {}
        self._take: dict[int, Callable[[bytes, bytes], bytes]] = {
            Kind.NODE: self._node,
            Kind.BUNDLE: self._bundle,
            Kind.SNAPSHOT: self._snapshot,
        }

    def take(self, kind: int, id: bytes, data: bytes | BrainError) -> bytes:
        """Return the true id of an object; raises `BrainError` if it is not what it has to be."""
        if isinstance(data, BrainError):
            raise data
        if kind not in self._take:
            raise FormatError("no kind of object that is known", code="wrong_type")
        return self._take[kind](id, data)

    def _node(self, id: bytes, data: bytes) -> bytes:
        """What a node shares with the like one before is not hashed again."""
        node = tree_nodes.decode(data)
        place = node.kind, node.last
        if (like := self._latest.get(place)) is not None:
            node.rows_like(like)
        elif len(self._latest) >= _KEPT:
            self._latest.clear()
        self._latest[place] = node
        self._session.nodes.keep(id, node)
        return node.id

    def _bundle(self, id: bytes, data: bytes) -> bytes:
        bundle = bundles.decode(data)
        self._session.keep_bundle(id, bundle)
        return bundles.bundle_id(bundle)

    def _snapshot(self, id: bytes, data: bytes) -> bytes:
        self._session.keep(id, snapshots.decode(data))
        return snapshots.snapshot_id(data)
