"""Run the cases of a verdict again, without its change and with it, in the sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ...gating.case_files import Case
from ...programs.program import Program
from ...repo.learning.recheck import FoundVerdict, RecheckTools
from .case_runner import AND, kind_of_case
from .sandbox_runner import SANDBOX_RUNNER, SandboxRunner


class ProgramReader(Protocol):
    """Reads programs at a snapshot; `brain.gate` is one."""

    def read_program(self, snapshot: bytes, slug: str) -> Program | None:
        """Return the program of a skill, None without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSkills:
    """The `SkillsUnderTest` of a snapshot, as far as programs need them: no texts, no prompt."""

    reader: ProgramReader
    snapshot: bytes
    slug: str

    def text(self, slug: str) -> str | None:
        """Return None: a program reads no texts."""
        return None

    def program(self, slug: str) -> Program | None:
        """Return the program of a skill, None without one."""
        return self.reader.read_program(self.snapshot, slug)

    def prompt(self, case: Case) -> str:
        """Return an empty prompt: a program is given none."""
        return ""


def with_rerun(tools: RecheckTools, reader: ProgramReader, found: FoundVerdict) -> RecheckTools:
    """Return tools that run each case of a verdict again; they say so where that is not possible.

    What a model answered cannot be had again, so only programs run.
    """
    runners = found.verdict.runner.split(AND)
    if SANDBOX_RUNNER not in runners:
        runner = found.verdict.runner
        return replace(tools, not_run=f"nothing ran again: the cases were run by {runner}")
    if not found.snapshot:
        return replace(tools, not_run="nothing ran again: no snapshot here has this verdict")
    sides = [
        RecordedSkills(reader=reader, snapshot=snapshot, slug=found.verdict.skill)
        for snapshot in (found.parent, found.snapshot)
    ]

    others = [runner for runner in runners if runner != SANDBOX_RUNNER]
    not_run = f"what was run by {others[0]} did not run again" if others else ""

    def rerun(case: Case) -> Sequence[bytes | None]:
        runner = SandboxRunner(tools.find_sandbox())
        if others and kind_of_case(sides[-1], case) not in runner.kinds:
            return []
        outputs = [runner.run(skills, case, 0) for skills in sides]
        return [None if one.error else one.output for one in outputs]

    return replace(tools, rerun=rerun, not_run=not_run)
