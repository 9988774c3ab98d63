"""Rules between the outcomes of a verdict's cases and what it says of the gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..errors import printable_text
from ..gating.decision import (
    CHECKED_ROUNDS,
    DEFAULT_RULES,
    CaseRow,
    GateDecision,
    decide,
    repeats,
)
from .gate_numbers import MAX_ROUNDS_NAME, READ_NAME, state_numbers
from .verdict_types import NamedNumber, Verdict, VerdictCase


def derive_gate_decision(verdict: Verdict) -> GateDecision | None:
    """Return what the gate decides by the outcomes of a verdict's cases; None as `decide_rows`."""
    return decide_again(verdict, [row_of_case(case) for case in verdict.gate_cases])


def decide_again(verdict: Verdict, rows: Sequence[CaseRow]) -> GateDecision | None:
    """Return what rows say that are read as those of a verdict; None as `decide_rows`."""
    read_cases = dict(verdict.numbers).get(READ_NAME) if verdict.provisional else None
    return decide_rows(rows, find_max_rounds(verdict), read_cases)


def decide_rows(
    rows: Sequence[CaseRow], max_rounds: int, read_cases: int | None = None
) -> GateDecision | None:
    """Return what rows of outcomes say, by the rules that all verdicts keep.

    None if they are not whole rounds, at most `max_rounds`, or do not repeat themselves in two.
    """
    rounds = {len(row.before) for row in rows}
    if not max_rounds or len(rounds) > 1 or max(rounds, default=0) > max_rounds:
        return None
    if max_rounds == CHECKED_ROUNDS and not (rounds == {CHECKED_ROUNDS} and repeats(rows)):
        return None
    repeats_itself = max_rounds <= CHECKED_ROUNDS
    return decide(rows, DEFAULT_RULES, repeats_itself=repeats_itself, read_cases=read_cases)


def find_max_rounds(verdict: Verdict) -> int:
    """Return the rounds that the runner of a verdict may make, 0 if it says none that are right."""
    said = dict(verdict.numbers).get(MAX_ROUNDS_NAME, 0)
    known = (1, DEFAULT_RULES.max_rounds, CHECKED_ROUNDS)[: 3 if verdict.provisional else 2]
    return said if said in known else 0


def row_of_case(case: VerdictCase) -> CaseRow:
    """Return a case of the gate as the row that decisions are made of."""
    return CaseRow(
        name=case.name,
        before=case.before,
        after=case.after,
        is_guard=case.kind == "guard",
        scores=case.scores,
    )


def state_again(verdict: Verdict, decision: GateDecision) -> tuple[NamedNumber, ...]:
    """Return the numbers that a verdict has to say if this is its decision."""
    return state_numbers(
        decision, find_max_rounds(verdict), is_provisional_asked=verdict.provisional != ""
    )


def say_provisional(verdict: Verdict, decision: GateDecision | None) -> str:
    """Return the word about these very cases that follows, "" if the gate did not ask."""
    if not verdict.provisional or decision is None:
        return ""
    return "yes" if decision.is_provisional else "no"


def find_gate_contradictions(verdict: Verdict) -> Iterator[str]:
    """Yield, as sentences, what a verdict says of the gate that does not follow from its cases."""
    if not verdict.gate:
        return
    yield from _find_overruled(verdict)
    decision = derive_gate_decision(verdict)
    if decision is None:
        yield "its cases were not tried in whole rounds, as many as its number max_rounds allows"
        return
    if decision.gate != verdict.gate:
        yield f"it says that the gate says {verdict.gate}, but by its cases it is {decision.gate}"
    word = say_provisional(verdict, decision)
    if word != verdict.provisional:
        yield f"it says {verdict.provisional} to provisional, but by its cases it is {word}"
    yield from _find_wrong_numbers(verdict, decision)
    for case in verdict.gate_cases:
        outcome = "fail" if case.name in decision.worse else "pass"
        if case.outcome != outcome:
            name = printable_text(case.name)
            yield f"it says {case.outcome} of its case {name}, but by its rounds it is {outcome}"
    yield from _find_earlier_decision(verdict)


def _find_overruled(verdict: Verdict) -> Iterator[str]:
    """Yield where a rule did other than the gate says; only a person may."""
    if verdict.decider != "rule":
        return
    is_shown = verdict.gate == "admit" or verdict.provisional == "yes"
    if verdict.decision == "admit" and not is_shown:
        yield f"a rule admits what the gate does not: it says {verdict.gate}"
    if verdict.decision == "reject" and verdict.gate == "admit":
        yield "a rule rejects what the gate admits"


def _find_wrong_numbers(verdict: Verdict, decision: GateDecision) -> Iterator[str]:
    said = dict(verdict.numbers)
    for name, value in state_again(verdict, decision):
        if said.get(name) != value:
            found = said.get(name, "missing")
            yield f"its number {name} is {found}, but by its cases it is {value}"


def _find_earlier_decision(verdict: Verdict) -> Iterator[str]:
    """Yield where the gate went on although it knew: it stops at the first round that decides."""
    rows = [row_of_case(case) for case in verdict.gate_cases]
    rounds = len(rows[0].before) if rows else 0
    limit = find_max_rounds(verdict)
    for count in range(1, rounds):
        first = [_cut(row, count) for row in rows]
        decision = decide_rows(first, 1 if limit == CHECKED_ROUNDS else limit)
        if decision is None:
            return
        if decision.gate != "undecided":
            yield f"its gate went on to round {rounds}, but said {decision.gate} after {count}"
            return
        if verdict.provisional and (decision.is_final or dict(verdict.numbers).get(READ_NAME) == 0):
            yield f"its gate went on to round {rounds}, but had all it needs after {count}"
            return


def _cut(row: CaseRow, rounds: int) -> CaseRow:
    return replace(
        row,
        before=row.before[:rounds],
        after=row.after[:rounds],
        scores=row.scores[: 2 * rounds],
    )
