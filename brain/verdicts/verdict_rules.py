"""Make the verdict of a gate, and the rules and numbers that a verdict must follow by itself.

The numbers are counts, so E-values are in thousandths, rounded down. `max_rounds` tells how the
rounds are read: 1 for a runner that repeats itself, 2 where that was checked, else as many as the
rules of the gate allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from .._version import __version__
from ..digest import NO_DIGEST, blob_id
from ..errors import printable_text
from ..gating.case_files import Case
from ..gating.decision import (
    CHECKED_ROUNDS,
    DEFAULT_RULES,
    MAX_SCORE,
    CaseRow,
    GateDecision,
    decide,
    find_round_limit,
    repeats,
)
from ..gating.output_check import score_outcomes
from ..objects.tree_node import MAX_SAFE_INTEGER
from .verdict import GATE_KINDS, NamedNumber, NamedText, Verdict, VerdictCase

MAX_ROUNDS_NAME, READ_NAME = "max_rounds", "read_cases"
ATTEMPT_NAME = "attempt"
"""The place of a verdict among all attempts at the brain, from 1; it stays as evidence goes on."""
_CASES_OF_ADMISSION = {
    "author": "a case of the author",
    "unseen": "a payload that the author never saw",
    "stub": "a stub that the tests killed",
}


def find_contradictions(verdict: Verdict, has_parameters: bool = True) -> Iterator[str]:
    """Yield, as sentences, why the decision does not follow from the rest of the verdict.

    `has_parameters` tells whether the program takes any; one without needs no unseen payload.
    """
    failed = verdict.failed_cases
    # A person may admit although cases of the gate got worse, which also ends a provisional change.
    if verdict.decider == "person" or (verdict.continues and verdict.decision == "reinstate"):
        failed = [case for case in failed if case.kind not in GATE_KINDS]
    if verdict.decision in ("admit", "reinstate") and failed:
        yield f"it says {verdict.decision}, but its case {failed[0].name} failed"
    if verdict.decision == "admit" and verdict.files:
        yield from _find_missing_trials(verdict, has_parameters)
    if verdict.decision == "reject" and not (failed or verdict.findings or verdict.reason):
        yield "it says reject, but nothing failed and it gives no reason"
    if verdict.decision == "retire" and not verdict.reason:
        yield "it says retire, but gives no reason"
    yield from find_gate_contradictions(verdict)


def _find_missing_trials(verdict: Verdict, has_parameters: bool) -> Iterator[str]:
    if not verdict.sandbox:
        yield "it admits a program that was tried in no sandbox"
    for kind, words in _CASES_OF_ADMISSION.items():
        if not verdict.count_cases(kind) and (has_parameters or kind != "unseen"):
            yield f"it admits a program without {words}"


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
    if not verdict.continues:  # its rounds are as many as those of the verdict before
        yield from _find_earlier_decision(verdict)


def is_provisional(verdict: Verdict) -> bool:
    """Tell whether a rule let a change live that is only shown to help the cases it was tried on.

    So it does while the evidence goes on, until the gate admits or rejects it.
    """
    is_shown = verdict.provisional == "yes" or verdict.continues != NO_DIGEST
    words = verdict.decision, verdict.decider, verdict.gate
    return is_shown and words == ("admit", "rule", "undecided")


def find_wrong_continuation(verdict: Verdict, earlier: Verdict) -> Iterator[str]:
    """Yield, as sentences, why a verdict does not go on with the evidence of an `earlier` one."""
    if not is_provisional(earlier):
        yield "it goes on with a verdict that lets no provisional change live"
    if _what_is_tried(verdict) != _what_is_tried(earlier) or earlier.changes:
        yield "it goes on with a verdict about another change"
    elif verdict.decision != "reinstate" and verdict.files != earlier.files:
        yield "it goes on with a verdict about another program"
    old, cases = earlier.gate_cases, verdict.gate_cases
    if cases[: len(old)] != old:
        yield "it does not count the cases of the verdict that it goes on with as they are"
    known, new = {case.document for case in old}, cases[len(old) :]
    if not new or any(case.document in known or case.kind != "held_out" for case in new):
        yield "the cases that it counts in addition are not new ones of the skill"


def _what_is_tried(verdict: Verdict) -> tuple[object, ...]:
    numbers = dict(verdict.numbers)
    what = verdict.skill, verdict.base, verdict.text, verdict.runner
    return *what, numbers.get(MAX_ROUNDS_NAME), numbers.get(ATTEMPT_NAME)


def _find_overruled(verdict: Verdict) -> Iterator[str]:
    """Yield where a rule did other than the gate says; only a person may."""
    if verdict.decider != "rule":
        return
    if verdict.continues:
        if (verdict.decision == "admit") is (verdict.gate == "reject"):
            yield f"a rule says {verdict.decision} of a provisional change: it says {verdict.gate}"
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


GATE_RULE = "gate"
"""The rule that decides, as verdicts name it."""


@dataclass(slots=True, kw_only=True)
class GateCase:
    """A case as it is tried: its outcomes so far, a letter a round, and what came out.

    `outputs` has two contents a round, before and after, and for an error its message. `was_read`
    tells whether a run read the change, None if that is not known.
    """

    case: Case
    is_guard: bool = False
    before: str = ""
    after: str = ""
    outputs: list[bytes] = field(default_factory=list, repr=False)
    was_read: bool | None = None

    @property
    def row(self) -> CaseRow:
        """The outcomes with their scores, as decisions are made of them."""
        letters = "".join(a + b for a, b in zip(self.before, self.after, strict=True))
        return CaseRow(
            name=self.case.path,
            before=self.before,
            after=self.after,
            is_guard=self.is_guard,
            scores=score_outcomes(self.case, letters, self.outputs),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRecord:
    """What a gate tried and what it says.

    `stopped` says why no further round was tried, "" if the gate decided. `is_provisional_asked`:
    whether the change helps these very cases was decided too. `attempt` is its number among all at
    this brain, 0 if nobody counts.
    """

    runner: str
    repeats_itself: bool
    decision: GateDecision
    cases: Sequence[GateCase]
    stopped: str = ""
    is_provisional_asked: bool = False
    attempt: int = 0

    @property
    def max_rounds(self) -> int:
        """How many rounds the runner may make."""
        if self.is_provisional_asked:
            rows = [one.row for one in self.cases]
            return find_round_limit(rows, repeats_itself=self.repeats_itself)
        return 1 if self.repeats_itself else DEFAULT_RULES.max_rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """A verdict, and the contents of the outputs that it names."""

    verdict: Verdict
    contents: tuple[bytes, ...] = field(repr=False)


def build_gate_verdict(record: GateRecord, about: Verdict, reason: str = "") -> GateVerdict:
    """Return the verdict of a change that a gate tried.

    `about` names the skill, and the blob ids of SKILL.md before and after the change. If it is the
    verdict of the trial of a program, its cases come first, and its files and limits stay. The
    reason is the gate's unless given.
    """
    asked, decision = record.is_provisional_asked, record.decision
    numbers = state_numbers(decision, record.max_rounds, is_provisional_asked=asked)
    place = (NamedNumber(ATTEMPT_NAME, record.attempt),) if record.attempt else ()
    word = "yes" if decision.is_provisional else "no"
    verdict = about._replace(
        decider="rule",
        decided_by=GATE_RULE,
        reason=reason or decision.reason,
        versions=about.versions or (NamedText("brain", __version__),),
        cases=(*about.cases, *(_describe_case(one, decision) for one in record.cases)),
        numbers=(*about.numbers, *place, *numbers),
        gate=decision.gate,
        runner=record.runner,
        provisional=word if asked else "",
    )
    contents = dict.fromkeys(content for one in record.cases for content in one.outputs)
    return GateVerdict(verdict=verdict, contents=tuple(contents))


def go_on_with(earlier: Verdict, blob: bytes, cases: Sequence[GateCase]) -> GateVerdict | None:
    """Return the verdict of a provisional change over its cases and new ones, the last round alike.

    `blob` is the id of the `earlier` verdict. None if a runner that repeated itself does not now.
    """
    said = dict(earlier.numbers)
    if READ_NAME in said:
        said[READ_NAME] += sum(one.was_read is True for one in cases)
        numbers = tuple(NamedNumber(*one) for one in said.items())
        earlier = earlier._replace(numbers=numbers)
    rows = [*map(row_of_case, earlier.gate_cases), *(one.row for one in cases)]
    decision = decide_again(earlier, rows)
    if decision is None:
        return None
    said |= dict(state_again(earlier, decision))
    verdict = earlier._replace(
        reason=decision.reason,
        cases=(*earlier.cases, *(_describe_case(one, decision) for one in cases)),
        numbers=tuple(sorted(NamedNumber(*one) for one in said.items())),
        gate=decision.gate,
        provisional=say_provisional(earlier, decision),
        continues=blob,
    )
    contents = dict.fromkeys(content for one in cases for content in one.outputs)
    return GateVerdict(verdict=verdict, contents=tuple(contents))


def _describe_case(tried: GateCase, decision: GateDecision) -> VerdictCase:
    case, row = tried.case, tried.row
    is_worse = row.name in decision.worse
    return VerdictCase(
        kind="guard" if row.is_guard else "held_out",
        name=case.path,
        outcome="fail" if is_worse else "pass",
        detail=_describe_loss(row) if is_worse else "",
        document=case.blob,
        before=row.before,
        after=row.after,
        outputs=tuple(map(blob_id, tried.outputs)),
        scores=row.scores,
    )


def _describe_loss(row: CaseRow) -> str:
    if row.scores:
        rounds = len(row.before)
        before, after = (sum(row.scores[at::2]) / (rounds * MAX_SCORE) for at in (0, 1))
        return f"scored {before:.3f} before, {after:.3f} after"
    before, after = row.before.count("p"), row.after.count("p")
    return f"passed {before} of {len(row.before)} before, {after} of {len(row.after)} after"
