"""Find which trust files are in force for each snapshot.

A snapshot passes its own trust file on to its children. One whose file is broken passes on
those in force for itself, so that their signers can repair it. One without a file passes
on none.
"""

from __future__ import annotations

from ..errors import BrainError
from .rights_graph import BROKEN_POLICY_CODE, PolicyOrError, RightsGraph, RightsStep

InheritedRights = frozenset[int]
"""Numbers of rights in a `RightsGraph`."""

_NO_RIGHTS: InheritedRights = frozenset()


class PolicyInheritance:
    """The rights that the snapshots of a graph pass on; numbers are its steps and rights.

    `first_policies` are the snapshots that bring a trust file while none is in force,
    `before_first_policy` their ancestors. `is_head_repaired`: the head's file is not broken.
    """

    def __init__(self, graph: RightsGraph) -> None:
        self._steps = steps = graph.steps
        self._own_rights = [
            _rights_of_policy(number, one) for number, one in enumerate(graph.rights)
        ]
        self._inherited = [_NO_RIGHTS] * len(steps)
        self.first_policies: set[int] = set()
        for number in reversed(graph.order):
            step = steps[number]
            above, own = self.rights_in_force(step), self._own_rights[step.rights]
            self._inherited[number] = above if own is None else own
            if own and not above:
                self.first_policies.add(number)
        self.before_first_policy = self._find_ancestors(self.first_policies)
        self.is_head_repaired = not self._is_broken(0)

    def rights_in_force(self, step: RightsStep) -> InheritedRights:
        """Return the rights that the parents of a snapshot pass on."""
        parents = step.parents
        if len(parents) == 1:
            return self._inherited[parents[0]]
        return _NO_RIGHTS.union(*(self._inherited[parent] for parent in parents))

    def has_rights_change(self, number: int) -> bool:
        """Tell whether a snapshot passes on other rights than are in force for it."""
        return self._inherited[number] != self.rights_in_force(self._steps[number])

    def has_new_broken_policy(self, number: int) -> bool:
        """Tell whether a snapshot brings a broken trust file, its parents having none."""
        return self._is_broken(number) and not any(
            map(self._is_broken, self._steps[number].parents)
        )

    def _is_broken(self, number: int) -> bool:
        return self._own_rights[self._steps[number].rights] is None

    def _find_ancestors(self, numbers: set[int]) -> set[int]:
        ancestors: set[int] = set()
        queue = [parent for number in numbers for parent in self._steps[number].parents]
        while queue:
            number = queue.pop()
            if number not in ancestors:
                ancestors.add(number)
                queue.extend(self._steps[number].parents)
        return ancestors


def _rights_of_policy(number: int, rights: PolicyOrError) -> InheritedRights | None:
    if isinstance(rights, BrainError) and rights.code == BROKEN_POLICY_CODE:
        return None
    return frozenset({number}) if rights is not None else _NO_RIGHTS
