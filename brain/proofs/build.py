"""Making proofs from the nodes, bundle and snapshots of a brain."""

from __future__ import annotations

from bisect import bisect_left

from .. import merkle
from ..errors import InvalidInput, NotFound, printable
from ..objects import bundle as bundles
from ..objects import paths
from ..objects.ancestry import path_between
from ..objects.bundle import Bundle
from ..objects.entry import Entry
from ..objects.lineage import Load
from ..objects.node import LEAF, Node, last_hash
from ..objects.nodes import Nodes
from ..objects.snapshot import Snapshot, encode, snapshot_id
from ..objects.tree import Root
from .proof import (
    Above,
    Climb,
    DescentProof,
    FileLine,
    GapProof,
    Head,
    NoSectionProof,
    Opening,
    PathProof,
    SectionLine,
    SectionProof,
)

_Way = list[tuple[Node, int]]
"""Nodes from the root of a tree down, each with a place among its entries."""


def path_proof(nodes: Nodes, bundle: Bundle, snapshot: Snapshot, path: str) -> PathProof:
    """Prove that the full `path` is in `snapshot`, whose bundle is `bundle`.

    Raises `NotFound` if it is not, and what `nodes` raise.
    """
    section, inner = paths.split(path)
    root = bundle.get(section)
    way = _way_to(nodes, root, inner) if root else []
    if root is None or not _is_at(way, inner):
        raise NotFound(
            f"no such file in the snapshot: {printable(path)}",
            code="no_path",
            hint="a proof of absence shows that it is not there",
        )
    return PathProof(_head(snapshot), _file_line(section, way), _above(bundle, section))


def absence_proof(
    nodes: Nodes, bundle: Bundle, snapshot: Snapshot, path: str
) -> GapProof | NoSectionProof:
    """Prove that no file is at the full `path` in `snapshot`, whose bundle is `bundle`.

    Raises `InvalidInput`: `path_is_there`, or the codes of `paths.check`.
    """
    section, inner = paths.split(paths.check(path))
    root = bundle.get(section)
    if root is None:
        return _no_section(bundle, snapshot, path)
    way = _way_to(nodes, root, inner)
    if _is_at(way, inner):
        raise InvalidInput(
            f"the snapshot holds {printable(path)}",
            code="path_is_there",
            hint="prove that it is there instead",
        )
    before, after, climb = _gap(nodes, section, way)
    return GapProof(_head(snapshot), path, before, after, climb, _above(bundle, section))


def section_proof(bundle: Bundle, snapshot: Snapshot, name: str) -> SectionProof:
    """Prove that the section `name` of `bundle` is in `snapshot`. Raises `NotFound`."""
    if name not in bundle:
        raise NotFound(
            f"no such folder at the top of the brain: {printable(name)}", code="no_section"
        )
    _, _, steps = _above(bundle, name)
    return SectionProof(_head(snapshot), SectionLine(name, bundle[name], steps))


def descent_proof(load: Load, old: bytes, new: bytes) -> DescentProof:
    """Prove that the snapshot `new` is `old` or descends from it, also across forks.

    Raises `NotFound` (`not_an_ancestor`) if it does not, and what `load` raises.
    """
    way = path_between(load, old, new)
    if way is None:
        raise NotFound(
            f"{new.hex()} does not descend from {old.hex()}",
            code="not_an_ancestor",
            hint="`brain log --graph` shows how snapshots descend",
        )
    brain = load(new).brain or new
    return DescentProof(brain, new, old, [encode(load(here)) for here in way])


def _head(snapshot: Snapshot) -> Head:
    encoded = encode(snapshot)
    here = snapshot_id(encoded)
    return Head(snapshot.brain or here, here, snapshot.bundle, encoded)


def _above(bundle: Bundle, section: str) -> Above:
    _, files, size = bundle[section]
    steps = merkle.audit_path(bundles.rows(bundle), list(bundle).index(section))
    return Above(files, size, steps)


def _way_to(nodes: Nodes, root: Root, inner: str) -> _Way:
    """Return the way to `inner`, or to the first path after it, or past the end of the root."""
    way: _Way = []
    node = nodes.get(root.node)
    while True:
        place = bisect_left(node.paths, inner)
        way.append((node, place))
        if node.kind == LEAF or place == len(node.entries):
            return way
        node = nodes.get(node.entries[place][1])


def _is_at(way: _Way, inner: str) -> bool:
    node, place = way[-1]
    return node.kind == LEAF and node.paths[place : place + 1] == [inner]


def _way_before(nodes: Nodes, way: _Way) -> _Way:
    """Return the way to the last file before the one that `way` leads to; empty if it is first."""
    before = way.copy()
    while before and before[-1][1] == 0:
        before.pop()
    if before:
        node, place = before[-1]
        before[-1] = node, place - 1
        while node.kind != LEAF:
            node = nodes.get(node.entries[before[-1][1]][1])
            before.append((node, len(node.entries) - 1))
    return before


def _file_line(section: str, way: _Way) -> FileLine:
    node, place = way[-1]
    path, kind, blob, size = node.entries[place]
    entry = Entry(paths.join(section, path), kind, blob, size)
    return FileLine(entry, _climb(way))


def _climb(way: _Way) -> Climb:
    """Return the climb from the entry at the end of `way` to the root."""
    *above, (node, place) = way
    return [*merkle.audit_path(node.rows(), place), *_climb_on(above)]


def _climb_on(way: _Way) -> Climb:
    """Return the climb from the id of the node below `way` to the root."""
    out: list[merkle.Step | Opening] = []
    for node, place in reversed(way):
        out.append(_opening(node, place))
        out += merkle.audit_path(node.rows(), place)
    return out


def _opening(node: Node, place: int) -> Opening:
    last, _, files, size = node.entries[place]
    return Opening(last_hash(last), files, size)


def _gap(nodes: Nodes, section: str, way: _Way) -> tuple[FileLine | None, FileLine | None, Climb]:
    """Return the files around the place that `way` leads to, and the climb they share."""
    before = _way_before(nodes, way)
    if not before:
        return None, _file_line(section, way), []
    node, place = way[0]
    if place == len(node.entries):
        return _file_line(section, before), None, []
    parted = next(level for level, (a, b) in enumerate(zip(before, way, strict=False)) if a != b)
    node, place = way[parted]
    left, right, steps = merkle.neighbours(node.rows(), place)
    shared = [*steps, *_climb_on(way[:parted])]
    return _side(section, before, parted, left), _side(section, way, parted, right), shared


def _side(section: str, way: _Way, parted: int, steps: list[merkle.Step]) -> FileLine:
    """Return the file at the end of `way` and its climb to where it joins its neighbour."""
    if len(way) == parted + 1:
        return _file_line(section, way)._replace(climb=steps)
    line = _file_line(section, way[parted + 1 :])
    return line._replace(climb=[*line.climb, _opening(*way[parted]), *steps])


def _no_section(bundle: Bundle, snapshot: Snapshot, path: str) -> NoSectionProof:
    head = _head(snapshot)
    if not bundle:
        return NoSectionProof(head, path, None, None, [])
    names = list(bundle)
    place = bisect_left(names, paths.split(path)[0])
    left, right, steps = merkle.neighbours(bundles.rows(bundle), place)
    before, after = names[place - 1 : place], names[place : place + 1]
    return NoSectionProof(
        head,
        path,
        SectionLine(before[0], bundle[before[0]], left) if before else None,
        SectionLine(after[0], bundle[after[0]], right) if after else None,
        steps,
    )
