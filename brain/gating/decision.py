"""Decide from the outcomes of held-out cases, before and after a change, whether it helps.

Two claims. *Admitted*: it helps tasks like these cases. In this order:

1. A case is worse, having lost beyond chance: reject.
2. The cases are worse as a whole, E of the losses reaching the threshold: reject.
3. Too few cases, no round or too few, or nothing but errors: undecided.
4. No more wins than losses: reject, there is no gain.
5. E below the threshold: undecided.
6. A case lost half of its rounds on balance: undecided, since that may be more than chance.
7. Else admit.

*Provisional*, of a change that is not rejected: it helps these very cases.

1. At least two cases got better, and there are more wins than losses.
2. A runner that repeats itself did so in a second round, and no case lost; or after some round from
   the fifth on, E of the runs has reached the threshold, and no case lost half of its rounds.

A case that lost beyond chance rejects, with E of its own runs against the threshold times the
number of cases. A change that no run has read is undecided. While a decision is not final and
rounds are left, a caller goes on with another round.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ..errors import InvalidInput, printable_text
from .case_files import MAX_CASES
from .evidence import e_of_runs, e_value, e_value_of_scores

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

    `scores` are in thousandths, two a round, before and after: 1000 for p, less for f, 0 for e.
    Without any, f is 0 too. `is_guard`: a case of another skill, which must not get worse and
    counts for no gain.
    """

    name: str
    before: str
    after: str
    is_guard: bool = False
    scores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision:
    """The decision with its numbers, over the held-out cases of the skill itself.

    `wins`, `losses` and `ties` count pairs of runs, one a case and round. `reason` names no case,
    since evolvers may read it. `worse` names the cases, guards too, that got worse. `more_cases`
    is how many more cases such as these it would take to admit; 0 if that is not known or not
    needed. `e_of_runs` is the highest that was reached after a round from the fifth on.
    `read_cases` is in how many cases a run read the change, None if nobody counts that. A further
    round changes nothing of what `is_final`.
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
    is_provisional: bool = False
    e_of_runs: Fraction = Fraction(1)
    read_cases: int | None = None
    is_final: bool = False


OUTCOMES = "pfe"
"""Letters of an outcome: passed, failed, error."""
MAX_SCORE = 1000
"""The score of a pass, in thousandths."""
CHECKED_ROUNDS = 2
"""Rounds of a runner that repeats itself, the second to check that it does."""
_MIN_BETTER = 2
"""Cases that a provisional change makes better: one alone may have been learned by heart."""


class _Tally:
    """What rows come to: those of the skill itself, and the gains of all, a number a round.

    `unit` is the gain of a whole pass: 1000 if any case has scores.
    """

    def __init__(self, rows: Sequence[CaseRow], rules: GateRules, repeats_itself: bool) -> None:
        self.rules, self.repeats_itself = rules, repeats_itself
        self.rounds = len(rows[0].before) if rows else 0
        for row in rows:
            _check_row(row, self.rounds)
        self.unit = MAX_SCORE if any(row.scores for row in rows) else 1
        self.gains = [(row, _list_gains(row, self.unit)) for row in rows]
        self.own = [gains for row, gains in self.gains if not row.is_guard]
        self.rows = [row for row in rows if not row.is_guard]
        self.pairs = len(self.own) * self.rounds
        self.wins = sum([gain > 0 for gains in self.own for gain in gains])
        self.losses = sum([gain < 0 for gains in self.own for gain in gains])
        self.balances = [sum(gains) for gains in self.own]
        self.better = sum([balance > 0 for balance in self.balances])
        self.e = e_value_of_scores(self.balances, max(self.rounds, 1) * self.unit)
        self.e_of_runs = self._find_highest()
        half = self.rounds * self.unit
        self.doubtful = sum([-2 * sum(gains) >= half for _, gains in self.gains])
        """How many cases lost half of their rounds, or more, on balance."""

    def _find_highest(self) -> Fraction:
        found, e = Fraction(1), Fraction(1)
        for number in range(self.rounds):
            gains = [case[number] for case in self.own]
            e *= e_of_runs(gains, self.unit, len(gains))
            if number + 1 >= self.rules.min_rounds:
                found = max(found, e)
        return found

    def find_worse(self) -> list[CaseRow]:
        """Return the cases that lost beyond chance, by name.

        If outcomes vary, a case is worse when E of its own rounds, with gains and losses exchanged,
        reaches the threshold times the number of cases. So at most one change in `threshold` that
        makes no case worse is rejected for any of them, however many there are.
        """
        bar = self.rules.threshold * len(self.gains)
        found = [
            row
            for row, gains in self.gains
            if min(gains, default=0) < 0
            and (self.repeats_itself or e_value_of_scores([-g for g in gains], self.unit) >= bar)
        ]
        return sorted(found, key=lambda row: row.name)


def _check_row(row: CaseRow, rounds: int) -> None:
    if len(row.before) != rounds or len(row.after) != rounds:
        problem = f"another number of rounds than the first, {rounds}"
    elif (row.before + row.after).strip(OUTCOMES):
        problem = "an outcome other than p, f and e"
    elif row.scores and not has_right_scores(row.before, row.after, row.scores):
        problem = f"scores other than {MAX_SCORE} for p, less for f and 0 for e"
    else:
        return
    raise InvalidInput(
        f"the case {printable_text(row.name, 80)} has {problem}",
        code="bad_rounds",
        hint="give whole rounds, a letter a run",
    )


def has_right_scores(before: str, after: str, scores: Sequence[int]) -> bool:
    """Tell whether scores, two a round, are those of their outcomes."""
    letters = [letter for pair in zip(before, after, strict=True) for letter in pair]
    return len(letters) == len(scores) and all(
        score == MAX_SCORE if letter == "p" else 0 <= score < (MAX_SCORE if letter == "f" else 1)
        for letter, score in zip(letters, scores, strict=True)
    )


def _list_gains(row: CaseRow, unit: int) -> list[int]:
    if row.scores:
        pairs = zip(row.scores[::2], row.scores[1::2], strict=True)
        return [after - before for before, after in pairs]
    letters = zip(row.before, row.after, strict=True)
    return [unit * ((after == "p") - (before == "p")) for before, after in letters]


def repeats(rows: Sequence[CaseRow]) -> bool:
    """Tell whether all rounds of each case are alike."""
    return all(
        len(set(row.before)) <= 1
        and len(set(row.after)) <= 1
        and len(set(row.scores[::2])) <= 1
        and len(set(row.scores[1::2])) <= 1
        for row in rows
    )


def find_round_limit(rows: Sequence[CaseRow], *, repeats_itself: bool) -> int:
    """Return how many rounds there may be: 1 of a runner that repeats itself, 2 to check that.

    One that says so, and does not, is taken for another runner: so many as the rules allow.
    """
    rounds = len(rows[0].before) if rows else 0
    if repeats_itself and rounds <= CHECKED_ROUNDS and repeats(rows):
        return max(rounds, 1)
    return DEFAULT_RULES.max_rounds


_MANY = 10**6


def decide(
    rows: Sequence[CaseRow],
    rules: GateRules = DEFAULT_RULES,
    *,
    repeats_itself: bool,
    read_cases: int | None = None,
) -> GateDecision:
    """Return what whole rounds of outcomes say of a change; the order of rows changes nothing.

    `repeats_itself`: the runner gives the same outcome each time, so one round is all there is, or
    two alike, and any loss is a case made worse. `read_cases`: in how many cases of the skill a run
    read the change, if that is counted. Raises `InvalidInput` (`bad_rounds`) for rows of unequal
    length or with other letters.
    """
    tally = _Tally(rows, rules, repeats_itself)
    worse = tally.find_worse() if read_cases != 0 else []
    more = _count_more_cases(tally)
    gate, reason = _judge(tally, worse, more)
    provisional = _describe_provisional(tally, worse) if gate != "reject" else ""
    if read_cases == 0:
        gate, provisional = "undecided", ""
        tasks = _count_noun(len(tally.own), "task")
        reason = f"read in 0 of {tasks}, so its text was not tried"
    elif gate == "undecided" and provisional:
        reason = f"{reason}; {provisional}"
    is_over = tally.rounds >= (CHECKED_ROUNDS if repeats_itself else rules.max_rounds) or (
        repeats_itself and tally.better < _MIN_BETTER
    )
    return GateDecision(
        gate=gate,
        reason=reason,
        cases=len(tally.own),
        rounds=tally.rounds,
        wins=tally.wins,
        losses=tally.losses,
        ties=tally.pairs - tally.wins - tally.losses,
        e_value=tally.e,
        worse=tuple(row.name for row in worse),
        more_cases=more if gate == "undecided" else 0,
        is_provisional=provisional != "",
        e_of_runs=tally.e_of_runs,
        read_cases=read_cases,
        is_final=gate != "undecided" or read_cases == 0 or is_over,
    )


def _describe_provisional(tally: _Tally, worse: Sequence[CaseRow]) -> str:
    bar = tally.rules.threshold
    if tally.better < _MIN_BETTER or tally.wins <= tally.losses or tally.doubtful:
        return ""
    if tally.repeats_itself:
        if tally.rounds < CHECKED_ROUNDS or worse:
            return ""
        return f"these very cases gain: {tally.better} got better, none worse, twice alike"
    if tally.e_of_runs < bar or sum(tally.balances) <= 0:
        return ""
    return f"these very cases gain: E of the runs = {show_e(tally.e_of_runs)} >= {bar}"


def _judge(tally: _Tally, worse: Sequence[CaseRow], more: int) -> tuple[GateWord, str]:
    """Return the gate's word and why, in numbers; a reason names no held-out case."""
    bar, summary = tally.rules.threshold, _summarize(tally)
    if worse:
        how = "" if tally.repeats_itself else " beyond chance"
        return "reject", f"{_describe_worse(worse)} got worse{how}; {summary}"
    if tally.losses > tally.wins:  # else E of the losses is at most 1
        balances = [-balance for balance in tally.balances]
        e_lost = e_value_of_scores(balances, tally.rounds * tally.unit)
        if e_lost >= bar:
            return "reject", f"worse on the whole: {summary}: E of the losses = {show_e(e_lost)}"
    advice = f"{more} more cases such as these would do" if more else "the gain is too small"
    if missing := _find_missing(tally):
        return "undecided", f"{missing}; {summary}" + (f"; {advice}" if more else "")
    if tally.wins <= tally.losses:
        if sum([row.before.count("p") for row in tally.rows]) == tally.pairs:
            summary = f"no gain can be shown: every held-out case passed before; {summary}"
        else:
            summary = f"no gain: {summary}"
        return "reject", summary
    if tally.e < bar:
        return "undecided", f"{summary}: E = {show_e(tally.e)} < {bar}; {advice}"
    summary = f"{summary}: E = {show_e(tally.e)} >= {bar}"
    if tally.doubtful:
        lost = f"{_count_noun(tally.doubtful, 'case')} lost half of the rounds or more"
        return "undecided", f"{summary}, but {lost}"
    return "admit", summary


