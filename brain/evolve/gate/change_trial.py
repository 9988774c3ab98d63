"""Try a planned change: its program by its own tests, then the cases without it and with it."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from ...gating.case_files import Case
from ...gating.decision import DEFAULT_RULES
from ...programs.program import Program, slug_of_tool
from ...repo.learning.cases import refuse_same_inputs
from ...repo.learning.change import PlannedChange
from ...repo.learning.guards import CaseKind
from ...repo.learning.judge_outputs import OutputJudge
from ...results import EarlierAttempt, GuardCounts, UnrunGuards
from ...running.trial import Trial, try_program
from ...sandbox.job import Sandbox
from ...verdicts.gate_verdict import GateRecord
from ...verdicts.verdict_types import ProgramFile, Verdict, VerdictCase
from .brain_protocol import GatedBrain
from .case_rounds import DEFAULT_LIMITS, CaseRounds, GateLimits, TriedCases
from .case_runner import CaseOutput, CaseRunner, Runners, SkillsUnderTest, kind_of_case
from .sandbox_runner import SandboxRunner
from .skills_under_test import PlannedSkills

GATE_RULE = "gate"
"""The rule that decides, as verdicts name it."""
NO_CASES = "there are no held-out cases of this skill, so nothing could be tried"
NO_RUNNER = "there is no model to try the cases of a text with"
MAX_LISTED = 100
"""Rows about guards that did not run, those with the most cases first."""
_SEED_BITS = 53
_NOT_REACHED = "the change failed without them"
_NO_RUNNER: dict[CaseKind, str] = {
    "program": "no sandbox is there to run a program",
    "text": "no model is there to read a text",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """The limits of a gate, and what draws seeds and tells seconds."""

    limits: GateLimits = DEFAULT_LIMITS
    draw_seed: Callable[[], int] = field(default=lambda: secrets.randbits(_SEED_BITS))
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """How a change was tried: its program with the `trial` of it, and what the gate counted.

    Without a `record` no case was tried. `reason` says why the change is not admitted, "" if the
    gate admits it. `is_for_person`: there were no or too few cases, so a person may decide.
    `guards` are the cases of other skills, None if no case was tried.
    """

    reason: str
    program: Program | None = None
    trial: Trial | None = None
    record: GateRecord | None = None
    is_for_person: bool = False
    guards: GuardCounts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialStage:
    """A runner, and the guards that run beside the cases of the changed skill."""

    runner: Runners
    guards: tuple[Case, ...]
    counts: GuardCounts


class ChangeTrial:
    """Tries one planned change, within the limits of `settings`.

    `runner` runs the cases of the changed skill; without one the sandbox does if it has a program,
    else `text_runner`. Both also run guards that `runner` cannot run. `find_sandbox` returns the
    sandbox, and is called only if one is needed.
    """

    def __init__(
        self,
        brain: GatedBrain,
        runner: CaseRunner | None,
        text_runner: CaseRunner | None,
        find_sandbox: Callable[[], Sandbox],
        settings: GateSettings,
    ) -> None:
        self._brain = brain
        self._runner = runner
        self._text_runner = text_runner
        self._find_sandbox = find_sandbox
        self._settings = settings

    def run(
        self, planned: PlannedChange, own_sources: Collection[str] = ()
    ) -> TrialResult | EarlierAttempt:
        """Try a change; return an earlier attempt if the same was tried on the same cases.

        Cases of `own_sources` are left out: the author of the change has seen those runs. Raises
        `InvalidInput` (`bad_case`) for tests or cases that cannot be read, `SandboxError`, and
        whatever the runner raises because it can run nothing.
        """
        clock, limits = self._settings.clock, self._settings.limits
        deadline = clock() + limits.seconds

        def time_left() -> float:
            return deadline - clock()

        reader = self._brain.gate
        old = PlannedSkills(reader, planned, planned.base_text, planned.base_program)
        new = PlannedSkills(reader, planned, planned.text, planned.program)
        own = reader.read_held_out(planned.head, planned.path)
        unseen = [case for case in own if case.source not in own_sources]
        refuse_same_inputs(unseen)
        cases = take_cases(unseen, limits.cases)[0]
        runners = self._find_runners(has_program=planned.program is not None) if cases else []
        found = reader.find_guards(planned) if runners else []
        guards = [case for case in found if case.source not in own_sources]
        stages = plan_stages(runners, guards, new, limits.guards) if runners else []
        result = self._try(planned, (old, new), stages, cases, time_left)
        if isinstance(result, EarlierAttempt):
            return result
        return _add_left_out(result, len(own) - len(unseen) + len(found) - len(guards))

    def _try(
        self,
        planned: PlannedChange,
        sides: tuple[PlannedSkills, PlannedSkills],
        stages: Sequence[TrialStage],
        cases: Sequence[Case],
        time_left: Callable[[], float],
    ) -> TrialResult | EarlierAttempt:
        old, new = sides
        for stage in stages:
            if same := self._find_same(planned, stage, cases):
                return same
        trial = None if planned.program is None else self._try_program(planned.program, new)
        if trial is not None and trial.verdict.decision == "reject":
            reason = trial.verdict.reason
            return TrialResult(reason=reason, program=trial.program, trial=trial)
        if not stages:
            reason = NO_RUNNER if cases else NO_CASES
            return _result(trial, reason=reason, is_for_person=True)
        if trial is not None:
            new = new.with_program(trial.program)
        rounds = CaseRounds(
            runner=stages[0].runner,
            judge=OutputJudge(self._find_sandbox, time_left).judge,
            old=old,
            new=new,
            limits=self._settings.limits,
            time_left=time_left,
        )
        for stage in stages:
            tried = replace(rounds, runner=stage.runner).run(cases, stage.guards)
            if isinstance(tried, str):
                return _result(trial, reason=tried)
            result = self._conclude(planned, trial, stage, tried)
            if tried.decision.gate != "admit":
                break
        return result

    def _find_runners(self, *, has_program: bool) -> list[CaseRunner]:
        """Return what can run cases, first what runs those of the changed skill."""
        sandbox = SandboxRunner(self._find_sandbox()) if has_program else None
        return [one for one in (self._runner, sandbox, self._text_runner) if one is not None]

    def _try_program(self, program: Program, skills: PlannedSkills) -> Trial:
        return try_program(
            self._find_sandbox(),
            program,
            seed=self._settings.draw_seed(),
            decided_by=GATE_RULE,
            find_called=lambda name: skills.program(slug_of_tool(name)),
        )

    def _find_same(
        self,
        planned: PlannedChange,
        stage: TrialStage,
        cases: Sequence[Case],
    ) -> EarlierAttempt | None:
        """Return an attempt at exactly this: to try it until it passes would be cheating."""
        program = planned.program
        tried = [("held_out", case.path, case.blob) for case in cases]
        tried += [("guard", case.path, case.blob) for case in stage.guards]
        rows = [
            VerdictCase(kind=kind, name=path, outcome="pass", document=blob)
            for kind, path, blob in tried
        ]
        wanted = Verdict(
            decision="reject",
            skill=planned.slug,
            decider="rule",
            decided_by=GATE_RULE,
            files=tuple(ProgramFile(*row) for row in program.blobs) if program else (),
            cases=tuple(rows),
            base=planned.base_blob,
            text=planned.text_blob,
            runner=stage.runner.name,
        )
        return self._brain.gate.find_same_attempt(planned.path, wanted)

    def _conclude(
        self, planned: PlannedChange, trial: Trial | None, stage: TrialStage, tried: TriedCases
    ) -> TrialResult:
        why = tried.stopped or tried.decision.reason
        decision = replace(tried.decision, reason=_add_guard_note(why, stage.counts))
        record = GateRecord(
            skill=planned.slug,
            base=planned.base_blob,
            text=planned.text_blob,
            runner=stage.runner.name,
            repeats_itself=stage.runner.repeats_itself,
            decision=decision,
            cases=tried.cases,
            trial=trial.verdict if trial else None,
        )
        return _result(
            trial,
            reason="" if decision.gate == "admit" else decision.reason,
            record=record,
            guards=stage.counts,
            is_for_person=(
                decision.gate == "undecided" and decision.cases < DEFAULT_RULES.min_cases
            ),
        )


def take_cases(cases: Sequence[Case], limit: int) -> tuple[list[Case], list[Case]]:
    """Return at most `limit` cases and the others, in an order that only their documents decide.

    Who changes a skill writes no cases, so no change brings one forward.
    """
    chosen = sorted(cases, key=lambda case: (case.blob, case.path))
    return sorted(chosen[:limit], key=lambda case: case.path), chosen[limit:]


def plan_stages(
    runners: Sequence[CaseRunner], found: Sequence[Case], skills: SkillsUnderTest, limit: int
) -> list[TrialStage]:
    """Return the stages of a trial, of which the last decides if all before it admit.

    `runners` begin with the one that runs the cases of the changed skill. If that repeats itself,
    another is asked about guards only if the change passes without these. Of the guards that were
    `found` at most `limit` run; those that no runner can run take no place from the others.
    """
    kinds = {case.path: kind_of_case(skills, case) for case in found}
    able = {kind for runner in runners for kind in runner.kinds}
    unrun = Counter(
        (case.skill, _NO_RUNNER[kinds[case.path]]) for case in found if kinds[case.path] not in able
    )
    guards, others = take_cases([case for case in found if kinds[case.path] in able], limit)
    unrun.update((case.skill, f"at most {limit} run") for case in others)
    main = runners[0]
    missing = {kinds[case.path] for case in guards}.difference(main.kinds)
    used = [main, *(one for one in runners[1:] if not missing.isdisjoint(one.kinds))]
    known: dict[tuple[int, str], CaseOutput] = {}
    stages = []
    if len(used) > 1 and main.repeats_itself:
        first = [case for case in guards if kinds[case.path] in main.kinds]
        later = Counter((case.skill, _NOT_REACHED) for case in guards if case not in first)
        stages.append(_build_stage(Runners([main], known), first, unrun + later))
    return [*stages, _build_stage(Runners(used, known), guards, unrun)]


def _build_stage(
    runner: Runners, guards: Sequence[Case], unrun: Counter[tuple[str, str]]
) -> TrialStage:
    rows = sorted(unrun.items(), key=lambda row: (-row[1], row[0]))
    counts = GuardCounts(
        found=len(guards) + unrun.total(),
        run=len(guards),
        unrun=[UnrunGuards(slug, cases, reason) for (slug, reason), cases in rows[:MAX_LISTED]],
    )
    return TrialStage(runner=runner, guards=tuple(guards), counts=counts)


def _add_guard_note(reason: str, counts: GuardCounts) -> str:
    """Return a reason that also says how many guards did not run; it names no skill."""
    missing = counts.found - counts.run
    if not missing:
        return reason
    why = "; ".join(dict.fromkeys(row.reason for row in counts.unrun))
    return f"{reason}; {missing} of {counts.found} cases of other skills did not run: {why}"


def _add_left_out(result: TrialResult, count: int) -> TrialResult:
    """Return a result that says how many cases were left out."""
    if not count:
        return result
    note = (
        "; held-out cases left out, since they were made of the run that the change was learned"
        f" from: {count}"
    )
    record = result.record
    if record is not None:
        decision = replace(record.decision, reason=record.decision.reason + note)
        record = replace(record, decision=decision)
    return replace(result, record=record, reason=result.reason and result.reason + note)


def _result(
    trial: Trial | None,
    *,
    reason: str,
    record: GateRecord | None = None,
    is_for_person: bool = False,
    guards: GuardCounts | None = None,
) -> TrialResult:
    return TrialResult(
        reason=reason,
        program=trial.program if trial else None,
        trial=trial,
        record=record,
        is_for_person=is_for_person,
        guards=guards,
    )
