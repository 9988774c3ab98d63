"""Decide from the outcomes of held-out cases, before and after a change, whether it helps.

In this order:

1. A case is worse if it lost beyond chance (`_find_worse`): reject.
2. The cases are worse as a whole, E of the losses reaching the threshold: reject.
3. Too few cases, no round, or too few rounds: undecided.
4. No more wins than losses: reject, there is no gain.
5. E below the threshold: undecided.
6. A case lost half of its rounds on balance: undecided, since that may be more than chance.
7. Else admit.

A caller goes on with another round while the answer is undecided and rounds are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..errors import InvalidInput, printable_text
from .case_types import MAX_CASES
from .gate_types import DEFAULT_RULES, CaseRow, GateDecision, GateRules, GateWord
from .paired_test import e_value, e_value_of_scores

OUTCOMES = "pfe"
"""Letters of an outcome: passed, failed, error."""
_MANY = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class _CaseScore:
    """Rounds that one case won and lost."""

    name: str
    is_guard: bool
    wins: int
    losses: int

    @property
    def balance(self) -> int:
        return self.wins - self.losses


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """What the rows come to; `own` are the scores of cases that are no guards."""

    scores: tuple[_CaseScore, ...]
    own: tuple[_CaseScore, ...]
    rounds: int
    passes_before: int
    errors: int

    @property
    def wins(self) -> int:
        return sum(score.wins for score in self.own)

    @property
    def losses(self) -> int:
        return sum(score.losses for score in self.own)

    @property
    def pairs(self) -> int:
        return len(self.own) * self.rounds


def decide(
    rows: Sequence[CaseRow], rules: GateRules = DEFAULT_RULES, *, repeats_itself: bool
) -> GateDecision:
    """Return what whole rounds of outcomes say of a change; the order of rows changes nothing.

    `repeats_itself`: the runner gives the same outcome each time, so one round is all there is,
    and any loss is a case made worse. Raises `InvalidInput` (`bad_rounds`) for rows of unequal
    length or with other letters.
    """
    counts = _count(rows)
    e = e_value_of_scores([score.balance for score in counts.own], max(counts.rounds, 1))
    worse = _find_worse(counts, rules, repeats_itself)
    gate, reason = _judge(counts, rules, repeats_itself, e, worse)
    return GateDecision(
        gate=gate,
        reason=reason,
        cases=len(counts.own),
        rounds=counts.rounds,
        wins=counts.wins,
        losses=counts.losses,
        ties=counts.pairs - counts.wins - counts.losses,
        e_value=e,
        worse=tuple(score.name for score in worse),
        more_cases=_count_more_cases(counts, rules, e) if gate == "undecided" else 0,
    )


def _count(rows: Sequence[CaseRow]) -> _Counts:
    rounds = len(rows[0].before) if rows else 0
    for row in rows:
        _check_row(row, rounds)
    scores = tuple(map(_score, rows))
    letters = [row.before + row.after for row in rows if not row.is_guard]
    return _Counts(
        scores=scores,
        own=tuple(score for score in scores if not score.is_guard),
        rounds=rounds,
        passes_before=sum(row.before.count("p") for row in rows if not row.is_guard),
        errors=sum(text.count("e") for text in letters),
    )


def _check_row(row: CaseRow, rounds: int) -> None:
    name = printable_text(row.name, 80)
    if len(row.before) != rounds or len(row.after) != rounds:
        message = f"the case {name} has another number of rounds than the first, {rounds}"
    elif not set(OUTCOMES).issuperset(row.before + row.after):
        message = f"the case {name} has an outcome other than p, f and e"
    else:
        return
    raise InvalidInput(message, code="bad_rounds", hint="give whole rounds, a letter a run")


def _score(row: CaseRow) -> _CaseScore:
    pairs = [
        (before == "p", after == "p") for before, after in zip(row.before, row.after, strict=True)
    ]
    return _CaseScore(
        name=row.name,
        is_guard=row.is_guard,
        wins=pairs.count((False, True)),
        losses=pairs.count((True, False)),
    )


def _find_worse(counts: _Counts, rules: GateRules, repeats_itself: bool) -> list[_CaseScore]:
    """Return the cases that lost beyond chance, by name.

    If outcomes vary, a case is worse when its own E, with wins and losses exchanged, reaches the
    threshold times the number of cases. So at most one change in `threshold` that makes no case
    worse is rejected for any of them, however many there are.
    """
    bar = rules.threshold * len(counts.scores)
    return sorted(
        (
            score
            for score in counts.scores
            if score.losses and (repeats_itself or e_value(score.losses, score.wins) >= bar)
        ),
        key=lambda score: score.name,
    )


def _judge(
    counts: _Counts,
    rules: GateRules,
    repeats_itself: bool,
    e: Fraction,
    worse: Sequence[_CaseScore],
) -> tuple[GateWord, str]:
    """Return the gate's word and why, in numbers; a reason names no held-out case."""
    summary = _summarize(counts)
    if worse:
        how = "" if repeats_itself else " beyond chance"
        return "reject", f"{_describe_worse(worse)} got worse{how}; {summary}"
    bar = rules.threshold
    e_lost = e_value_of_scores([-score.balance for score in counts.own], max(counts.rounds, 1))
    if e_lost >= bar:
        return "reject", f"worse on the whole: {summary}: E of the losses = {show_e(e_lost)}"
    if missing := _find_missing(counts, rules, repeats_itself):
        return "undecided", f"{missing}; {summary}"
    if counts.wins <= counts.losses:
        return "reject", _describe_no_gain(counts, summary)
    if e < bar:
        more = _count_more_cases(counts, rules, e)
        advice = f"{more} more cases such as these would do" if more else "the gain is too small"
        return "undecided", f"{summary}: E = {show_e(e)} < {bar}; {advice}"
    doubtful = sum(2 * -score.balance >= counts.rounds for score in counts.scores)
    if doubtful:
        lost = f"{_count_noun(doubtful, 'case')} lost half of the rounds or more"
        return "undecided", f"{summary}: E = {show_e(e)} >= {bar}, but {lost}"
    return "admit", f"{summary}: E = {show_e(e)} >= {bar}"


