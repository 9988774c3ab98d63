"""Run a program of a skill, and those that it calls, in one sandbox each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import InvalidInput, NotAdmitted
from ...experience.usage import input_key
from ...programs import CHECK_FILE
from ...programs.needs import NEEDS_FILE, NO_NEEDS, read_needs
from ...programs.program import fit_summary, slug_of_tool, tool_name
from ...results import ProgramCall, ProgramRun
from ...running.broker import Broker
from ...running.run import RunOutcome, check_outputs, run_program
from ...sandbox.job import DEFAULT_LIMITS
from ...skills.skill_metadata import recorded_version
from ...skills.skill_version import version_value
from .approvals import find_missing, read_files, read_secrets, write_files

if TYPE_CHECKING:
    from threading import Event

    from ...sandbox.job import Sandbox, SandboxLimits
    from .admission import Runnable


GENERATED_FOLDER = "skills/generated/"
"""Skills below it were written by a model for a gap, and have less time."""
GENERATED_SECONDS = 10.0
_CHECKED_BELOW = bytes([26])
"""The first byte of an input's key of one call in ten."""
_CHECK_SECONDS = 5.0


class ProgramRunner:
    """Runs one program. `ended` has it and what it called, in the order in which they ended."""

    def __init__(
        self,
        find_runnable: Callable[[str], Runnable],
        sandbox: Sandbox,
        *,
        cancel: Event | None = None,
        on_progress: Callable[[float, str], None] | None = None,
        limits: SandboxLimits | None = None,
        reads_only: bool = False,
    ) -> None:
        self.ended: list[tuple[Runnable, RunOutcome]] = []
        self._find_runnable = find_runnable
        self._sandbox = sandbox
        self._cancel = cancel
        self._on_progress = on_progress
        self._limits = limits or DEFAULT_LIMITS
        self._reads_only = reads_only

    def run(self, slug: str, payload: Mapping[str, Any]) -> ProgramRun:
        """Run the program of a skill. Raises as `brain.programs.run`."""
        runnable = self._find_runnable(slug)
        broker = Broker(
            tool_name(runnable.skill.slug),
            run_skill=self._run_called,
            on_progress=self._on_progress,
        )
        outcome = self._run(runnable, payload, broker)
        versions = {
            tool_name(called.skill.slug): recorded_version(called.skill.card)
            for called, _ in self.ended
        }
        return ProgramRun(
            slug=runnable.skill.slug,
            version=version_value(runnable.skill.card.version),
            program=runnable.program.id.hex(),
            ok=outcome.ok,
            output=outcome.output,
            error=outcome.error,
            wall_ms=outcome.wall_ms,
            refused=outcome.refused,
            calls=[
                ProgramCall(
                    kind=call.kind,
                    caller=call.caller,
                    target=call.target,
                    version=versions.get(call.target, "") if call.kind == "call" else "",
                    error=call.error,
                    wall_ms=call.wall_ms,
                )
                for call in broker.calls
            ],
        )

    def _run_called(self, name: str, payload: dict[str, Any], broker: Broker) -> RunOutcome:
        """Run a program that another one calls, by the name of its tool."""
        runnable = self._find_runnable(slug_of_tool(name))
        return self._run(runnable, payload, broker)

    def _run(self, runnable: Runnable, payload: Mapping[str, Any], broker: Broker) -> RunOutcome:
        needs = read_needs(runnable.program)
        if self._reads_only and needs.reaches_out:
            raise InvalidInput(
                f"{runnable.skill.slug} may write or send, and this is for reading only",
                code="read_only",
                hint="go on without it",
            )
        if missing := find_missing(needs, runnable.tried) if needs != NO_NEEDS else []:
            slug = runnable.skill.slug
            raise NotAdmitted(
                f"{slug} needs what nobody approved here: {', '.join(missing)}",
                code="needs_approval",
                hint=f"a person approves it with `brain evolve allow {slug} --needs`",
            )
        secrets = read_secrets(needs, runnable.tried) if needs.secrets else None
        broker.approve(runnable.tried.hosts, secrets)
        outcome = run_program(
            self._sandbox,
            runnable.program,
            payload,
            limits=_limit_generated(runnable, self._limits),
            folders={
                name: path
                for name, path in runnable.tried.folders.items()
                if name not in needs.files
            },
            files=read_files(needs, runnable.tried) if needs.files else {},
            hidden=runnable.hidden,
            answer=broker.answer,
            cancel=self._cancel,
        )
        if secrets is not None:  # a host may have sent it in a form that the broker does not know
            shown = {"output": outcome.output, "error": outcome.error}
            outcome = replace(outcome, **secrets.mask_value(shown))
        if outcome.ok and outcome.files:
            write_files(runnable.tried, outcome.files)
        text = json.dumps(payload, sort_keys=True) if payload else ""
        outcome = self._check(runnable, payload, replace(outcome, input=input_key(text)))
        self.ended.append((runnable, outcome))
        return outcome

    def _check(
        self, runnable: Runnable, payload: Mapping[str, Any], outcome: RunOutcome
    ) -> RunOutcome:
        """Have the tool's own check judge one call in ten; a refused output is a failure of it.

        The same inputs are always judged. A check of a tool with needs knows only its fixtures; and
        one that fails otherwise than by an assertion does not know this payload.
        """
        files = runnable.program.files
        reaches = NEEDS_FILE in files or runnable.tried.folders or runnable.tried.hosts
        chosen = outcome.ok and outcome.input[:1] < _CHECKED_BELOW
        if reaches or not chosen or CHECK_FILE not in files:
            return outcome
        try:
            limits = replace(self._limits, wall_seconds=_CHECK_SECONDS)
            rows = [(payload, outcome.output)]
            (reason,) = check_outputs(self._sandbox, files[CHECK_FILE], rows, limits=limits)
        except InvalidInput:  # it did not answer
            return outcome
        if not reason.startswith(("AssertionError", "check returned False")):
            return outcome
        error = fit_summary(f"its own check refuses the output: {reason}")
        return replace(outcome, ok=False, output=None, error=error)


def _limit_generated(runnable: Runnable, limits: SandboxLimits) -> SandboxLimits:
    """Return the limits of a run, which are tighter for a generated skill."""
    if not runnable.skill.path.startswith(GENERATED_FOLDER):
        return limits
    return replace(limits, wall_seconds=min(limits.wall_seconds, GENERATED_SECONDS))
