"""The numbers by which a verdict states the decision of a gate.

They are counts, so the E-value is in thousandths, rounded down. `max_rounds` tells how the
rounds are read: 1 for a runner that repeats itself, else as many as the rules of the gate allow.
"""

from __future__ import annotations

from ..gating.decision import GateDecision
from ..objects.tree_entry import MAX_SAFE_INTEGER
from .verdict_types import NamedNumber

MAX_ROUNDS_NAME = "max_rounds"


def state_numbers(decision: GateDecision, max_rounds: int) -> tuple[NamedNumber, ...]:
    """Return the numbers of a decision, ascending by name."""
    return (
        NamedNumber("cases", decision.cases),
        NamedNumber("e_value_milli", min(int(1000 * decision.e_value), MAX_SAFE_INTEGER)),
        NamedNumber("losses", decision.losses),
        NamedNumber(MAX_ROUNDS_NAME, max_rounds),
        NamedNumber("more_cases", decision.more_cases),
        NamedNumber("rounds", decision.rounds),
        NamedNumber("ties", decision.ties),
        NamedNumber("wins", decision.wins),
    )
