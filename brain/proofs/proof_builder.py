"""Build proofs from the nodes, bundle and snapshots of a brain."""

from __future__ import annotations

from bisect import bisect_left

from .. import merkle
from ..errors import InvalidInput, NotFound
from ..objects import bundle as bundles
from ..objects import paths
from ..objects.bundle import State
from ..objects.lineage import LoadSnapshot, find_descent_path
from ..objects.node_cache import NodeCache
from ..objects.snapshot import Snapshot, encode_snapshot, snapshot_id
from ..objects.tree import TreeRoot
from ..objects.tree_node import LEAF, TreeEntry, TreeNode, last_path_hash
from . import proof_types as proofs

_NodePath = list[tuple[TreeNode, int]]
"""Nodes from the root of a tree down, each with an index into its entries."""


def build_path_proof(state: State, snapshot: Snapshot, path: str) -> proofs.PathProof:
    """Prove that the full `path` is in `snapshot`, whose state is `state`.

    Raises `NotFound` if it is not, and what its nodes raise.
    """
    section, inner = paths.split_section(path)
    root = state.sections.get(section)
    node_path = _find_node_path(state.nodes, root, inner) if root else []
    if root is None or not _is_path_at(node_path, inner):
        raise NotFound(
            f"the snapshot does not hold the file {path}",
            code="no_path",
            hint="prove its absence with --absent, or a folder with / at its end",
        )
    return proofs.PathProof(
        _build_head(snapshot),
        _build_file_inclusion(section, node_path),
        _build_section_path(state, section),
    )


def build_absence_proof(
    state: State, snapshot: Snapshot, path: str
) -> proofs.PathAbsenceProof | proofs.SectionAbsenceProof:
    """Prove that no file is at the full `path` in `snapshot`, whose state is `state`.

    Raises `InvalidInput`: `path_is_there`, or the codes of `paths.check_path`.
    """
    section, inner = paths.split_section(paths.check_path(path))
    root = state.sections.get(section)
    if root is None:
        return _build_section_absence(state, snapshot, path)
    node_path = _find_node_path(state.nodes, root, inner)
    if _is_path_at(node_path, inner):
        raise InvalidInput(
            f"the snapshot holds {path}",
            code="path_is_there",
            hint="prove that it is there, without --absent",
        )
    before, after, tree_path = _build_gap(state.nodes, section, node_path)
    return proofs.PathAbsenceProof(
        _build_head(snapshot), path, before, after, tree_path, _build_section_path(state, section)
    )


def build_section_proof(state: State, snapshot: Snapshot, name: str) -> proofs.SectionProof:
    """Prove that the section `name` of `state` is in `snapshot`. Raises `NotFound`."""
    if name not in state.sections:
        raise NotFound(
            f"there is no folder {name} at the top of the brain",
            code="no_section",
            hint="only top-level folders are proven as a whole; prove a file in it instead",
        )
    _, _, steps = _build_section_path(state, name)
    return proofs.SectionProof(
        _build_head(snapshot), proofs.SectionInclusion(name, state.sections[name], steps)
    )


def build_descent_proof(load: LoadSnapshot, old: bytes, new: bytes) -> proofs.DescentProof:
    """Prove that the snapshot `new` is `old` or descends from it, also across forks.

    Raises `NotFound` (`not_an_ancestor`) if it does not, and what `load` raises.
    """
    node_path = find_descent_path(load, old, new)
    if node_path is None:
        raise NotFound(
            f"snapshot {new.hex()} does not descend from {old.hex()}",
            code="not_an_ancestor",
            hint="`brain log --graph` shows how snapshots descend",
        )
    brain = load(new).brain or new
    return proofs.DescentProof(brain, new, old, [encode_snapshot(load(here)) for here in node_path])


def _build_head(snapshot: Snapshot) -> proofs.ProofHead:
    encoded = encode_snapshot(snapshot)
    here = snapshot_id(encoded)
    return proofs.ProofHead(snapshot.brain or here, here, snapshot.bundle, encoded)


def _build_section_path(state: State, section: str) -> proofs.SectionPath:
    _, files, size = state.sections[section]
    steps = merkle.audit_path(
        bundles.bundle_rows(state.sections), list(state.sections).index(section)
    )
    return proofs.SectionPath(files, size, steps)


