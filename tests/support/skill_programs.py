"""Programs of skills for tests: their files, and trials that were never run."""

import json
from pathlib import Path

import pytest

from brain import Brain
from brain.digest import blob_id
from brain.programs.program import Program
from brain.repo.learning.admission import STATE_DIR_VARIABLE
from brain.repo.learning.change import PlannedChange, SkillEdit, plan_acquired, plan_admitted
from brain.repo.learning.record import TriedChange, record_change
from brain.results import Decided
from brain.running.trial import Trial
from brain.verdicts.verdict import ProgramFile, Verdict, VerdictCase

PAYLOAD = b'{"text": "a b"}'


def program_files(answer: str = 'len(payload["text"].split())') -> dict[str, bytes]:
    """Return the files of a program that counts the words of a text, or answers otherwise."""
    code = (
        "import json\nimport sys\n\n"
        'if __name__ == "__main__":\n'
        "    payload = json.loads(sys.argv[1])\n"
        f'    print(json.dumps({{"words": {answer}}}))\n'
    )
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    cases = [
        {"payload": {"text": "one two three"}, "output": {"words": 3}},
        {"payload": {"text": "one two"}, "output": {"words": 2}},
    ]
    check = (
        "def check(payload, output):\n"
        '    assert output == {"words": len(payload["text"].split())}, "wrong count"\n'
    )
    return {
        "skill.py": code.encode(),
        "schema.json": json.dumps(schema).encode(),
        "tests/cases.json": json.dumps(cases).encode(),
        "tests/check.py": check.encode(),
    }


def acquire_request(name: str = "word-count", answer: str = "", base: str = "") -> SkillEdit:
    """Return the edit that makes a skill that counts words, or answers otherwise."""
    files = program_files(answer) if answer else program_files()
    return SkillEdit(name=name, files=files, description="Count words", base=base)


def untested_trial(program: Program, decision: str = "admit") -> Trial:
    """Return a trial of a program as one that passed, or was rejected, would be."""
    outcome = "pass" if decision == "admit" else "fail"
    verdict = Verdict(
        decision=decision,
        skill=program.slug,
        decider="rule",
        decided_by="trial",
        reason="" if decision == "admit" else "author 1: wrong",
        files=tuple(ProgramFile(path, blob) for path, blob in program.blobs),
        sandbox="none, in a test",
        cases=tuple(
            VerdictCase(kind=kind, name=f"{kind} 1", outcome=outcome, payload=blob_id(PAYLOAD))
            for kind in ("author", "unseen", "stub")
        ),
    )
    return Trial(program=program, verdict=verdict, contents=(PAYLOAD,))


def acquire_untested(brain: Brain, edit: SkillEdit, decision: str = "admit") -> Decided:
    """Acquire a skill, or reject it, without a trial."""
    return record_untested(brain, plan_acquired(brain._session, edit), decision)


def admit_untested(brain: Brain, slug: str, decision: str = "admit") -> Decided:
    """Admit the program that a skill has, or reject it, without a trial."""
    return record_untested(brain, plan_admitted(brain._session, slug), decision)


def record_untested(
    brain: Brain, planned: PlannedChange, decision: str = "admit", *, decider: str = "rule"
) -> Decided:
    """Record a planned program as one whose trial passed, or failed."""
    assert planned.program is not None
    trial = untested_trial(planned.program, decision)
    decided = TriedChange(
        planned=planned,
        verdict=trial.verdict._replace(decider=decider),
        contents=trial.contents,
        program=trial.program,
    )
    return brain._locked.run_write(record_change, decided)


def admit_program(
    brain: Brain, slug: str, code: str, *, decider: str = "rule", by_agent: bool = True
) -> Decided:
    """Write a skill whose skill.py has this code, and admit it as if a trial had passed."""
    if by_agent:
        with brain.task(f"Write {slug}") as task:
            task.record_model_call("fake-model", "write", code)
            return admit_program(brain, slug, code, decider=decider, by_agent=False)
    files = {"skill.py": code.encode(), "schema.json": b"{}"}
    edit = SkillEdit(name=slug, files=files, description=f"Use {slug}.", body=b"# A skill\n")
    return record_untested(brain, plan_acquired(brain._session, edit), decider=decider)


def use_state_folder(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Keep what this machine has tried in a folder of the test."""
    patch.setenv(STATE_DIR_VARIABLE, str(folder))
