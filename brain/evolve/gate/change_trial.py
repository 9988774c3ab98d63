"""Try a planned change: its program by its own tests, then the cases without it and with it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...gating.case_types import Case
from ...gating.gate_types import DEFAULT_RULES
from ...programs.program import Program
from ...repo.gate.judge_outputs import OutputJudge
from ...repo.gate.plan_change import PlannedChange
from ...results import EarlierAttempt
from ...running.trial import Trial, try_program
from ...sandbox.sandbox_protocol import Sandbox
from ...verdicts.gate_verdict import GateRecord
from ...verdicts.verdict_types import ProgramFile, Verdict, VerdictCase
from .brain_protocol import GatedBrain
from .case_rounds import DEFAULT_LIMITS, CaseRounds, GateLimits, TriedCases
from .case_runner import CaseRunner
from .guard_cases import find_guards, list_held_out
from .sandbox_runner import SandboxRunner
from .skills_under_test import PlannedSkills

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
    """

    reason: str
    program: Program | None = None
    trial: Trial | None = None
    record: GateRecord | None = None
    is_for_person: bool = False


class ChangeTrial:
    """Tries one planned change, within the limits of `settings`.

    `find_sandbox` returns the sandbox, and is called only if one is needed.
    """

    def __init__(
        self,
        brain: GatedBrain,
        runner: CaseRunner | None,
        find_sandbox: Callable[[], Sandbox],
        settings: GateSettings,
    ) -> None:
        self._brain = brain
        self._runner = runner
        self._find_sandbox = find_sandbox
        self._settings = settings

    def run(self, planned: PlannedChange) -> TrialResult | EarlierAttempt:
        """Try a change; return an earlier attempt if the same was tried on the same cases.

        Raises `InvalidInput` (`bad_case`) for tests or cases that cannot be read, `SandboxError`,
        and whatever the runner raises because it can run nothing.
        """
        reader = self._brain.gate
        documents = reader.list_documents(planned.head)
        old = PlannedSkills(reader, planned, documents, planned.base_text, planned.base_program)
        new = PlannedSkills(reader, planned, documents, planned.text, planned.program)
        trial = None if planned.program is None else self._try_program(planned.program, new)
        if trial is not None:
            if trial.verdict.decision == "reject":
                reason = trial.verdict.reason
                return TrialResult(reason=reason, program=trial.program, trial=trial)
            new = PlannedSkills(reader, planned, documents, planned.text, trial.program)
        runner = self._runner or (SandboxRunner(self._find_sandbox()) if trial else None)
        every = reader.read_held_out(planned.head)
        cases = list_held_out(every, planned.slug, self._settings.limits.cases)
        if not cases or runner is None:
            reason = NO_RUNNER if cases else NO_CASES
            return _result(trial, reason=reason, is_for_person=True)
        guards = find_guards(every, old, new, self._settings.limits.guards)
        same = self._find_same(planned, trial, runner, cases, guards)
        return same or self._try_cases(planned, trial, runner, (old, new), cases, guards)

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
        trial: Trial | None,
        runner: CaseRunner,
        cases: Sequence[Case],
        guards: Sequence[Case],
    ) -> EarlierAttempt | None:
        """Return a kept attempt at exactly this: to try it until it passes would be cheating."""
        kinds = {"held_out": cases, "guard": guards}
        rows = [
            VerdictCase(kind=kind, name=case.path, outcome="pass", document=case.blob)
            for kind, listed in kinds.items()
            for case in listed
        ]
        wanted = Verdict(
            decision="reject",
            skill=planned.slug,
            decider="rule",
            decided_by=GATE_RULE,
            files=tuple(ProgramFile(*row) for row in trial.program.blobs) if trial else (),
            cases=tuple(rows),
            base=planned.base_blob,
            text=planned.text_blob,
            runner=runner.name,
        )
        return self._brain.gate.find_same_attempt(planned.path, wanted)

    def _try_cases(
        self,
        planned: PlannedChange,
        trial: Trial | None,
        runner: CaseRunner,
        sides: tuple[PlannedSkills, PlannedSkills],
        cases: Sequence[Case],
        guards: Sequence[Case],
    ) -> TrialResult:
        clock = self._settings.clock
        deadline = clock() + self._settings.limits.seconds

        def time_left() -> float:
            return deadline - clock()

        rounds = CaseRounds(
            runner=runner,
            judge=OutputJudge(self._find_sandbox, time_left).judge,
            old=sides[0],
            new=sides[1],
            limits=self._settings.limits,
            time_left=time_left,
        )
        tried = rounds.run(cases, guards)
        if isinstance(tried, str):
            return _result(trial, reason=tried)
        return self._conclude(planned, trial, runner, tried)

    def _conclude(
        self, planned: PlannedChange, trial: Trial | None, runner: CaseRunner, tried: TriedCases
    ) -> TrialResult:
        decision = tried.decision
        record = GateRecord(
            skill=planned.slug,
            base=planned.base_blob,
            text=planned.text_blob,
            runner=runner.name,
            repeats_itself=runner.repeats_itself,
            decision=decision,
            cases=tried.cases,
            trial=trial.verdict if trial else None,
        )
        return _result(
            trial,
            reason="" if decision.gate == "admit" else tried.stopped or decision.reason,
            record=record,
            is_for_person=(
                decision.gate == "undecided" and decision.cases < DEFAULT_RULES.min_cases
            ),
        )


def _result(
    trial: Trial | None,
    *,
    reason: str,
    record: GateRecord | None = None,
    is_for_person: bool = False,
) -> TrialResult:
    return TrialResult(
        reason=reason,
        program=trial.program if trial else None,
        trial=trial,
        record=record,
        is_for_person=is_for_person,
    )
