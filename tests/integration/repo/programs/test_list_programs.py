"""The list of programs follows every change of the head, as a brain opened anew reads it."""

from collections.abc import Callable

import pytest

from brain import Brain
from tests.support.skill_programs import admit_program, use_state_folder

CODE = "import sys\nprint(sys.argv[1])\n"


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch):
    use_state_folder(monkeypatch, tmp_path / "state")


def edit_code(brain: Brain) -> None:
    (brain.root / "skills/beta/skill.py").write_text("print(2)\n")
    brain.snapshot()


def remove_code(brain: Brain) -> None:
    (brain.root / "skills/alpha/skill.py").unlink()
    brain.snapshot()


def collect(brain: Brain) -> None:
    brain.undo()
    brain.gc(grace=0)


CHANGES: dict[str, Callable[[Brain], object]] = {
    "another skill": lambda brain: brain.skills.upsert("Gamma", "Text.\n"),
    "new code": lambda brain: admit_program(brain, "gamma", CODE),
    "edited code": edit_code,
    "removed code": remove_code,
    "deleted skill": lambda brain: brain.skills.delete("alpha"),
    "renamed skill": lambda brain: brain.skills.rename("alpha", "Zeta"),
    "undo": lambda brain: brain.undo(),
    "garbage": collect,
}


@pytest.mark.parametrize("change", CHANGES)
def test_it_is_the_same_as_that_of_a_brain_opened_anew(brain, change):
    admit_program(brain, "alpha", CODE)
    admit_program(brain, "beta", CODE)
    assert [program.slug for program in brain.programs.list()] == ["alpha", "beta"]
    CHANGES[change](brain)
    with Brain.open(brain.root) as fresh:
        assert brain.programs.list() == fresh.programs.list()
