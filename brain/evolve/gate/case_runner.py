"""What runs a case: a program in the sandbox, a model, or a scripted learner of a test."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from ...gating.case_types import Case
from ...programs.program import Program
from ...repo.gate.touched_cases import CaseKind


class SkillsUnderTest(Protocol):
    """The skills of a brain, with a change or without it."""

    @property
    def slug(self) -> str:
        """The skill that the change is about."""

    def text(self, slug: str) -> str | None:
        """Return the body of a skill; None if there is no such skill."""

    def program(self, slug: str) -> Program | None:
        """Return the program of a skill, None without one."""

    def prompt(self, task: str) -> str:
        """Return the system prompt for a task: the index, and the skills chosen for the task."""


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
