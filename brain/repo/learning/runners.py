"""What runs a case: a program in the sandbox, a model, or a scripted learner of a test."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from threading import Event
from typing import Literal, Protocol

from ...errors import InvalidInput
from ...gating.case_files import Case
from ...programs.program import slug_of_tool
from ...running.trial import run_over_fixtures
from ...sandbox.job import DEFAULT_LIMITS, Sandbox
from .change import SkillsAt

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
        self._limits = replace(DEFAULT_LIMITS, wall_seconds=case_seconds)

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
