"""How cases are tried: which runner runs which, round by round, and whether an output passes.

Guards run too: held-out cases of other skills, which a change must not make worse. They are those
of the skills whose programs reach a changed program by calls, and of the skills that search ranks
next to one whose text is another one. Which skill an agent would choose for a task is not asked:
what is tried has the changed skill in front of it.

Each check of an output in Python has a job of its own. A check that one output hangs, crashes or
takes over, such as by running it as code, says nothing of another output.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Event
from typing import Literal, Protocol

from ...errors import InvalidInput
from ...gating.case_files import MAX_CASES, Case
from ...gating.decision import (
    CHECKED_ROUNDS,
    GateDecision,
    decide,
    find_round_limit,
)
from ...gating.output_check import find_fault, read_output
from ...objects.tree_node import LINK
from ...programs import PROGRAM_FILE
from ...programs.program import slug_of_tool
from ...programs.python_code import MAX_CODE_BYTES, find_called_names
from ...results import GuardCounts, UnrunGuards
from ...running.broker import MAX_CALL_DEPTH
from ...running.run import check_outputs
from ...running.trial import run_over_fixtures
from ...sandbox.job import DEFAULT_LIMITS as SANDBOX_LIMITS
from ...sandbox.job import Sandbox
from ...skills.skill_metadata import read_skill_metadata
from ...skills.slug import fold_to_slug
from ...verdicts.verdict_rules import GateCase, GateRecord
from .. import derive
from ..find_skill import FoundSkill, Skills
from ..select import BM25, select_from_state
from ..session import BrainState, Session
from .cases import read_held_out
from .change import PlannedChange, SkillsAt, body_of
from .list_programs import find_code_paths, find_skill_of_code

SANDBOX_RUNNER = "sandbox"
AND = " and "
"""Between the names of runners, in the name of several."""
CASE_SECONDS = 10.0
"""How long one case may run."""
CaseKind = Literal["program", "text"]
"""What answers a case: the program of its skill, or a model that reads the skills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutput:
    """What came out: JSON or text. `error` says why there is no output, "" if there is one.

    `was_read` tells whether the text of the skill was opened, beyond what stood in front; None if
    that cannot be known.
    """

    output: bytes = b""
    error: str = ""
    was_read: bool | None = None


class CaseRunner(Protocol):
    """Runs cases. What a case does wrong is in the output; raises only if nothing can be run."""

    @property
    def name(self) -> str:
        """The name that goes into verdicts, such as sandbox or anthropic:claude-haiku-4-5."""

    @property
    def repeats_itself(self) -> bool:
        """Whether the same skills and case give the same output each time."""

    @property
    def kinds(self) -> Collection[CaseKind]:
        """The cases of other skills that it can run, by what answers them.

        Those of the changed skill run whatever this says.
        """

    def run(self, skills: SkillsAt, case: Case, number: int) -> CaseOutput:
        """Run a case in round `number`, from 0."""


def kind_of_case(skills: SkillsAt, case: Case) -> CaseKind:
    """Return what answers a case: a program, if its skill has one and its input is an object."""
    is_text = isinstance(case.input, str) or skills.program(case.skill) is None
    return "text" if is_text else "program"


class Runners:
    """Runs each case with the first of `runners` that can run it, else with the first of all.

    The first runs all cases of the changed skill. What repeats itself runs a case once a side, and
    once more to check that: `known` has those outputs, by side, case and round.
    """

    def __init__(
        self, runners: Iterable[CaseRunner], known: dict[tuple[int, str, int], CaseOutput]
    ) -> None:
        self._runners = list(runners)
        self._known = known
        self.name = AND.join(runner.name for runner in self._runners)
        self.repeats_itself = all(runner.repeats_itself for runner in self._runners)
        self.kinds = {kind for runner in self._runners for kind in runner.kinds}

    def run(self, skills: SkillsAt, case: Case, number: int) -> CaseOutput:
        """Run a case with its runner."""
        runner = self._runners[0]
        if case.skill != skills.slug:
            kind = kind_of_case(skills, case)
            runner = next((one for one in self._runners if kind in one.kinds), runner)
        if not runner.repeats_itself:
            return runner.run(skills, case, number)
        key = id(skills), case.path, min(number, 1)
        if key not in self._known:
            self._known[key] = runner.run(skills, case, number)
        return self._known[key]


