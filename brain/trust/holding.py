"""Which trust files a snapshot hands on, and so which are in force for those after it.

A snapshot hands on its own trust file. One whose file is broken hands on what it was
under itself, the last good ones, so that who may sign by those can put it right. One
without a file hands on none.
"""

from __future__ import annotations

from ..errors import BrainError
from .outline import BROKEN, Outline, Rights, Step

Held = frozenset[int]
"""Numbers of rights in an outline."""

_NONE: Held = frozenset()


class Holding:
    """What the snapshots of an outline hand on; numbers are those of its steps and rights.

    `first` are the snapshots that bring a trust file while none is in force for them,
    `vouched` all that these descend from. `repaired` tells whether the head's own file
    is none that is broken.
    """

    def __init__(self, outline: Outline) -> None:
        self._steps = steps = outline.steps
        self._own = [_own(number, one) for number, one in enumerate(outline.rights)]
        self._held = [_NONE] * len(steps)
        self.first: set[int] = set()
        for number in reversed(outline.order):
            step = steps[number]
            above, own = self.in_force(step), self._own[step.rights]
            self._held[number] = above if own is None else own
            if own and not above:
                self.first.add(number)
        self.vouched = self._before(self.first)
        self.repaired = not self._is_broken(0)

    def in_force(self, step: Step) -> Held:
        """Return the rights that the parents of a snapshot hand on."""
        parents = step.parents
        if len(parents) == 1:
            return self._held[parents[0]]
        return _NONE.union(*(self._held[parent] for parent in parents))

    def turns(self, number: int) -> bool:
        """Tell whether a snapshot hands on something else than it is under."""
        return self._held[number] != self.in_force(self._steps[number])

    def breaks(self, number: int) -> bool:
        """Tell whether a snapshot brings a broken trust file, its parents having none."""
        return self._is_broken(number) and not any(
            map(self._is_broken, self._steps[number].parents)
        )

    def _is_broken(self, number: int) -> bool:
        return self._own[self._steps[number].rights] is None

    def _before(self, some: set[int]) -> set[int]:
        out: set[int] = set()
        waiting = [parent for number in some for parent in self._steps[number].parents]
        while waiting:
            number = waiting.pop()
            if number not in out:
                out.add(number)
                waiting.extend(self._steps[number].parents)
        return out


def _own(number: int, rights: Rights) -> Held | None:
    """Return what a trust file says to hand on, None if it is broken."""
    if isinstance(rights, BrainError) and rights.code == BROKEN:
        return None
    return frozenset({number}) if rights is not None else _NONE
