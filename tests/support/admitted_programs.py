"""Skills with programs that are admitted without a sandbox, by a verdict made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from brain import Brain
from brain.programs.program import Program
from brain.repo.programs.record_decision import record_acquired
from brain.repo.programs.tried_programs import STATE_DIR_VARIABLE
from brain.repo.skills.upsert import UpsertRequest
from brain.results import Decided
from brain.running.trial import Trial
from brain.verdicts.verdict_types import CASE_KINDS, ProgramFile, Verdict, VerdictCase


def admit_program(
    brain: Brain, slug: str, code: str, *, decider: str = "rule", by_agent: bool = True
) -> Decided:
    """Write a skill whose skill.py has this code, and admit it as if a trial had passed."""
    if by_agent:
        with brain.task(f"Write {slug}") as task:
            task.record_model_call("fake-model", "write", code)
            return admit_program(brain, slug, code, decider=decider, by_agent=False)
    program = Program(slug=slug, files={"skill.py": code.encode(), "schema.json": b"{}"})
    verdict = Verdict(
        decision="admit",
        skill=slug,
        decider=decider,
        decided_by="a test",
        sandbox="none, in a test",
        files=tuple(ProgramFile(path, blob) for path, blob in program.blobs),
        cases=tuple(VerdictCase(kind=kind, name=kind, outcome="pass") for kind in CASE_KINDS),
    )
    request = UpsertRequest(name=slug, description=f"Use {slug}.", body=b"# A skill\n")
    return record_acquired(
        brain._locked.session, request, program, Trial(verdict=verdict, contents=())
    )


def use_state_folder(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Keep what this machine has tried in a folder of the test."""
    patch.setenv(STATE_DIR_VARIABLE, str(folder))
