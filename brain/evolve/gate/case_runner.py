"""What runs a case: a program in the sandbox, a model, or a scripted learner of a test."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

from ...gating.case_files import Case
from ...programs.program import Program
from ...repo.learning.guards import CaseKind


class SkillsUnderTest(Protocol):
    """The skills of a brain, with a change or without it."""

    @property
    def slug(self) -> str:
        """The skill that the change is about."""

    def text(self, slug: str) -> str | None:
        """Return the body of a skill; None if there is no such skill."""

    def program(self, slug: str) -> Program | None:
        """Return the program of a skill, None without one."""

    def prompt(self, case: Case) -> str:
        """Return the system prompt for a case: its skill, and the changed one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutput:
    """What came out: JSON or text. `error` says why there is no output, "" if there is one."""

    output: bytes = b""
    error: str = ""


def kind_of_case(skills: SkillsUnderTest, case: Case) -> CaseKind:
    """Return what answers a case: a program, if its skill has one and its input is an object."""
    is_text = isinstance(case.input, str) or skills.program(case.skill) is None
    return "text" if is_text else "program"


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

    def run(self, skills: SkillsUnderTest, case: Case, number: int) -> CaseOutput:
        """Run a case in round `number`, from 0."""


AND = " and "
"""Between the names of runners, in the name of several."""


class Runners:
    """Runs each case with the first of `runners` that can run it, else with the first of all.

    The first runs all cases of the changed skill. What repeats itself runs a case once a side:
    `known` has those outputs, by the side and the case.
    """

    def __init__(
        self, runners: Iterable[CaseRunner], known: dict[tuple[int, str], CaseOutput]
    ) -> None:
        self._runners = list(runners)
        self._known = known
        self.name = AND.join(runner.name for runner in self._runners)
        self.repeats_itself = all(runner.repeats_itself for runner in self._runners)
        self.kinds = {kind for runner in self._runners for kind in runner.kinds}

    def run(self, skills: SkillsUnderTest, case: Case, number: int) -> CaseOutput:
        """Run a case with its runner."""
        runner = self._runners[0]
        if case.skill != skills.slug:
            kind = kind_of_case(skills, case)
            runner = next((one for one in self._runners if kind in one.kinds), runner)
        key = id(skills), case.path
        if not runner.repeats_itself:
            return runner.run(skills, case, number)
        if key not in self._known:
            self._known[key] = runner.run(skills, case, number)
        return self._known[key]
