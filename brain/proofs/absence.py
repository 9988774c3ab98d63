"""Checking that a path is absent: its neighbours leave it no room.

All lines of a tree ascend by path, in the whole bundle by section and path. Two
lines are neighbours if, below the hash that joins them, the first is the last of
its side (it has siblings on its left alone) and the second the first of its own.
The sides of the steps say so; there are no positions to believe.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import merkle
from ..objects import paths
from ..objects.node import join_hashes
from ..objects.tree import Root
from .proof import Above, Climb, FileLine, GapProof, Head, NoSectionProof, Opening, SectionLine
from .rise import inside, require, require_bundle, rise, rise_from_file, rise_from_section


def check_gap(proof: GapProof) -> None:
    """Check that the path has no room among the files of its section."""
    section, inner = paths.split(proof.path)
    before, after = proof.before, proof.after
    lines = [line for line in (before, after) if line]
    require(len({_openings(line) for line in lines}) == 1, "not_neighbours", "no two neighbours")
    _check_sides(before and before.climb, after and after.climb, proof.climb)
    _check_between(
        before and inside(section, before.entry.path),
        inner,
        after and inside(section, after.entry.path),
    )
    joined = _joined([rise_from_file(section, line) for line in lines])
    require_section(proof.head, section, rise(joined, proof.climb), proof.tree)


def check_no_section(proof: NoSectionProof) -> None:
    """Check that the section of the path has no room among the sections."""
    before, after = proof.before, proof.after
    _check_sides(before and before.steps, after and after.steps, proof.steps)
    _check_between(before and before.name, paths.split(proof.path)[0], after and after.name)
    joined = _joined([rise_from_section(line) for line in (before, after) if line])
    require_bundle(proof.head, merkle.climb(joined, proof.steps, join_hashes))


def require_section(head: Head, section: str, root: bytes, above: Above) -> None:
    """Check that the tree of `root` is a section of the bundle."""
    whole = Root(root, above.files, above.bytes)
    require_bundle(head, rise_from_section(SectionLine(section, whole, above.steps)))


def _openings(line: FileLine) -> int:
    """Return the levels of a tree that a climb passes: the same for neighbours."""
    return sum(isinstance(one, Opening) for one in line.climb)


def _check_sides(before: Climb | None, after: Climb | None, shared: Climb) -> None:
    """Check the sides of all steps below the hash that joins two neighbours.

    A single neighbour stands at an end of the whole tree, so it shares no way.
    """
    _check_side(before, True)
    _check_side(after, False)
    alone = before is None or after is None
    require(not (alone and shared), "not_neighbours", "one neighbour is missing")


def _check_side(climb: Climb | None, left: bool) -> None:
    for one in climb or ():
        between = not isinstance(one, Opening) and one.left != left
        require(not between, "not_neighbours", "something stands between")


def _check_between(before: str | None, name: str, after: str | None) -> None:
    require(before is None or before < name, "not_between", "it is not after the first")
    require(after is None or name < after, "not_between", "it is not before the second")


def _joined(hashes: Sequence[bytes]) -> bytes:
    """Return the hash over two neighbours; one alone is itself; none is an empty bundle's."""
    return hashes[0] if len(hashes) == 1 else join_hashes(b"".join(hashes))
