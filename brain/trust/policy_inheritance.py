"""Which trust files a snapshot hands on to the snapshots after it.

A snapshot hands on its own trust file. One whose file is broken hands on what it was
under itself, the last good ones, so that who may sign by those can put it right. One
without a file hands on none.
"""

from __future__ import annotations

from ..errors import BrainError
from .rights_graph import BROKEN_POLICY_CODE, PolicyOrError, RightsGraph, RightsStep

InheritedRights = frozenset[int]
"""Numbers of rights in an outline."""

_NO_RIGHTS: InheritedRights = frozenset()


class PolicyInheritance:
    """What the snapshots of an outline hand on; numbers are those of its steps and rights.

    `first` are the snapshots that bring a trust file while none is in force for them,
    `vouched` all that these descend from. `repaired` tells whether the head's own file
    is none that is broken.
    """

    def __init__(self, outline: RightsGraph) -> None:
        self._steps = steps = outline.steps
        self._own_rights = [
            _rights_of_policy(number, one) for number, one in enumerate(outline.rights)
        ]
        self._inherited = [_NO_RIGHTS] * len(steps)
        self.first_policies: set[int] = set()
        for number in reversed(outline.order):
            step = steps[number]
            above, own = self.rights_in_force(step), self._own_rights[step.rights]
            self._inherited[number] = above if own is None else own
            if own and not above:
                self.first_policies.add(number)
        self.before_first_policy = self._find_ancestors(self.first_policies)
        self.is_head_repaired = not self._is_broken(0)

    def rights_in_force(self, step: RightsStep) -> InheritedRights:
        """Return the rights that the parents of a snapshot hand on."""
        parents = step.parents
        if len(parents) == 1:
            return self._inherited[parents[0]]
        return _NO_RIGHTS.union(*(self._inherited[parent] for parent in parents))

    def has_rights_change(self, number: int) -> bool:
        """Tell whether a snapshot hands on something else than it is under."""
        return self._inherited[number] != self.rights_in_force(self._steps[number])

    def has_new_broken_policy(self, number: int) -> bool:
        """Tell whether a snapshot brings a broken trust file, its parents having none."""
        return self._is_broken(number) and not any(
            map(self._is_broken, self._steps[number].parents)
        )

    def _is_broken(self, number: int) -> bool:
        return self._own_rights[self._steps[number].rights] is None

    def _find_ancestors(self, numbers: set[int]) -> set[int]:
        out: set[int] = set()
        waiting = [parent for number in numbers for parent in self._steps[number].parents]
        while waiting:
            number = waiting.pop()
            if number not in out:
                out.add(number)
                waiting.extend(self._steps[number].parents)
        return out


def _rights_of_policy(number: int, rights: PolicyOrError) -> InheritedRights | None:
    """Return what a trust file says to hand on, None if it is broken."""
    if isinstance(rights, BrainError) and rights.code == BROKEN_POLICY_CODE:
        return None
    return frozenset({number}) if rights is not None else _NO_RIGHTS
