"""Equivocation: one key signed two continuations of one snapshot.

Two snapshots have the same first parent, neither descends from the other, and one key
signed both. The key may have been stolen, or its owner shows different histories to
different readers; a deliberate branch looks the same. So it is a warning.

A head that descends from both hides neither, so to its reader it is no equivocation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ..objects import lineage
from ..objects.lineage import LoadSnapshot
from ..objects.snapshot import Snapshot
from ..results import Finding
from .batch_verify import NO_SIGNERS, SignersBySnapshot
from .signature_format import format_key


class EquivocationPair(NamedTuple):
    """Two children of `parent`, neither of which descends from the other, signed by `key`."""

    parent: bytes
    key: bytes
    first: bytes
    second: bytes


class SignedChild(NamedTuple):
    """A snapshot as its first parent sees it, with the keys whose signatures fit it."""

    id: bytes
    generation: int
    keys: tuple[bytes, ...]


class SiblingGroups:
    """Snapshots with the same first parent, grouped during a walk from children to parents.

    Memory grows with the width of the walk, and with the groups of more than one child.
    """

    def __init__(self) -> None:
        self._children: dict[bytes, list[tuple[bytes, int]]] = {}
        self._groups: list[tuple[bytes, list[tuple[bytes, int]]]] = []

    def add_snapshot(self, here: bytes, snapshot: Snapshot) -> None:
        """Add the next snapshot of the walk."""
        children = self._children.pop(here, [])
        if len(children) > 1:
            self._groups.append((here, children))
        if snapshot.parents:
            child = (here, snapshot.generation)
            self._children.setdefault(snapshot.parents[0], []).append(child)

    def find_equivocations(
        self,
        load: LoadSnapshot,
        signers: SignersBySnapshot,
        merged_snapshots: Collection[bytes] = (),
    ) -> Iterator[EquivocationPair]:
        """Yield the equivocations in all groups; see `find_among_siblings`."""
        for parent, children in self._groups:
            signed_children = [
                SignedChild(here, generation, signers.get(here, NO_SIGNERS).valid)
                for here, generation in children
            ]
            yield from find_among_siblings(load, parent, signed_children, merged_snapshots)


def find_among_siblings(
    load: LoadSnapshot,
    parent: bytes,
    siblings: list[SignedChild],
    merged_snapshots: Collection[bytes] = (),
) -> Iterator[EquivocationPair]:
    """Yield equivocations among the children of one first parent; raises what `load` raises.

    Each child is reported against one sibling, not all. Two that are both among
    `merged_snapshots`, which a reader's head descends from, are not reported.
    """
    ordered = sorted(siblings, key=lambda child: (child.generation, child.id))
    for key in sorted({key for child in ordered for key in child.keys}):
        earlier: list[SignedChild] = []
        unread: list[SignedChild] = []
        for second in ordered:
            if key not in second.keys:
                continue
            merged = second.id in merged_snapshots
            for first in unread if merged else earlier:
                if not lineage.is_ancestor(load, first.id, second.id):
                    yield EquivocationPair(parent, key, first.id, second.id)
                    break
            earlier.append(second)
            if not merged:
                unread.append(second)


def equivocation_finding(found: EquivocationPair) -> Finding:
    """Return an equivocation as a finding."""
    text = f"{format_key(found.key)} also signed {found.first.hex()}, on the same snapshot before"
    return Finding("equivocation", "warning", found.second.hex(), "", text)
