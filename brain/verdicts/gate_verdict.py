"""Make the verdict of a change that a gate tried, with the contents that it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .._version import __version__
from ..digest import blob_id
from ..gating.case_files import Case
from ..gating.decision import DEFAULT_RULES, MAX_SCORE, CaseRow, GateDecision, find_round_limit
from ..gating.output_check import score_outcomes
from .verdict_rules import (
    ATTEMPT_NAME,
    READ_NAME,
    decide_again,
    row_of_case,
    say_provisional,
    state_again,
    state_numbers,
)
from .verdict_types import NamedNumber, NamedText, Verdict, VerdictCase

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