class SandboxRunner:
    """The `CaseRunner` of programs, and of what they call, each over its own fixtures."""

    name = SANDBOX_RUNNER
    repeats_itself = True
    kinds: tuple[CaseKind, ...] = ("program",)

    def __init__(
        self, sandbox: Sandbox, case_seconds: float = CASE_SECONDS, cancel: Event | None = None
    ) -> None:
        self._sandbox = sandbox
        self._cancel = cancel
        self._limits = replace(SANDBOX_LIMITS, wall_seconds=case_seconds)

    def run(self, skills: SkillsAt, case: Case, number: int) -> CaseOutput:
        """Run a case. Raises `SandboxError`."""
        program = skills.program(case.skill)
        if program is None:
            return CaseOutput(error="the skill has no program")
        if isinstance(case.input, str):
            return CaseOutput(error="its input is a text, not an object of arguments")
        try:
            outcome = run_over_fixtures(
                self._sandbox,
                program,
                case.input,
                limits=lambda: self._limits,
                find_called=lambda name: skills.program(slug_of_tool(name)),
                cancel=self._cancel,
            )
        except InvalidInput as error:  # the payload does not fit the schema, or a file is damaged
            return CaseOutput(error=error.message)
        if not outcome.ok:
            return CaseOutput(error=outcome.error)
        output = outcome.output
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        return CaseOutput(output=text.encode("utf-8", "backslashreplace"))


