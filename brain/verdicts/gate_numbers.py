"""The numbers by which a verdict states the decision of a gate.

They are counts, so E-values are in thousandths, rounded down. `max_rounds` tells how the rounds
are read: 1 for a runner that repeats itself, 2 where that was checked, else as many as the rules
of the gate allow.
"""

from __future__ import annotations

from fractions import Fraction

from ..gating.decision import GateDecision
from ..objects.tree_entry import MAX_SAFE_INTEGER
from .verdict_types import NamedNumber

MAX_ROUNDS_NAME, READ_NAME = "max_rounds", "read_cases"


def state_numbers(
    decision: GateDecision, max_rounds: int, *, is_provisional_asked: bool = False
) -> tuple[NamedNumber, ...]:
    """Return the numbers of a decision, ascending by name.

    `is_provisional_asked`: with those that tell whether a change helps these very cases.
    """
    asked = {} if decision.read_cases is None else {READ_NAME: decision.read_cases}
    asked["e_of_runs_milli"] = _in_thousandths(decision.e_of_runs)
    rows = (
        NamedNumber("cases", decision.cases),
        NamedNumber("e_value_milli", _in_thousandths(decision.e_value)),
        NamedNumber("losses", decision.losses),
        NamedNumber(MAX_ROUNDS_NAME, max_rounds),
        NamedNumber("more_cases", decision.more_cases),
        NamedNumber("rounds", decision.rounds),
        NamedNumber("ties", decision.ties),
        NamedNumber("wins", decision.wins),
        *(NamedNumber(*one) for one in asked.items() if is_provisional_asked),
    )
    return tuple(sorted(rows))


def _in_thousandths(value: Fraction) -> int:
    return min(int(1000 * value), MAX_SAFE_INTEGER)