def _find_missing(counts: _Counts, rules: GateRules, repeats_itself: bool) -> str:
    """Return what is not there yet for any word but undecided, "" if all is."""
    cases = len(counts.own)
    if cases < rules.min_cases:
        return f"a rule admits from {rules.min_cases} held-out cases, and there are {cases}"
    if not counts.rounds:
        return "no round was run"
    if counts.errors == 2 * counts.pairs:
        return "every run ended in an error"
    if not repeats_itself and counts.rounds < rules.min_rounds:
        return f"{counts.rounds} of at least {rules.min_rounds} rounds were run"
    return ""


def _count_more_cases(counts: _Counts, rules: GateRules, e: Fraction) -> int:
    """Return how many more cases such as these it would take; 0 if none, or not known.

    After one round, these are the cases that bring the missing wins at the rate seen. After more,
    E is taken to grow by the same factor with each case, which is the least it does.
    """
    cases = len(counts.own)
    missing = max(rules.min_cases - cases, 0)
    if not cases or not counts.rounds or e >= rules.threshold:
        return missing
    if counts.rounds == 1 and not counts.losses:
        needed = _cases_by_wins(cases, counts.wins, rules.threshold)
    else:
        needed = _cases_by_growth(cases, e, rules.threshold)
    return max(needed - cases, missing) if needed else 0


def _cases_by_wins(cases: int, wins: int, threshold: int) -> int:
    if not wins:
        return 0
    needed = next(count for count in range(wins, MAX_CASES) if e_value(count, 0) >= threshold)
    total = -(-needed * cases // wins)
    return total if total <= MAX_CASES else 0


def _cases_by_growth(cases: int, e: Fraction, threshold: int) -> int:
    """Return the least n with e^(n / cases) >= threshold, e in thousandths; 0 if too large."""
    milli = int(1000 * e)
    bar = threshold**cases
    totals = range(cases + 1, MAX_CASES + 1) if milli > 1000 else ()
    return next((n for n in totals if milli**n >= bar * 1000**n), 0)


def _summarize(counts: _Counts) -> str:
    better = sum(score.balance > 0 for score in counts.own)
    worse = sum(score.balance < 0 for score in counts.own)
    cases = _count_noun(len(counts.own), "held-out case")
    text = f"{better} of {cases} got better, {worse or 'none'} worse"
    if counts.rounds > 1:
        text += f", in {counts.rounds} rounds with {counts.wins} wins and {counts.losses} losses"
    return text


def _describe_worse(worse: Sequence[_CaseScore]) -> str:
    own = sum(not score.is_guard for score in worse)
    parts = [
        _count_noun(count, noun)
        for count, noun in ((own, "held-out case"), (len(worse) - own, "case of another skill"))
        if count
    ]
    return " and ".join(parts)


def _describe_no_gain(counts: _Counts, summary: str) -> str:
    if counts.passes_before == counts.pairs:
        return f"no gain can be shown: every held-out case passed before; {summary}"
    return f"no gain: {summary}"


def _count_noun(count: int, noun: str) -> str:
    head, _, tail = noun.partition(" of ")
    plural = head if count == 1 else f"{head}s"
    return f"{count} {plural}{' of ' + tail if tail else ''}"


def show_e(value: Fraction) -> str:
    """Return an E-value as text, rounded down: it must not seem to reach what it does not."""
    if value >= _MANY:
        return f"more than {_MANY}"
    tenths = int(10 * value)
    return str(tenths // 10) if value >= 100 else f"{tenths // 10}.{tenths % 10}"
