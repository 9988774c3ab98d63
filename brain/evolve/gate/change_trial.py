"""Try a planned change: its program by its own tests, then the cases without it and with it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ...gating.case_types import Case
from ...gating.gate_types import DEFAULT_RULES
from ...programs.program import Program
from ...repo.gate.judge_outputs import OutputJudge
from ...repo.gate.plan_change import PlannedChange
from ...repo.gate.touched_cases import TouchedCase
from ...results import EarlierAttempt, GuardCounts
from ...running.trial import Trial, try_program
from ...sandbox.sandbox_protocol import Sandbox
from ...verdicts.gate_verdict import GateRecord
from ...verdicts.verdict_types import ProgramFile, Verdict, VerdictCase
from .brain_protocol import GatedBrain
from .case_rounds import DEFAULT_LIMITS, CaseRounds, GateLimits, TriedCases
from .case_runner import CaseRunner
from .guard_cases import choose_held_out, find_guards
from .sandbox_runner import SandboxRunner
from .skills_under_test import PlannedRanks, PlannedSkills
from .trial_stages import TrialStage, add_guard_note, plan_stages

GATE_RULE = "gate"
"""The rule that decides, as verdicts name it."""
NO_CASES = "there are no held-out cases of this skill, so nothing could be tried"
NO_RUNNER = "there is no model to try the cases of a text with"
_SEED_BITS = 53


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


class _OutOfTime(Exception):
    """The time of a trial is over."""


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
        ranks = PlannedRanks(reader, planned)
        old = PlannedSkills(reader, planned, ranks, planned.base_text, planned.base_program)
        new = PlannedSkills(reader, planned, ranks, planned.text, planned.program)
        own = reader.read_held_out(planned.head, planned.path)
        unseen = [case for case in own if case.source not in own_sources]
        cases = choose_held_out(unseen, limits.cases)
        runners = self._find_runners(has_program=planned.program is not None) if cases else []
        touched: Sequence[TouchedCase] = []
        if runners:
            interrupt = partial(_interrupt, time_left)
            try:
                touched = find_guards(self._brain, planned.head, ranks, (old, new), interrupt)
            except _OutOfTime:
                late = f"it took longer than {limits.seconds:g} s"
                return _result(None, reason=f"no round of the cases was finished: {late}")
        guards = [case for case in touched if case.source not in own_sources]
        stages = plan_stages(runners, guards, limits.guards) if runners else []
        result = self._try(planned, (old, new), stages, cases, time_left)
        if isinstance(result, EarlierAttempt):
            return result
        return _add_left_out(result, len(own) - len(unseen) + len(touched) - len(guards))

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
        return self._try_stages(planned, trial, rounds, stages, cases)

    def _try_stages(
        self,
        planned: PlannedChange,
        trial: Trial | None,
        rounds: CaseRounds,
        stages: Sequence[TrialStage],
        cases: Sequence[Case],
    ) -> TrialResult:
        """Try the cases in one stage after the other, until one does not admit the change."""
        for stage in stages:
            guards = self._brain.gate.read_touched(stage.guards)
            tried = replace(rounds, runner=stage.runner).run(cases, guards)
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
        sandbox = self._find_sandbox()
        return try_program(
            sandbox,
            program,
            seed=self._settings.draw_seed(),
            decided_by=GATE_RULE,
            answer=SandboxRunner(sandbox).answer_for(skills, program.slug),
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
        decision = replace(tried.decision, reason=add_guard_note(why, stage.counts))
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


def _interrupt(time_left: Callable[[], float]) -> None:
    if time_left() < 0:
        raise _OutOfTime


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