PASSED, FAILED, UNJUDGED = "p", "f", "?"
CHECK_SECONDS = 10.0
"""How long the check of a case may take for one output."""
Judge = Callable[[Case, Sequence[bytes]], Sequence[str]]
"""Returns for each output of a case whether it passed: p or f, or ? if no time was left for it."""
MAX_OUTPUT_BYTES = 64 << 10
"""Size of one output; a longer one is an error of its case."""
MAX_ERROR_CHARS = 1000
MAX_LISTED = 100
"""Rows about guards that did not run, those with the most cases first."""
_ERROR = "e"
_NOT_REACHED = "the change failed without them"
_NOT_RUNNABLE: dict[CaseKind, str] = {
    "program": "no sandbox is there to run a program",
    "text": "no model is there to read a text",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateLimits:
    """Limits of one attempt: of its cases, its runs of them, and its time.

    Of more cases than these, or than a verdict holds, the same ones are tried each time.
    """

    cases: int = 64
    guards: int = 32
    runs: int = 2400
    seconds: float = 1800.0


DEFAULT_LIMITS = GateLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A runner, and the guards that run beside the cases of the changed skill."""

    runner: Runners
    guards: tuple[Case, ...]
    counts: GuardCounts


def take_cases(cases: Sequence[Case], limit: int) -> tuple[list[Case], list[Case]]:
    """Return at most `limit` cases and the others, in an order that only their documents decide.

    Who changes a skill writes no cases, so no change brings one forward.
    """
    limit = min(limit, MAX_CASES)
    chosen = sorted(cases, key=lambda case: (case.blob, case.path))
    return sorted(chosen[:limit], key=lambda case: case.path), chosen[limit:]


def plan_stages(
    runners: Sequence[CaseRunner], found: Sequence[Case], skills: SkillsAt, limit: int
) -> list[Stage]:
    """Return the stages of a trial, of which the last decides if all before it admit.

    `runners` begin with the one that runs the cases of the changed skill. If that repeats itself,
    another is asked about guards only if the change passes without these. Of the guards that were
    `found` at most `limit` run; those that no runner can run take no place from the others.
    """
    kinds = {case.path: kind_of_case(skills, case) for case in found}
    able = {kind for runner in runners for kind in runner.kinds}
    unable = [case for case in found if kinds[case.path] not in able]
    unrun = Counter((case.skill, _NOT_RUNNABLE[kinds[case.path]]) for case in unable)
    guards, others = take_cases([case for case in found if case not in unable], limit)
    unrun.update((case.skill, f"at most {limit} run") for case in others)
    main = runners[0]
    missing = {kinds[case.path] for case in guards}.difference(main.kinds)
    used = [main, *(one for one in runners[1:] if not missing.isdisjoint(one.kinds))]
    known: dict[tuple[int, str, int], CaseOutput] = {}
    stages = []
    if len(used) > 1 and main.repeats_itself:
        first = [case for case in guards if kinds[case.path] in main.kinds]
        later = Counter((case.skill, _NOT_REACHED) for case in guards if case not in first)
        stages.append(_build_stage(Runners([main], known), first, unrun + later))
    return [*stages, _build_stage(Runners(used, known), guards, unrun)]


def _build_stage(runner: Runners, guards: Sequence[Case], unrun: Counter[tuple[str, str]]) -> Stage:
    rows = sorted(unrun.items(), key=lambda row: (-row[1], row[0]))
    counts = GuardCounts(
        found=len(guards) + unrun.total(),
        run=len(guards),
        unrun=[UnrunGuards(slug, cases, reason) for (slug, reason), cases in rows[:MAX_LISTED]],
    )
    return Stage(runner=runner, guards=tuple(guards), counts=counts)


@dataclass(frozen=True, slots=True)
class CaseRounds:
    """Tries cases with a runner, without a change (`old`) and with it (`new`), round by round.

    `time_left` tells the seconds of the attempt that are left. `judge` compares outputs with what
    their case expects.
    """

    runner: CaseRunner
    judge: Judge
    old: SkillsAt
    new: SkillsAt
    limits: GateLimits
    time_left: Callable[[], float]

    def run(self, cases: Sequence[Case], guards: Sequence[Case]) -> GateRecord | str:
        """Try the cases until the gate decides; return why no round was finished if none was.

        Whatever `runner` raises because nothing can be run is raised.
        """
        courses = [GateCase(case=case) for case in cases]
        courses += [GateCase(case=case, is_guard=True) for case in guards]
        decision: GateDecision | None = None
        stopped = ""
        number, is_counted = 0, False
        while decision is None or not decision.is_final:
            if 2 * len(courses) * (number + 1) > self.limits.runs:
                stopped = f"the limit of {self.limits.runs} runs was reached"
                break
            stopped = self._run_round(courses, number)
            if stopped:
                break
            number += 1
            rows = [course.row for course in courses]
            most = find_round_limit(rows, repeats_itself=self.runner.repeats_itself)
            reads = [one.was_read for one in courses if one.was_read is not None]
            is_counted = is_counted or (number == 1 and bool(reads))
            read = sum(reads) if is_counted else None
            decision = decide(rows, repeats_itself=most <= CHECKED_ROUNDS, read_cases=read)
            letters = "".join(course.before + course.after for course in courses)
            if most > CHECKED_ROUNDS and not letters.strip(_ERROR):
                stopped = f"{len(letters)} of {len(letters)} runs ended in an error"
                break
        if decision is None:
            return f"no round of the cases was finished: {stopped}"
        return GateRecord(
            runner=self.runner.name,
            repeats_itself=self.runner.repeats_itself,
            decision=decision,
            cases=courses,
            stopped=stopped if decision.gate == "undecided" else "",
            is_provisional_asked=True,
        )

    def run_as_often(self, cases: Sequence[Case], rounds: int) -> list[GateCase] | str:
        """Run each case in so many rounds; return why not all of them were, then no outcome."""
        courses = [GateCase(case=case) for case in cases]
        for number in range(rounds):
            if stopped := self._run_round(courses, number):
                return stopped
        return courses

    def _run_round(self, courses: Sequence[GateCase], number: int) -> str:
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
            judged = self.judge(course.case, [one.output for one in outputs if not one.error])
            letters = iter(judged)
            pair = [_ERROR if one.error else next(letters) for one in outputs]
            if UNJUDGED in pair:
                return late
            pairs.append((outputs, pair))
        for course, (outputs, (before, after)) in zip(courses, pairs, strict=True):
            course.before += before
            course.after += after
            if not course.is_guard and outputs[1].was_read is not None:
                course.was_read = course.was_read or outputs[1].was_read
            course.outputs += [
                one.error.encode("utf-8", "backslashreplace") if one.error else one.output
                for one in outputs
            ]
        return ""


def _bound(output: CaseOutput) -> CaseOutput:
    if len(output.output) > MAX_OUTPUT_BYTES:
        return CaseOutput(error=f"the output has {len(output.output)} bytes")
    return replace(output, error=output.error[:MAX_ERROR_CHARS])


class OutputJudge:
    """Judges outputs, each once: the same output of a case passes or fails in every round.

    `find_sandbox` is called only if a case has a check in Python. `time_left` tells how many
    seconds such checks may still take.
    """

    def __init__(self, find_sandbox: Callable[[], Sandbox], time_left: Callable[[], float]) -> None:
        self._find_sandbox = find_sandbox
        self._time_left = time_left
        self._letters: dict[tuple[bytes, bytes], str] = {}

    def judge(self, case: Case, outputs: Sequence[bytes]) -> list[str]:
        """Return for each output whether it passed: a letter, p or f.

        A check that hangs or crashes does not pass the output. `?` stands for one that no time
        was left for. Raises `SandboxError`.
        """
        return [self._judge(case, output) for output in outputs]

    def _judge(self, case: Case, output: bytes) -> str:
        known = self._letters.get((case.blob, output))
        if known is not None:
            return known
        if find_fault(case, output):
            letter = FAILED
        else:
            letter = self._run_check(case, output) if case.expect.check else PASSED
        if letter != UNJUDGED:
            self._letters[case.blob, output] = letter
        return letter

    def _run_check(self, case: Case, output: bytes) -> str:
        seconds = min(CHECK_SECONDS, self._time_left())
        if seconds <= 0:
            return UNJUDGED
        limits = replace(SANDBOX_LIMITS, wall_seconds=seconds)
        code, rows = case.expect.check.encode(), [(case.input, read_output(output))]
        try:
            (refused,) = check_outputs(self._find_sandbox(), code, rows, limits=limits)
        except InvalidInput:  # it hangs, ends early, or is no check
            is_late = seconds < CHECK_SECONDS and self._time_left() <= 0
            return UNJUDGED if is_late else FAILED
        return FAILED if refused else PASSED


MAX_NEIGHBOURS = 8
"""Skills beside the changed one whose cases guard it, for each of its two texts."""
_MAX_CACHED = 20_000
_called: dict[bytes, frozenset[str]] = {}
"""The slugs that each code calls, by its blob."""


def find_guards(session: Session, planned: PlannedChange) -> list[Case]:
    """Return the held-out cases of other skills that guard a planned change, by path."""
    state = session.state_of(planned.head)
    found: dict[str, Case] = {}
    for skill in find_callers(state, _list_called_names(planned)):
        cases = read_held_out(session, planned.head, skill.path)
        found |= {case.path: case for case in cases if not isinstance(case.input, str)}
    for path in _find_neighbours(state, planned):
        code = f"{path.rpartition('/')[0]}/{PROGRAM_FILE}"
        has_program = state.has(code)
        cases = read_held_out(session, planned.head, path)
        found |= {
            case.path: case for case in cases if isinstance(case.input, str) or not has_program
        }
    return sorted(
        (case for case in found.values() if case.skill != planned.slug), key=lambda case: case.path
    )


def _list_called_names(planned: PlannedChange) -> set[str]:
    """Return the slugs by which programs call the changed one; empty if that changes nothing."""
    before, after = (
        {planned.slug, fold_to_slug(read_skill_metadata(text, planned.slug).name)} - {""}
        if text is not None
        else set[str]()
        for text in (planned.base_text, planned.new_text)
    )
    old, new = (program and program.id for program in (planned.base_program, planned.program))
    return set() if old == new and (new is None or before == after) else before | after


def _find_neighbours(state: BrainState, planned: PlannedChange) -> dict[str, None]:
    texts = [text for text in (planned.base_text, planned.new_text) if text is not None]
    cards = [read_skill_metadata(text, planned.slug) for text in texts]
    shown = {
        (one.name, one.description, body_of(text)) for one, text in zip(cards, texts, strict=True)
    }
    if planned.base_text is not None and len(shown) == 1:  # the program alone is another one
        return {}
    return {
        one.path: None
        for card in cards
        for one in select_from_state(
            state,
            f"{card.name} {card.description}",
            MAX_NEIGHBOURS + 1,
            BM25,
        ).skills
        if one.path != planned.path
    }


def find_callers(state: BrainState, names: Collection[str]) -> list[FoundSkill]:
    """Return the skills whose programs call one skill, or call such a caller, by path.

    `names` are the slugs by which programs call that skill. A name means the skill of its slug,
    else the one that declares it, as for a run. Chains are as long as a broker allows. A name that
    is put together while a program runs is not seen.
    """
    if not names:
        return []
    calls = _read_calls(state)
    found: dict[str, FoundSkill | None] = {}
    wanted = set(names)
    for _ in range(MAX_CALL_DEPTH - 1):
        new = {
            path: find_skill_of_code(state, path)
            for path, called in calls.items()
            if path not in found and not called.isdisjoint(wanted)
        }
        found |= new
        wanted = {name for one in new.values() if one for name in _list_callable(state, one)}
    callers = [skill for skill in found.values() if skill and skill.slug not in names]
    return sorted(callers, key=lambda skill: skill.path)


def _read_calls(state: BrainState) -> dict[str, frozenset[str]]:
    entries = (state.get(path) for path in find_code_paths(state))
    codes = {
        entry.path: entry.blob
        for entry in entries
        if entry and entry.kind != LINK and entry.size <= MAX_CODE_BYTES
    }
    if len(_called) > _MAX_CACHED:
        _called.clear()
    new = set(codes.values()).difference(_called)
    readable = list(new.difference(state.session.reader.find_redactions(list(new))))
    for blob, code in state.session.reader.read_small_blobs(readable):
        _called[blob] = frozenset(fold_to_slug(slug_of_tool(n)) for n in find_called_names(code))
    return {path: _called.get(blob, frozenset()) for path, blob in codes.items()}


def _list_callable(state: BrainState, skill: FoundSkill) -> Iterator[str]:
    for slug in derive.skill_slugs(skill.path, skill.card.name):
        with suppress(InvalidInput):  # ambiguous
            if Skills(state).find_path(slug) == skill.path:
                yield slug
