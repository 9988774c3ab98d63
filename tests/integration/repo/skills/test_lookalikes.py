"""Names of skills that deceive are told as they are made, recorded, adopted and checked."""

from pathlib import Path

import pytest

from brain import Brain
from brain.repo.read import lookalikes
from brain.serve.tools import Toolbox


@pytest.fixture
def brain(tmp_path):
    return Brain.init(tmp_path / "brain")


def skill(name: str) -> bytes:
    return f"---\nname: {name}\ndescription: Does it.\n---\nText.\n".encode()


def write(root: Path, folder: str, name: str) -> None:
    (root / folder).mkdir(parents=True)
    (root / folder / "SKILL.md").write_bytes(skill(name))


def codes(brain: Brain) -> list[tuple[str, str]]:
    """Return what a snapshot says of names."""
    notices = brain.snapshot().notices
    return [(one.code, one.path) for one in notices if one.code != "version_not_raised"]


def test_a_second_skill_of_one_name_is_told_with_the_first(brain):
    brain.skills.upsert("deploy", b"Ship it.\n")
    write(brain.root, "skills/tools/other", "Deploy")
    (notice,) = brain.snapshot().notices
    assert (notice.code, notice.path) == ("same_name", "skills/tools/other/SKILL.md")
    assert notice.message == "is called Deploy, as is skills/deploy/SKILL.md"


def test_two_new_skills_of_one_name_are_told_both(brain):
    write(brain.root, "skills/one", "deploy")
    write(brain.root, "skills/two", "deploy")
    assert codes(brain) == [
        ("same_name", "skills/one/SKILL.md"),
        ("same_name", "skills/two/SKILL.md"),
    ]


def test_one_that_looks_like_another_in_other_letters_is_told_with_it(brain):
    brain.skills.upsert("paypal", b"Pay.\n")
    write(brain.root, "skills/x", "раураl")
    assert codes(brain) == [
        ("mixed_scripts", "skills/x/SKILL.md"),
        ("same_name", "skills/x/SKILL.md"),
    ]


def test_it_is_told_once_and_again_only_when_the_name_changes(brain):
    write(brain.root, "skills/x", "раypal")
    assert codes(brain) == [("mixed_scripts", "skills/x/SKILL.md")]
    path = brain.root / "skills/x/SKILL.md"
    path.write_bytes(path.read_bytes() + b"More.\n")
    assert codes(brain) == []
    path.write_bytes(skill("gооgle"))
    assert codes(brain) == [("mixed_scripts", "skills/x/SKILL.md")]


@pytest.mark.parametrize("name", ['"pay\\u202Epal"', '"pay\\u200bpal"', '"pay\\U000E0041"'])
def test_hidden_characters_that_the_front_matter_escapes_are_told(brain, name):
    write(brain.root, "skills/x", name)
    assert codes(brain) == [("hidden_name", "skills/x/SKILL.md")]
    assert "hidden_name" in [problem.code for problem in brain.skills.check()]


def test_ordinary_skills_are_told_nothing_of(brain):
    for number, name in enumerate(("Проверка API", "技能调试", "🔥 deploy", "deploy", "C++", "C#")):
        write(brain.root, f"skills/s{number}", name)
    assert brain.snapshot().notices == []
    codes = {one.code for one in brain.skills.check()}
    assert codes == {"bad_name", "name_mismatch"}


def test_an_upsert_tells_of_the_name_it_was_given_and_of_that_in_the_text(brain):
    made = brain.skills.upsert("раypal", b"Pay.\n")
    assert [one.code for one in made.notices] == ["mixed_scripts"]
    assert brain.skills.upsert("раypal", b"Pay more.\n").notices == []
    brain.skills.upsert("deploy", b"Ship it.\n")
    twin = brain.skills.upsert("shipping", skill("deploy"))
    assert [(one.code, one.path) for one in twin.notices] == [("same_name", twin.path)]
    assert "skills/deploy/SKILL.md" in twin.notices[0].message


def test_skill_manage_tells_the_model(brain):
    tools = Toolbox(brain)
    made = tools.call("skill_manage", {"action": "create", "name": "раypal", "content": "Pay."})
    said = "the name раypal mixes scripts: it has Cyrillic р (U+0440), а (U+0430)"
    assert made.text.splitlines()[1:] == [f"Note: skills/raypal/SKILL.md: {said}"]


def test_skill_check_names_the_others(brain):
    write(brain.root, "skills/one", "deploy")
    write(brain.root, "skills/two", "Deploy")
    brain.snapshot()
    found = {one.path: one.message for one in brain.skills.check() if one.code == "same_name"}
    assert found == {
        "skills/one/SKILL.md": "is called deploy, as is skills/two/SKILL.md",
        "skills/two/SKILL.md": "is called Deploy, as is skills/one/SKILL.md",
    }


def test_an_adoption_tells_of_what_it_took(brain, tmp_path):
    brain.skills.upsert("deploy", b"Ship it.\n")
    write(tmp_path / "source", "skills/mine", "deploy")
    write(tmp_path / "source", "skills/pay", "раypal")
    done = Brain.adopt(tmp_path / "source", brain.root)
    assert [one.code for one in done.notices] == ["same_name", "mixed_scripts"]


def test_of_very_many_it_is_said_that_they_were_not_compared(brain, monkeypatch):
    monkeypatch.setattr(lookalikes, "MAX_COMPARED_NAMES", 1)
    write(brain.root, "skills/one", "deploy")
    write(brain.root, "skills/two", "deploy")
    (notice,) = brain.snapshot().notices
    assert notice.code == "names_not_compared" and "brain skill check" in notice.message
