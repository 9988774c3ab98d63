"""The one gate of all that is learned: try a change on held-out cases, and decide.

1. The change is planned: nothing is written, and the head stays.
2. A program passes its own trial first.
3. The held-out cases run without the change and with it, round by round, with guards: held-out
   cases of other skills that the change could touch.
4. What the gate says is recorded with its numbers: admitted, proposed to a person, or kept as an
   attempt that later ones see.

If the skill changes meanwhile, the change is tried once more on what it is then.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

from ...errors import Conflict, InvalidInput, printable_text
from ...programs.program import Program, fit_summary
from ...receipts.receipt import own_sources
from ...repo.learning.change import ChangeRequest
from ...results import EarlierAttempt, GateOutcome
from ...running.trial import Trial
from ...sandbox.job import Sandbox
from ...verdicts.verdict_types import ProgramFile, Verdict
from ..evolution_mode import require_evolution
from .brain_protocol import GatedBrain
from .case_rounds import DEFAULT_LIMITS, GateLimits
from .case_runner import CaseRunner
from .change_trial import GATE_RULE, ChangeTrial, GateSettings, TrialResult
from .outcome_recorder import OutcomeRecorder
from .proposed_change import ProposedChange

_EVOLVER = re.compile("[a-z]{1,32}")


class Gate:
    """Tries the changes that evolvers propose to a brain.

    `runner` runs the cases of the changed skill. Without one, the sandbox does if the skill has a
    program, else `text_runner`. Guards of the other kind run in the sandbox or by `text_runner`.
    Without either, texts cannot be tried. `sandbox` is that of programs and of the checks of
    cases, by default the one of this machine. `confirm` is called before anything is recorded; what
    it raises ends the attempt.
    """

    def __init__(
        self,
        brain: GatedBrain,
        *,
        runner: CaseRunner | None = None,
        text_runner: CaseRunner | None = None,
        sandbox: Sandbox | None = None,
        limits: GateLimits = DEFAULT_LIMITS,
        confirm: Callable[[], None] = lambda: None,
    ) -> None:
        self._brain = brain
        self._confirm = confirm
        self._given_sandbox = sandbox
        settings = GateSettings(limits=limits)
        self._trial = ChangeTrial(brain, runner, text_runner, lambda: self._sandbox, settings)

    def propose(self, change: ProposedChange) -> GateOutcome:
        """Try a change, and record what the gate decides.

        Raises `Conflict` (`evolution_off`, `stale_base`), `InvalidInput` (`bad_change`,
        `bad_case`), `SandboxError`, and whatever the runner raises because it can run nothing.
        """
        if _EVOLVER.fullmatch(change.evolver) is None:
            raise InvalidInput(
                f"{printable_text(change.evolver, 40)!r} is not the name of an evolver",
                code="bad_change",
                hint="use 1 to 32 lower-case letters",
            )
        try:
            return self._propose(change)
        except Conflict as error:
            if error.code not in ("stale_base", "program_changed"):
                raise
        return self._propose(change)

    def _propose(self, change: ProposedChange) -> GateOutcome:
        mode = require_evolution(self._brain)
        planned = self._brain.gate.plan(_build_request(change))
        recorder = OutcomeRecorder(brain=self._brain, change=change, planned=planned, mode=mode)
        if planned.is_equal:
            return recorder.describe_equal()
        own = own_sources(change.receipt) if change.receipt else ()
        if change.fault and planned.program:
            self._confirm()
            return recorder.record(_refuse(planned.program, fit_summary(change.fault)))
        result = self._trial.run(planned, own)
        if isinstance(result, EarlierAttempt):
            return recorder.describe_same(result)
        self._confirm()
        return recorder.record(result)

    @cached_property
    def _sandbox(self) -> Sandbox:
        from ...sandbox.find_sandbox import find_sandbox

        return self._given_sandbox or find_sandbox()


def _refuse(program: Program, fault: str) -> TrialResult:
    """Return the result for a program that its own evolver refuses; it is not run."""
    verdict = Verdict(
        decision="reject",
        skill=program.slug,
        decider="rule",
        decided_by=GATE_RULE,
        reason=fault,
        files=tuple(ProgramFile(*row) for row in program.blobs),
        findings=(fault,),
    )
    trial = Trial(verdict=verdict, contents=(), program=program)
    return TrialResult(reason=fault, program=program, trial=trial)


def _build_request(change: ProposedChange) -> ChangeRequest:
    body = change.body.encode() if isinstance(change.body, str) else change.body
    return ChangeRequest(
        name=change.name,
        description=change.description,
        body=body,
        files=change.files,
        base=str(change.base),
        category=change.category,
    )
