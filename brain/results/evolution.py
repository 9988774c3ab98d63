"""Results about learning: cases, what the gate decided, patterns, gaps and the scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .common import Committed, NotCommitted, Version


class GateNumbers(NamedTuple):
    """What the gate counted over held-out cases; `e_value` as text with three decimals.

    `worse` are the paths of cases that got worse. `more_cases` is how many more it would take.
    """

    cases: int
    rounds: int
    wins: int
    losses: int
    ties: int
    e_value: str
    worse: Sequence[str]
    more_cases: int
    runner: str


class GateOutcome(NamedTuple):
    """What became of a proposed change.

    `gate` is what the numbers say: admit, reject, undecided, or "" if nothing was tried. `done` is
    what happened: admitted, proposed, rejected, kept (undecided, on a ref), or nothing (an equal
    text). `snapshot` is that of the change, `proposal` the name of its proposal and `attempt` of
    its rejected attempt, each "" without one.
    """

    gate: str
    done: str
    reason: str
    slug: str
    version: Version | None
    previous_version: Version | None
    snapshot: str
    proposal: str
    attempt: str
    evolver: str
    numbers: GateNumbers | None
    changed: bool
    commitment: Committed | NotCommitted | None = None
