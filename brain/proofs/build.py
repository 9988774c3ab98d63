"""Build proofs from the nodes, bundle and snapshots of a brain."""

from __future__ import annotations

from bisect import bisect_left

from .. import merkle
from ..errors import NotFound
from ..objects import bundle as bundles
from ..objects import paths
from ..objects.bundle import State
from ..objects.lineage import LoadSnapshot, find_descent_path
from ..objects.snapshot import Snapshot, encode_snapshot, snapshot_id
from ..objects.tree_node import LEAF, TreeEntry, TreeNode, last_path_hash
from . import proof as proofs


def build_path_proof(state: State, snapshot: Snapshot, path: str) -> proofs.PathProof:
    """Prove that the full `path` is in `snapshot`, whose state is `state`.

    Raises `NotFound` if it is not, and what its nodes raise.
    """
    section, inner = paths.split_section(path)
    root = state.sections.get(section)
    way: list[tuple[TreeNode, int]] = []  # nodes from the root down, each with a place in it
    node = state.nodes.get(root.node) if root else None
    while node is not None:
        place = bisect_left(node.paths, inner)
        way.append((node, place))
        below = node.kind != LEAF and place < len(node.entries)
        node = state.nodes.get(node.entries[place][1]) if below else None
    leaf, place = way[-1] if way else (None, 0)
    if leaf is None or leaf.kind != LEAF or leaf.paths[place : place + 1] != [inner]:
        raise NotFound(
            f"the snapshot does not hold the file {path}",
            code="no_path",
            hint="a folder at the top of the brain is proven with / at its end",
        )
    climb: list[merkle.AuditStep | proofs.LevelStep] = [*merkle.audit_path(leaf.rows(), place)]
    for node, at in reversed(way[:-1]):
        last, _, files, size = node.entries[at]
        climb.append(proofs.LevelStep(last_path_hash(last), files, size))
        climb += merkle.audit_path(node.rows(), at)
    _, kind, blob, size = leaf.entries[place]
    _, files, total = state.sections[section]
    return proofs.PathProof(
        _build_head(snapshot),
        TreeEntry(path, kind, blob, size),
        climb,
        proofs.SectionPath(files, total, _section_steps(state, section)),
    )


def build_section_proof(state: State, snapshot: Snapshot, name: str) -> proofs.SectionProof:
    """Prove that the section `name` of `state` is in `snapshot`. Raises `NotFound`."""
    if name not in state.sections:
        raise NotFound(
            f"there is no folder {name} at the top of the brain",
            code="no_section",
            hint="only top-level folders are proven as a whole; prove a file in it instead",
        )
    steps = _section_steps(state, name)
    return proofs.SectionProof(_build_head(snapshot), name, state.sections[name], steps)


def build_descent_proof(load: LoadSnapshot, old: bytes, new: bytes) -> proofs.DescentProof:
    """Prove that the snapshot `new` is `old` or descends from it, also across forks.

    Raises `NotFound` (`not_an_ancestor`) if it does not, and what `load` raises.
    """
    way = find_descent_path(load, old, new)
    if way is None:
        raise NotFound(
            f"snapshot {new.hex()} does not descend from {old.hex()}",
            code="not_an_ancestor",
            hint="`brain log --graph` shows how snapshots descend",
        )
    brain = load(new).brain or new
    return proofs.DescentProof(brain, new, old, [encode_snapshot(load(here)) for here in way])


def _build_head(snapshot: Snapshot) -> proofs.ProofHead:
    encoded = encode_snapshot(snapshot)
    here = snapshot_id(encoded)
    return proofs.ProofHead(snapshot.brain or here, here, snapshot.bundle, encoded)


def _section_steps(state: State, section: str) -> list[merkle.AuditStep]:
    rows = bundles.bundle_rows(state.sections)
    return merkle.audit_path(rows, list(state.sections).index(section))
