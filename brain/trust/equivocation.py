"""Equivocation: one key signed two continuations of one snapshot.

Two snapshots with the same first parent, of which neither descends from the other, and
both signed by one key. It may be a key in two hands, or one hand that tells two stories;
it may also be a branch that was made on purpose, which looks the same. So it is a
warning, and a fact to ask about: the key did sign both.

Where a head descends from both, whoever reads that head has both stories before him, and
they are one again: nothing is kept from him. The key signed both all the same, which may
matter to who was shown one of them alone.
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
    """The snapshots that continue the same one, gathered in a walk from children to parents.

    Memory grows with the width of the walk, and with the families of more than one child.
    """

    def __init__(self) -> None:
        self._children: dict[bytes, list[tuple[bytes, int]]] = {}
        self._groups: list[tuple[bytes, list[tuple[bytes, int]]]] = []

    def add_snapshot(self, here: bytes, snapshot: Snapshot) -> None:
        """Take the next snapshot of the walk."""
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
        """Yield the equivocations among those met, as `among` does."""
        for parent, children in self._groups:
            signed_children = [
                SignedChild(here, generation, signers.get(here, NO_SIGNERS).valid)
                for here, generation in children
            ]
            yield from find_among_siblings(load, parent, signed_children, merged_snapshots)


def find_equivocations(
    load: LoadSnapshot,
    walk: Iterator[tuple[bytes, Snapshot]],
    signers: SignersBySnapshot,
    merged_snapshots: Collection[bytes] = (),
) -> Iterator[EquivocationPair]:
    """Yield equivocations in a walk, in which children come before parents, as `among` does.

    Raises what `load` and `walk` raise.
    """
    families = SiblingGroups()
    for here, snapshot in walk:
        families.add_snapshot(here, snapshot)
    yield from families.find_equivocations(load, signers, merged_snapshots)


def find_among_siblings(
    load: LoadSnapshot,
    parent: bytes,
    siblings: list[SignedChild],
    merged_snapshots: Collection[bytes] = (),
) -> Iterator[EquivocationPair]:
    """Yield equivocations among the children of one first parent; raises what `load` raises.

    Each child is told against one sibling, not against all. Two that are both among `read`,
    the snapshots that a reader's head descends from, are none to that reader.
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
