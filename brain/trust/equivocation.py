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
from ..objects.lineage import Load
from ..objects.snapshot import Snapshot
from ..results import Finding
from .proving import NOBODY, Signers
from .statement import key_text


class Equivocation(NamedTuple):
    """Two children of `parent`, neither of which descends from the other, signed by `key`."""

    parent: bytes
    key: bytes
    first: bytes
    second: bytes


class Child(NamedTuple):
    """A snapshot as its first parent sees it, with the keys whose signatures fit it."""

    id: bytes
    generation: int
    keys: tuple[bytes, ...]


class Families:
    """The snapshots that continue the same one, gathered in a walk from children to parents.

    Memory grows with the width of the walk, and with the families of more than one child.
    """

    def __init__(self) -> None:
        self._waiting: dict[bytes, list[tuple[bytes, int]]] = {}
        self._found: list[tuple[bytes, list[tuple[bytes, int]]]] = []

    def meet(self, here: bytes, snapshot: Snapshot) -> None:
        """Take the next snapshot of the walk."""
        children = self._waiting.pop(here, [])
        if len(children) > 1:
            self._found.append((here, children))
        if snapshot.parents:
            child = (here, snapshot.generation)
            self._waiting.setdefault(snapshot.parents[0], []).append(child)

    def equivocations(
        self, load: Load, signers: Signers, read: Collection[bytes] = ()
    ) -> Iterator[Equivocation]:
        """Yield the equivocations among those met, as `among` does."""
        for parent, children in self._found:
            known = [
                Child(here, generation, signers.get(here, NOBODY).good)
                for here, generation in children
            ]
            yield from among(load, parent, known, read)


def find(
    load: Load,
    walk: Iterator[tuple[bytes, Snapshot]],
    signers: Signers,
    read: Collection[bytes] = (),
) -> Iterator[Equivocation]:
    """Yield equivocations in a walk, in which children come before parents, as `among` does.

    Raises what `load` and `walk` raise.
    """
    families = Families()
    for here, snapshot in walk:
        families.meet(here, snapshot)
    yield from families.equivocations(load, signers, read)


def among(
    load: Load, parent: bytes, siblings: list[Child], read: Collection[bytes] = ()
) -> Iterator[Equivocation]:
    """Yield equivocations among the children of one first parent; raises what `load` raises.

    Each child is told against one sibling, not against all. Two that are both among `read`,
    the snapshots that a reader's head descends from, are none to that reader.
    """
    ordered = sorted(siblings, key=lambda child: (child.generation, child.id))
    for key in sorted({key for child in ordered for key in child.keys}):
        earlier: list[Child] = []
        unread: list[Child] = []
        for second in ordered:
            if key not in second.keys:
                continue
            merged = second.id in read
            for first in unread if merged else earlier:
                if not lineage.is_ancestor(load, first.id, second.id):
                    yield Equivocation(parent, key, first.id, second.id)
                    break
            earlier.append(second)
            if not merged:
                unread.append(second)


def finding(found: Equivocation) -> Finding:
    """Return an equivocation as a finding."""
    text = f"{key_text(found.key)} also signed {found.first.hex()}, on the same snapshot before"
    return Finding("equivocation", "warning", found.second.hex(), "", text)