def _find_node_path(nodes: NodeCache, root: TreeRoot, inner: str) -> _NodePath:
    """Return the nodes down to `inner`, to the first path after it, or past the root's end."""
    node_path: _NodePath = []
    node = nodes.get(root.node)
    while True:
        place = bisect_left(node.paths, inner)
        node_path.append((node, place))
        if node.kind == LEAF or place == len(node.entries):
            return node_path
        node = nodes.get(node.entries[place][1])


def _is_path_at(node_path: _NodePath, inner: str) -> bool:
    node, place = node_path[-1]
    return node.kind == LEAF and node.paths[place : place + 1] == [inner]


def _previous_node_path(nodes: NodeCache, node_path: _NodePath) -> _NodePath:
    """Return the nodes down to the file before that of `node_path`; none if it is the first."""
    before = node_path.copy()
    while before and before[-1][1] == 0:
        before.pop()
    if before:
        node, place = before[-1]
        before[-1] = node, place - 1
        while node.kind != LEAF:
            node = nodes.get(node.entries[before[-1][1]][1])
            before.append((node, len(node.entries) - 1))
    return before


def _build_file_inclusion(section: str, node_path: _NodePath) -> proofs.FileInclusion:
    node, place = node_path[-1]
    path, kind, blob, size = node.entries[place]
    entry = TreeEntry(paths.join_section(section, path), kind, blob, size)
    return proofs.FileInclusion(entry, _build_tree_path(node_path))


def _build_tree_path(node_path: _NodePath) -> proofs.TreeAuditPath:
    *above, (node, place) = node_path
    return [*merkle.audit_path(node.rows(), place), *_extend_tree_path(above)]


def _extend_tree_path(node_path: _NodePath) -> proofs.TreeAuditPath:
    out: list[merkle.AuditStep | proofs.LevelStep] = []
    for node, place in reversed(node_path):
        out.append(_build_level_step(node, place))
        out += merkle.audit_path(node.rows(), place)
    return out


def _build_level_step(node: TreeNode, place: int) -> proofs.LevelStep:
    last, _, files, size = node.entries[place]
    return proofs.LevelStep(last_path_hash(last), files, size)


def _build_gap(
    nodes: NodeCache, section: str, node_path: _NodePath
) -> tuple[proofs.FileInclusion | None, proofs.FileInclusion | None, proofs.TreeAuditPath]:
    before = _previous_node_path(nodes, node_path)
    if not before:
        return None, _build_file_inclusion(section, node_path), []
    node, place = node_path[0]
    if place == len(node.entries):
        return _build_file_inclusion(section, before), None, []
    fork_level = next(
        level for level, (a, b) in enumerate(zip(before, node_path, strict=False)) if a != b
    )
    node, place = node_path[fork_level]
    left, right, steps = merkle.neighbour_paths(node.rows(), place)
    shared = [*steps, *_extend_tree_path(node_path[:fork_level])]
    return (
        _build_gap_side(section, before, fork_level, left),
        _build_gap_side(section, node_path, fork_level, right),
        shared,
    )


def _build_gap_side(
    section: str, node_path: _NodePath, fork_level: int, steps: list[merkle.AuditStep]
) -> proofs.FileInclusion:
    if len(node_path) == fork_level + 1:
        return _build_file_inclusion(section, node_path)._replace(climb=steps)
    line = _build_file_inclusion(section, node_path[fork_level + 1 :])
    return line._replace(climb=[*line.climb, _build_level_step(*node_path[fork_level]), *steps])


def _build_section_absence(
    state: State, snapshot: Snapshot, path: str
) -> proofs.SectionAbsenceProof:
    head = _build_head(snapshot)
    sections = state.sections
    if not sections:
        return proofs.SectionAbsenceProof(head, path, None, None, [])
    names = list(sections)
    place = bisect_left(names, paths.split_section(path)[0])
    left, right, steps = merkle.neighbour_paths(bundles.bundle_rows(sections), place)
    before, after = names[place - 1 : place], names[place : place + 1]
    return proofs.SectionAbsenceProof(
        head,
        path,
        proofs.SectionInclusion(before[0], sections[before[0]], left) if before else None,
        proofs.SectionInclusion(after[0], sections[after[0]], right) if after else None,
        steps,
    )
