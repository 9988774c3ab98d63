"""Merkle tree hashes in the shape of RFC 6962, section 2.1, over any hash.

The caller hashes the leaves, in a domain of their own, and passes `join`, the hash of two
children. The RFC splits at the largest power of two below n. This module joins neighbours level
by level and moves an odd last one up, which gives the same tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .named_tuple import NamedTuple

JoinHash = Callable[[bytes], bytes]
"""Hashes left ‖ right."""


def build_rows(
    leaves: list[bytes], join: JoinHash, like: list[list[bytes]] | None = None
) -> list[list[bytes]]:
    """Return all rows of the tree over at least one leaf hash, the row of the root last.

    `like` are the rows of a similar tree: hashes over equal neighbours at the same place are
    taken from it.
    """
    out = [leaves]
    while len(row := out[-1]) > 1:
        depth = len(out)
        if like is not None and depth < len(like):
            above = _join_row_with_reuse(row, join, like[depth - 1], like[depth])
        else:
            above = [join(left + right) for left, right in zip(row[::2], row[1::2], strict=False)]
        if len(row) & 1:
            above.append(row[-1])
        out.append(above)
    return out


def _join_row_with_reuse(
    row: list[bytes], join: JoinHash, old: list[bytes], old_above: list[bytes]
) -> list[bytes]:
    same = len(old) - 1
    return [
        old_above[i >> 1]
        if i < same and row[i] == old[i] and row[i + 1] == old[i + 1]
        else join(row[i] + row[i + 1])
        for i in range(0, len(row) - 1, 2)
    ]


def root_hash(leaves: list[bytes], join: JoinHash) -> bytes:
    """Return the tree hash of at least one leaf hash."""
    return build_rows(leaves, join)[-1][0]


class AuditStep(NamedTuple):
    """A step up from a node of the tree: its sibling, and whether that is the left one."""

    is_left: bool
    sibling: bytes


def audit_path(rows: Sequence[Sequence[bytes]], index: int) -> list[AuditStep]:
    """Return the steps from place `index` of the first row to the last row.

    For all `rows` of a tree this is PATH(index, leaves) of RFC 6962, section 2.1.1, with sides;
    for some consecutive rows it is a part of that path.
    """
    out = []
    for row in rows[:-1]:
        sibling_place = index ^ 1
        if sibling_place < len(row):
            out.append(AuditStep(sibling_place < index, row[sibling_place]))
        index >>= 1
    return out


def root_from_path(node_hash: bytes, steps: Iterable[AuditStep], join: JoinHash) -> bytes:
    """Return the hash to which `steps` lead from `node_hash`: the root, for a valid audit path."""
    for left, sibling in steps:
        node_hash = join(sibling + node_hash if left else node_hash + sibling)
    return node_hash
