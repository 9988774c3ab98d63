"""What a gate counts, its rules, and its decision."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

GateWord = Literal["admit", "reject", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRules:
    """The numbers of a decision. A verdict states none of them: all verdicts keep `DEFAULT_RULES`.

    `threshold` is the E-value that admits: 1 / alpha, where alpha bounds false admissions. A runner
    that repeats itself runs one round, another `min_rounds` to `max_rounds`: after five, a case
    that lost one in two stands out. Fewer than `min_cases` held-out cases never admit by rule.
    """

    threshold: int = 20
    min_cases: int = 5
    min_rounds: int = 5
    max_rounds: int = 12


DEFAULT_RULES = GateRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow:
    """The outcomes of one case, a letter a round: p passed, f failed, e error (counts as failed).

    `is_guard`: a case of another skill, which must not get worse and counts for no gain.
    """

    name: str
    before: str
    after: str
    is_guard: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision:
    """The decision with its numbers, over the held-out cases of the skill itself.

    `wins`, `losses` and `ties` count pairs of runs, one a case and round. `reason` names no case,
    since evolvers may read it. `worse` names the cases, guards too, that got worse. `more_cases`
    is how many more cases such as these it would take to admit; 0 if that is not known or not
    needed.
    """

    gate: GateWord
    reason: str
    cases: int
    rounds: int
    wins: int
    losses: int
    ties: int
    e_value: Fraction
    worse: tuple[str, ...] = ()
    more_cases: int = 0