def _find_missing(tally: _Tally) -> str:
    rules, cases = tally.rules, len(tally.own)
    if cases < rules.min_cases:
        return f"a rule admits from {rules.min_cases} held-out cases, and there are {cases}"
    if not tally.rounds:
        return "no round was run"
    errors = sum([(row.before + row.after).count("e") for row in tally.rows])
    if errors == 2 * tally.pairs:
        return "every run ended in an error"
    if not tally.repeats_itself and tally.rounds < rules.min_rounds:
        return f"{tally.rounds} of at least {rules.min_rounds} rounds were run"
    return ""


def _count_more_cases(tally: _Tally) -> int:
    """Return how many more cases such as these it would take; 0 if none, or not known.

    After one round without losses, these are the cases that bring the missing wins at the rate
    seen. Else E is taken to grow by the same factor with each case, which is the least it does.
    """
    rules, cases = tally.rules, len(tally.own)
    missing = max(rules.min_cases - cases, 0)
    if not tally.pairs or tally.e >= rules.threshold:
        return missing
    if tally.rounds == 1 and not tally.losses:
        needed = _cases_by_wins(cases, tally.wins, rules.threshold)
    else:
        needed = _cases_by_growth(cases, tally.e, rules.threshold)
    return max(needed - cases, missing) if needed else 0


