"""Run cases old against new, round by round, until the gate decides or the limits are reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...errors import InvalidInput
from ...gating.case_files import MAX_CASES, Case
from ...gating.decision import DEFAULT_RULES, CaseRow, GateDecision, decide
from ...repo.learning.judge_outputs import MAX_SILENT_SECONDS, UNJUDGED
from ...verdicts.gate_verdict import GateCase
from .case_runner import CaseOutput, CaseRunner, SkillsUnderTest

Judge = Callable[[Case, Sequence[bytes]], Sequence[str]]
"""Returns for each output of a case whether it passed: p or f, or ? if no time was left for it."""
MAX_OUTPUT_BYTES = 64 << 10
"""Size of one output; a longer one is an error of its case."""
MAX_ERROR_CHARS = 1000
SILENT_CHECKS = f"checks that gave no answer took {MAX_SILENT_SECONDS:g} s"
_ERROR = "e"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateLimits:
    """Limits of one attempt: of its cases, its runs of them, and its time.

    Of more cases than these, the same ones are tried each time. Raises `InvalidInput`
    (`bad_limits`) for more than a verdict holds.
    """

    cases: int = 64
    guards: int = 32
    runs: int = 2400
    seconds: float = 1800.0

    def __post_init__(self) -> None:
        if max(self.cases, self.guards) > MAX_CASES:
            raise InvalidInput(
                f"a verdict holds no {max(self.cases, self.guards)} cases of one kind",
                code="bad_limits",
                hint=f"give at most {MAX_CASES} cases and {MAX_CASES} guards",
            )


DEFAULT_LIMITS = GateLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedCases:
    """What was tried in whole rounds. `stopped` says why no further ones were, "" if decided."""

    cases: tuple[GateCase, ...]
    decision: GateDecision
    stopped: str = ""


@dataclass(slots=True)
class _CaseCourse:
    """The outcomes of one case so far."""

    case: Case
    is_guard: bool
    before: str = ""
    after: str = ""
    outputs: list[bytes] = field(default_factory=list)

    @property
    def row(self) -> CaseRow:
        return CaseRow(
            name=self.case.path, before=self.before, after=self.after, is_guard=self.is_guard
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRounds:
    """Tries cases with a runner, without a change (`old`) and with it (`new`).

    `time_left` tells the seconds of the attempt that are left. `judge` compares outputs with what
    their case expects.
    """

    runner: CaseRunner
    judge: Judge
    old: SkillsUnderTest
    new: SkillsUnderTest
    limits: GateLimits
    time_left: Callable[[], float]

    def run(self, cases: Sequence[Case], guards: Sequence[Case]) -> TriedCases | str:
        """Try the cases; return why no round was finished if none was.

        Whatever `runner` raises because nothing can be run is raised.
        """
        courses = [
            *(_CaseCourse(case, False) for case in cases),
            *(_CaseCourse(case, True) for case in guards),
        ]
        max_rounds = 1 if self.runner.repeats_itself else DEFAULT_RULES.max_rounds
        decision: GateDecision | None = None
        stopped = ""
        for number in range(max_rounds):
            if 2 * len(courses) * (number + 1) > self.limits.runs:
                stopped = f"the limit of {self.limits.runs} runs was reached"
                break
            stopped = self._run_round(courses, number)
            if stopped:
                break
            rows = [course.row for course in courses]
            decision = decide(rows, repeats_itself=self.runner.repeats_itself)
            if decision.gate != "undecided":
                break
            stopped = self._find_only_errors(courses)
            if stopped:
                break
        if decision is None:
            return f"no round of the cases was finished: {stopped}"
        tried = tuple(
            GateCase(case=one.case, row=one.row, outputs=tuple(one.outputs)) for one in courses
        )
        is_open = decision.gate == "undecided"
        return TriedCases(cases=tried, decision=decision, stopped=stopped if is_open else "")

    def _run_round(self, courses: Sequence[_CaseCourse], number: int) -> str:
        """Run each case twice; return why the round could not be finished, "" if it was.

        A round that is not finished leaves no outcome.
        """
        late = f"it took longer than {self.limits.seconds:g} s"
        pairs = []
        for course in courses:
            outputs = []
            for skills in (self.old, self.new):
                if self.time_left() < 0:
                    return late
                outputs.append(_bound(self.runner.run(skills, course.case, number)))
            letters = self._judge(course.case, outputs)
            if UNJUDGED in letters:
                return late if self.time_left() <= 0 else SILENT_CHECKS
            pairs.append((outputs, letters))
        for course, (outputs, (before, after)) in zip(courses, pairs, strict=True):
            course.before += before
            course.after += after
            course.outputs += [_content_of(one) for one in outputs]
        return ""

    def _judge(self, case: Case, outputs: Sequence[CaseOutput]) -> list[str]:
        letters = iter(self.judge(case, [one.output for one in outputs if not one.error]))
        return [_ERROR if one.error else next(letters) for one in outputs]

    def _find_only_errors(self, courses: Sequence[_CaseCourse]) -> str:
        """Return why a runner that gives nothing but errors is asked no more, "" if it is."""
        letters = "".join(course.before + course.after for course in courses)
        if self.runner.repeats_itself or letters.strip(_ERROR):
            return ""
        return f"{len(letters)} of {len(letters)} runs ended in an error"


def _bound(output: CaseOutput) -> CaseOutput:
    """Return an output that is not too long to be stored, else an error."""
    if len(output.output) > MAX_OUTPUT_BYTES:
        return CaseOutput(error=f"the output has {len(output.output)} bytes")
    return CaseOutput(output=output.output, error=output.error[:MAX_ERROR_CHARS])


def _content_of(output: CaseOutput) -> bytes:
    """Return what a verdict names: the output, or the message of an error."""
    if output.error:
        return output.error.encode("utf-8", "backslashreplace")
    return output.output
