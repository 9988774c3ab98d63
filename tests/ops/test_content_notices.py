"""What status and snapshot say of changed skills and of the manifest, from the disk and once."""

import json
from pathlib import Path

import pytest

from brain import Brain
from brain.ops import snapshot
from brain.repo.manifest import MANIFEST_KEYS, MANIFEST_PATH
from brain.results import Notice
from tests.support.cases import read_cases

CASES = read_cases(__file__)

SKILL = "skills/oracle/SKILL.md"
TEXT = "---\nname: oracle\ndescription: Check the oracle\nversion: 3\n---\n\nBody\n"


@pytest.fixture
def brain(tmp_path):
    """A brain with one skill and a manifest."""
    with Brain.init(tmp_path / "brain") as made:
        write(made, SKILL, TEXT)
        made.snapshot()
        yield made


def write(brain: Brain, path: str, text: str) -> None:
    """Write a file of the folder, as an editor does."""
    file = brain.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def content_of(notices: list[Notice]) -> list[Notice]:
    """Return the notices about the content of skills and of the manifest."""
    codes = (snapshot.VERSION_CODE, "bad_yaml", "bad_manifest")
    return [notice for notice in notices if notice.code in codes]


def test_an_edit_that_keeps_the_version_is_said_once_with_the_command(brain):
    write(brain, SKILL, TEXT + "More\n")
    (before,) = content_of(brain.status().notices)
    (recorded,) = content_of(brain.snapshot().notices)
    assert before == recorded
    assert (recorded.code, recorded.path) == ("version_not_raised", SKILL)
    assert recorded.message.startswith("its version is still 3; `brain skill upsert oracle` raises")
    write(brain, "memory/notes.md", "Other\n")
    assert content_of(brain.status().notices) == content_of(brain.snapshot().notices) == []


def test_a_lower_version_is_named(brain):
    write(brain, SKILL, TEXT.replace("3", "2"))
    (notice,) = content_of(brain.status().notices)
    assert notice.message.startswith("its version went from 3 to 2;")


def test_a_new_skill_a_higher_version_and_a_removed_skill_need_no_notice(brain):
    write(brain, SKILL, TEXT.replace("3", "4"))
    write(brain, "skills/other/SKILL.md", TEXT.replace("oracle", "other"))
    assert content_of(brain.status().notices) == content_of(brain.snapshot().notices) == []
    (brain.root / SKILL).unlink()
    assert content_of(brain.status().notices) == content_of(brain.snapshot().notices) == []


def test_front_matter_that_yaml_refuses_is_named_with_its_line(brain):
    write(brain, "skills/new/SKILL.md", "---\nname: new\ndescription: Use it: now\n---\n")
    write(brain, "skills/open/SKILL.md", "---\nname: open\ndescription: Not closed\n")
    found = {notice.path: notice for notice in content_of(brain.status().notices)}
    assert set(found) == {"skills/new/SKILL.md", "skills/open/SKILL.md"}
    assert found["skills/new/SKILL.md"].code == "bad_yaml"
    assert found["skills/new/SKILL.md"].message.startswith("line 3: YAML refuses this")
    assert found["skills/open/SKILL.md"].message.endswith("end it with a line '---'")
    assert content_of(brain.snapshot().notices) == list(found.values())


@pytest.mark.parametrize(("manifest", "message"), CASES["test_a_bad_or_misspelt_manifest_is_named"])
def test_a_bad_or_misspelt_manifest_is_named(brain, manifest, message):
    write(brain, MANIFEST_PATH, manifest)
    (notice,) = content_of(brain.status().notices)
    assert (notice.code, notice.path) == ("bad_manifest", MANIFEST_PATH)
    assert message in notice.message
    assert content_of(brain.snapshot().notices) == [notice]
    assert any(check.check == "manifest" and not check.ok for check in brain.doctor())


def test_the_keys_of_the_manifest_are_those_of_its_schema():
    schema = json.loads(Path("schemas/manifest.json").read_text())["properties"]
    assert set(MANIFEST_KEYS[""]) == set(schema)
    for section in ("prompt", "commit", "secrets", "synthesis", "evolution"):
        assert set(MANIFEST_KEYS[section]) == set(schema[section]["properties"])
    gaps = schema["evolution"]["properties"]["gaps"]["properties"]
    assert set(MANIFEST_KEYS["evolution.gaps"]) == set(gaps)


def test_very_many_notices_are_counted(brain):
    count = snapshot.MAX_NOTICES + 5
    for number in range(count):
        write(brain, f"skills/s{number}/SKILL.md", TEXT.replace("oracle", f"s{number}"))
    brain.snapshot()
    for number in range(count):
        write(brain, f"skills/s{number}/SKILL.md", TEXT.replace("oracle", f"s{number}") + "x\n")
    notices = content_of(brain.snapshot().notices)
    assert len(notices) == snapshot.MAX_NOTICES + 1
    assert notices[-1].message == "5 more edited skills keep their versions"


def test_doctor_judges_the_folder_and_takes_no_edit_for_a_fault(brain):
    write(brain, SKILL, TEXT + "More\n")
    assert all(check.ok for check in brain.doctor())
    write(brain, SKILL, TEXT.replace("Check the", "Check: the"))
    (fault,) = [check for check in brain.doctor() if not check.ok]
    assert fault.check == "folder" and SKILL in fault.message and "front matter" in fault.hint


def found_problems(brain: Brain, *slugs: str) -> set[tuple[str, str]]:
    """Return path and code of what is wrong with skills, but for the field of the version."""
    found = {(problem.path, problem.code) for problem in brain.skills.check(slugs)}
    return {(path, code) for path, code in found if code != "unknown_field"}


def test_skills_are_checked_as_they_lie_in_the_folder(brain):
    head = brain.head
    write(brain, SKILL, TEXT.replace("Check the", "Check: the"))
    write(brain, "skills/new/SKILL.md", "---\nname: other\ndescription: New\n---\n")
    assert found_problems(brain) == {(SKILL, "bad_yaml"), ("skills/new/SKILL.md", "name_mismatch")}
    assert found_problems(brain, "new") == {("skills/new/SKILL.md", "name_mismatch")}
    assert found_problems(brain, SKILL) == {(SKILL, "bad_yaml")}
    assert brain.head == head and brain.verify(deep=True).ok
    (brain.root / SKILL).unlink()
    (brain.root / "skills/new/SKILL.md").unlink()
    assert found_problems(brain) == set()
    write(brain, "memory/notes.md", "The brain still records.\n")
    assert brain.snapshot().changed and brain.verify(deep=True).ok


def test_a_skill_in_the_folder_that_is_too_large_is_an_error(brain, monkeypatch):
    monkeypatch.setattr("brain.limits.MAX_SKILL_BYTES", 1000)
    write(brain, SKILL, TEXT + "x" * 1000)
    assert [problem.code for problem in brain.skills.check()] == ["too_large"]
