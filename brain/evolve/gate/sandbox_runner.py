"""Run the program of a skill on a case, in the sandbox, with the skills that it calls."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ...errors import InvalidInput
from ...gating.case_files import Case
from ...programs.program import Program, slug_of_tool, tool_name
from ...repo.learning.guards import CaseKind
from ...running.broker import Broker
from ...running.run import RunOutcome, run_program
from ...sandbox.job import DEFAULT_LIMITS, Sandbox
from .case_runner import CaseOutput, SkillsUnderTest

SANDBOX_RUNNER = "sandbox"
CASE_SECONDS = 10.0
"""How long one case may run."""


class SandboxRunner:
    """The `CaseRunner` of programs. It reaches no files and no hosts, whatever is approved."""

    name = SANDBOX_RUNNER
    repeats_itself = True
    kinds: tuple[CaseKind, ...] = ("program",)

    def __init__(self, sandbox: Sandbox, case_seconds: float = CASE_SECONDS) -> None:
        self._sandbox = sandbox
        self._limits = replace(DEFAULT_LIMITS, wall_seconds=case_seconds)

    def run(self, skills: SkillsUnderTest, case: Case, number: int) -> CaseOutput:
        """Run a case. Raises `SandboxError`."""
        program = skills.program(case.skill)
        if program is None:
            return CaseOutput(error="the skill has no program")
        if isinstance(case.input, str):
            return CaseOutput(error="its input is a text, not an object of arguments")
        outcome = self._run(program, dict(case.input), self._open_broker(skills, case.skill))
        if not outcome.ok:
            return CaseOutput(error=outcome.error)
        return CaseOutput(output=encode_output(outcome.output))

    def _open_broker(self, skills: SkillsUnderTest, slug: str) -> Broker:
        def run_called(name: str, payload: dict[str, Any], broker: Broker) -> RunOutcome:
            called = skills.program(slug_of_tool(name))
            if called is None:
                return RunOutcome(ok=False, error=f"no skill is called {name}")
            return self._run(called, payload, broker)

        return Broker(tool_name(slug), run_skill=run_called)

    def _run(self, program: Program, payload: dict[str, Any], broker: Broker) -> RunOutcome:
        try:
            return run_program(
                self._sandbox, program, payload, limits=self._limits, answer=broker.answer
            )
        except (
            InvalidInput
        ) as error:  # the payload does not fit the schema, or the schema is damaged
            return RunOutcome(ok=False, error=error.message)


def encode_output(output: Any) -> bytes:
    """Return an output as bytes: a text as it is, any other value as JSON."""
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")