def _cases_by_wins(cases: int, wins: int, threshold: int) -> int:
    """Return the least n of which so many wins in `cases` make enough; 0 if it is too large."""
    if not wins:
        return 0
    needed = next(count for count in range(wins, MAX_CASES) if e_value(count, 0) >= threshold)
    total = -(-needed * cases // wins)
    return total if total <= MAX_CASES else 0


def _cases_by_growth(cases: int, e: Fraction, threshold: int) -> int:
    """Return the least n with e^(n / cases) >= threshold, e in thousandths; 0 if too large."""
    milli, bar = int(1000 * e), threshold**cases
    if milli <= 1000:
        return 0
    totals = range(cases + 1, MAX_CASES + 1)
    place = bisect_left(totals, True, key=lambda total: milli**total >= bar * 1000**total)
    return totals[place] if place < len(totals) else 0


def _summarize(tally: _Tally) -> str:
    worse = sum([balance < 0 for balance in tally.balances])
    cases = _count_noun(len(tally.own), "held-out case")
    text = f"{tally.better} of {cases} got better, {worse or 'none'} worse"
    if tally.rounds > 1:
        text += f", in {tally.rounds} rounds with {tally.wins} wins and {tally.losses} losses"
    return text


def _describe_worse(worse: Sequence[CaseRow]) -> str:
    guards = sum(row.is_guard for row in worse)
    own = len(worse) - guards
    parts = [_count_noun(own, "held-out case")] if own else []
    parts += [f"{_count_noun(guards, 'case')} of other skills"] if guards else []
    return " and ".join(parts)


def _count_noun(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def show_e(value: Fraction) -> str:
    """Return an E-value as text, rounded down: it must not seem to reach what it does not."""
    if value >= _MANY:
        return f"{_MANY} or more"
    tenths = int(10 * value)
    return str(tenths // 10) if value >= 100 else f"{tenths // 10}.{tenths % 10}"
