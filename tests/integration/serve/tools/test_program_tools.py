"""The tools of skills that run: which are offered, and how much room they take."""

import json

import pytest

from brain import Brain
from brain.experience.usage import SkillUse
from brain.serve.tools import definitions, programs
from tests.support.skill_programs import admit_program, use_state_folder

ECHO = "import sys\nprint(sys.argv[1])\n"


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch):
    use_state_folder(monkeypatch, tmp_path / "state")
    monkeypatch.setattr(programs, "has_sandbox", lambda: True)  # none of them runs here


def use(brain: Brain, slug: str, times: int) -> None:
    for at in range(times):
        use = SkillUse(path=f"skills/{slug}/SKILL.md", version="1", outcome="success", at=at + 1)
        brain._session.usage.record_use(use)


def names(brain: Brain) -> list[str]:
    return [tool.name for tool in programs.list_program_tools(brain)]


def test_the_most_used_comes_first_and_then_the_order_is_that_of_the_paths(brain):
    for slug in ("alpha", "beta", "delta", "gamma"):
        admit_program(brain, slug, ECHO)
    use(brain, "gamma", 3)
    use(brain, "beta", 1)
    assert names(brain) == ["gamma", "beta", "alpha", "delta"]


def test_what_may_not_run_is_not_offered_however_much_it_was_used(brain):
    admit_program(brain, "alpha", ECHO)
    admit_program(brain, "beta", ECHO)
    use(brain, "alpha", 9)
    (brain.root / "skills/alpha/skill.py").write_text("import os\n")
    assert names(brain) == ["beta"]
    brain.snapshot()
    assert names(brain) == ["beta"]


def test_so_many_are_offered_as_fit(brain, monkeypatch):
    for slug in ("alpha", "beta", "delta"):
        admit_program(brain, slug, ECHO)
    monkeypatch.setattr(programs, "MAX_PROGRAM_TOOLS", 2)
    assert names(brain) == ["alpha", "beta"]
    sizes = [
        len(json.dumps(definitions.mcp([tool]), separators=(",", ":")))
        for tool in programs.list_program_tools(brain)
    ]
    monkeypatch.setattr(programs, "MAX_PROGRAM_TOOLS_CHARS", sum(sizes))
    assert names(brain) == ["alpha", "beta"]
    monkeypatch.setattr(programs, "MAX_PROGRAM_TOOLS_CHARS", sum(sizes) - 1)
    assert names(brain) == ["alpha"]


def test_a_damaged_file_of_uses_takes_no_tool_away(brain):
    admit_program(brain, "alpha", ECHO)
    use(brain, "alpha", 1)
    brain.close()
    (brain.root / ".brain/evolution.db").write_bytes(b"no database")
    with Brain.open(brain.root) as again:
        assert names(again) == ["alpha"]
