"""Check a proof that a path is absent.

All lines of a tree ascend by path, in the whole bundle by section and path. Two
lines are neighbours if, below the hash that joins them, the first is the last of
its side (it has siblings on its left alone) and the second the first of its own.
The sides of the steps show that, so no claimed positions are needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import merkle
from ..objects import paths
from ..objects.tree import TreeRoot
from ..objects.tree_node import join_hashes
from .proof_types import (
    FileInclusion,
    LevelStep,
    PathAbsenceProof,
    ProofHead,
    SectionAbsenceProof,
    SectionInclusion,
    SectionPath,
    TreeAuditPath,
)
from .recompute_root import (
    path_in_section,
    require_bundle,
    require_valid_proof,
    root_from_file,
    root_from_section,
    root_from_tree_path,
)


def check_path_absence(proof: PathAbsenceProof) -> None:
    """Check that no file of the section can be at the path."""
    section, inner = paths.split_section(proof.path)
    before, after = proof.before, proof.after
    lines = [line for line in (before, after) if line]
    require_valid_proof(
        len({_count_levels(line) for line in lines}) == 1,
        "not_neighbours",
        "it does not show two neighbours",
    )
    _check_sides(before and before.climb, after and after.climb, proof.climb)
    _check_between(
        before and path_in_section(section, before.entry.path),
        inner,
        after and path_in_section(section, after.entry.path),
    )
    joined = _join_neighbours([root_from_file(section, line) for line in lines])
    require_section(proof.head, section, root_from_tree_path(joined, proof.climb), proof.tree)


def check_section_absence(proof: SectionAbsenceProof) -> None:
    """Check that no section of the bundle can have the name of the path's section."""
    before, after = proof.before, proof.after
    _check_sides(before and before.steps, after and after.steps, proof.steps)
    _check_between(before and before.name, paths.split_section(proof.path)[0], after and after.name)
    joined = _join_neighbours([root_from_section(line) for line in (before, after) if line])
    require_bundle(proof.head, merkle.root_from_path(joined, proof.steps, join_hashes))


def require_section(head: ProofHead, section: str, root: bytes, above: SectionPath) -> None:
    """Check that the tree of `root` is a section of the bundle."""
    whole = TreeRoot(root, above.files, above.bytes)
    require_bundle(head, root_from_section(SectionInclusion(section, whole, above.steps)))


def _count_levels(line: FileInclusion) -> int:
    return sum(isinstance(one, LevelStep) for one in line.climb)


def _check_sides(
    before: TreeAuditPath | None, after: TreeAuditPath | None, shared: TreeAuditPath
) -> None:
    """Check the sides of all steps below the hash that joins two neighbours.

    A single neighbour is at an end of the whole tree, so it shares no steps.
    """
    _check_siblings_on_side(before, True)
    _check_siblings_on_side(after, False)
    alone = before is None or after is None
    require_valid_proof(
        not (alone and shared), "not_neighbours", "it shows one neighbour where there are two"
    )


def _check_siblings_on_side(climb: TreeAuditPath | None, on_left: bool) -> None:
    for one in climb or ():
        between = not isinstance(one, LevelStep) and one.is_left != on_left
        require_valid_proof(
            not between, "not_neighbours", "there may be a file between its two neighbours"
        )


def _check_between(before: str | None, name: str, after: str | None) -> None:
    require_valid_proof(
        before is None or before < name, "not_between", "the path is not after the first neighbour"
    )
    require_valid_proof(
        after is None or name < after, "not_between", "the path is not before the second neighbour"
    )


def _join_neighbours(hashes: Sequence[bytes]) -> bytes:
    """Return the hash over two neighbours, of one alone, or of an empty bundle for none."""
    return hashes[0] if len(hashes) == 1 else join_hashes(b"".join(hashes))
