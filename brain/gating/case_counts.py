"""Count what cases won and lost over whole rounds, before and after a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import InvalidInput, printable_text
from .gate_types import CaseRow

OUTCOMES = "pfe"
"""Letters of an outcome: passed, failed, error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseScore:
    """Rounds that one case won and lost; `balance` is the one less the other."""

    name: str
    is_guard: bool
    wins: int
    losses: int
    balance: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseCounts:
    """What rows come to: the scores of all cases, and counts over those that are no guards.

    `passes_before` counts runs without the change, `errors` runs with it and without it.
    """

    scores: tuple[CaseScore, ...]
    own: tuple[CaseScore, ...]
    rounds: int
    wins: int
    losses: int
    passes_before: int
    errors: int

    @property
    def pairs(self) -> int:
        """How many pairs of runs there are, one a case and round."""
        return len(self.own) * self.rounds


def count_rows(rows: Sequence[CaseRow]) -> CaseCounts:
    """Count rows. Raises `InvalidInput` (`bad_rounds`) for unequal lengths or other letters."""
    rounds = len(rows[0].before) if rows else 0
    for row in rows:
        _check_row(row, rounds)
    scores = tuple(map(_score_row, rows))
    own = tuple(score for score in scores if not score.is_guard)
    own_rows = [row for row in rows if not row.is_guard]
    return CaseCounts(
        scores=scores,
        own=own,
        rounds=rounds,
        wins=sum([score.wins for score in own]),
        losses=sum([score.losses for score in own]),
        passes_before=sum([row.before.count("p") for row in own_rows]),
        errors=sum([row.before.count("e") + row.after.count("e") for row in own_rows]),
    )


def _check_row(row: CaseRow, rounds: int) -> None:
    if len(row.before) != rounds or len(row.after) != rounds:
        problem = f"another number of rounds than the first, {rounds}"
    elif (row.before + row.after).strip(OUTCOMES):
        problem = "an outcome other than p, f and e"
    else:
        return
    raise InvalidInput(
        f"the case {printable_text(row.name, 80)} has {problem}",
        code="bad_rounds",
        hint="give whole rounds, a letter a run",
    )


def _score_row(row: CaseRow) -> CaseScore:
    wins = losses = 0
    for before, after in zip(row.before, row.after, strict=True):
        if before != after:
            wins += after == "p"
            losses += before == "p"
    return CaseScore(
        name=row.name, is_guard=row.is_guard, wins=wins, losses=losses, balance=wins - losses
    )
