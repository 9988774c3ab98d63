"""Rules between the outcomes of a verdict's cases and what it says of the gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..errors import printable_text
from ..gating.decision import DEFAULT_RULES, CaseRow, GateDecision, decide
from .gate_numbers import MAX_ROUNDS_NAME, state_numbers
from .verdict_types import Verdict, VerdictCase


def derive_gate_decision(verdict: Verdict) -> GateDecision | None:
    """Return what the gate decides by the outcomes of a verdict's cases; None as `decide_rows`."""
    return decide_rows([row_of_case(case) for case in verdict.gate_cases], find_max_rounds(verdict))


def decide_rows(rows: Sequence[CaseRow], max_rounds: int) -> GateDecision | None:
    """Return what rows of outcomes say, by the rules that all verdicts keep.

    None if they are not whole rounds, at most `max_rounds`.
    """
    rounds = {len(row.before) for row in rows}
    if not max_rounds or len(rounds) > 1 or max(rounds, default=0) > max_rounds:
        return None
    return decide(rows, DEFAULT_RULES, repeats_itself=max_rounds == 1)


def find_max_rounds(verdict: Verdict) -> int:
    """Return the rounds that the runner of a verdict may make, 0 if it says none that are right."""
    said = dict(verdict.numbers).get(MAX_ROUNDS_NAME, 0)
    return said if said in (1, DEFAULT_RULES.max_rounds) else 0


def row_of_case(case: VerdictCase) -> CaseRow:
    """Return a case of the gate as the row that decisions are made of."""
    return CaseRow(
        name=case.name, before=case.before, after=case.after, is_guard=case.kind == "guard"
    )


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
    if verdict.decision == "admit" and verdict.gate != "admit":
        yield f"a rule admits what the gate does not: it says {verdict.gate}"
    if verdict.decision == "reject" and verdict.gate == "admit":
        yield "a rule rejects what the gate admits"


def _find_wrong_numbers(verdict: Verdict, decision: GateDecision) -> Iterator[str]:
    said = dict(verdict.numbers)
    for name, value in state_numbers(decision, find_max_rounds(verdict)):
        if said.get(name) != value:
            found = said.get(name, "missing")
            yield f"its number {name} is {found}, but by its cases it is {value}"


def _find_earlier_decision(verdict: Verdict) -> Iterator[str]:
    """Yield where the gate went on although it knew: it stops at the first round that decides."""
    rows = [row_of_case(case) for case in verdict.gate_cases]
    rounds = len(rows[0].before) if rows else 0
    for count in range(1, rounds):
        first = [replace(row, before=row.before[:count], after=row.after[:count]) for row in rows]
        decision = decide_rows(first, find_max_rounds(verdict))
        if decision is not None and decision.gate != "undecided":
            yield f"its gate went on to round {rounds}, but said {decision.gate} after {count}"
            return
