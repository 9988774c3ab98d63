"""A folder into which the brain has published, with a record that somebody wrote by hand."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from brain import Brain
from brain.adopting import publish
from brain.adopting.publish_manifest import RECORD_NAME
from brain.digest import blob_id
from brain.errors import InvalidInput
from brain.results import Adopted
from tests.support.agent_homes import make_hermes_home, skill_text, write_files
from tests.support.git_repositories import GitRepository
from tests.support.refusals import raises_code

OTHERS = ("trust.json", "MEMORY.md", "manifest.yaml", "SOUL.md")


@pytest.fixture
def brain(tmp_path):
    """A brain with a skill, and with what belongs to the brain itself."""
    files = {
        "MEMORY.md": "Two cores.\n",
        "SOUL.md": "Be kind.\n",
        "trust.json": "threshold: 1\n",
        "skills/notes.md": skill_text("notes", "Notes."),
    }
    made = Brain.init(write_files(tmp_path / "brain", files), author="Ada")
    made.snapshot("All")
    return made


def forge(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the one record in a folder."""
    record = json.loads((folder / RECORD_NAME).read_text())
    change(record["published"][0])
    (folder / RECORD_NAME).write_text(json.dumps(record))


def add(home: str, row: dict[str, str], record: dict[str, Any]) -> None:
    """Add a row to a record."""
    record["files"][home] = row


@pytest.mark.parametrize("there", [False, True], ids=["removed", "replaced"])
def test_a_row_that_publishing_never_wrote_changes_nothing_of_the_brain(tmp_path, brain, there):
    out = tmp_path / "out"
    publish(brain, "agentskills", out)
    before = {path: brain.files.read(path) for path in OTHERS}
    for number, path in enumerate(OTHERS):
        home, blob = f"evil-{number}/SKILL.md", blob_id(before[path]).hex()
        row = {"path": path, "blob": blob, "form": "1:agentskills:kept", "state": blob, "was": ""}
        forge(out, partial(add, home, row))
        if there:
            write_files(out, {home: skill_text(f"evil-{number}", "EVIL")})
    Brain.adopt(out, brain.root)
    assert {path: brain.files.read(path) for path in OTHERS} == before
    assert {path: (brain.root / path).read_bytes() for path in OTHERS} == before


def test_a_row_removes_nothing_whose_content_it_does_not_know(tmp_path, brain):
    out = tmp_path / "out"
    publish(brain, "agentskills", out)
    forge(out, lambda record: record["files"]["notes/SKILL.md"].update(blob="0" * 64))
    (out / "notes/SKILL.md").unlink()
    write_files(out, {"other/SKILL.md": skill_text("other", "Other.")})
    Brain.adopt(out, brain.root)
    assert {row.slug for row in brain.skills.list()} == {"notes", "other"}


def test_a_record_brings_in_no_snapshot_that_the_head_did_not_come_from(tmp_path, brain):
    out = tmp_path / "out"
    publish(brain, "agentskills", out)
    brain.branches.create("proposed")
    brain.branches.switch("proposed")
    write_files(brain.root, {"trust.json": "threshold: 9\n"})
    proposed = brain.snapshot("Trust all").snapshot
    brain.branches.switch("main")
    forge(out, lambda record: record.update(snapshot=proposed))
    head = brain.head
    with raises_code("not_of_head", InvalidInput) as caught:
        Brain.adopt(out, brain.root)
    assert RECORD_NAME in caught.value.hint
    assert brain.head == head and b"1" in brain.files.read("trust.json")


@pytest.mark.parametrize("rev", ["main", "0" * 64])
def test_a_snapshot_is_named_by_its_whole_id(tmp_path, brain, rev):
    out = tmp_path / "out"
    publish(brain, "agentskills", out)
    forge(out, lambda record: record.update(snapshot=rev))
    (out / "notes/SKILL.md").unlink()
    write_files(out, {"other/SKILL.md": skill_text("other", "Other.")})
    Brain.adopt(out, brain.root)
    assert {row.slug for row in brain.skills.list()} == {"notes", "other"}


# What rules a brain comes from no source, whatever the source is.
RULES = {
    "manifest.yaml": "name: evil\ncommit: {ledger: local}\n",
    ".brainignore": "skills/own\n",
    "trust.json": "evil\n",
}
FILES = {"skills/a/SKILL.md": "---\nname: a\ndescription: A\n---\n", "memory/m.md": "m\n"}
LETTA = {"persona.md": "p\n", "human.md": "h\n", "MEMORY.md": "m\n"}


def repository(place: Path, files: dict[str, str]) -> None:
    made = GitRepository(place)
    made.commit({path: text.encode() for path, text in files.items()})
    made.check_out()


def letta(place: Path, files: dict[str, str]) -> None:
    GitRepository(place).run_git("config", "letta.agentId", "agent-local-1")
    repository(place, {**LETTA, **files})


@pytest.fixture
def target(tmp_path):
    with Brain.init(tmp_path / "brain", name="brain") as brain:
        brain.skills.upsert("own", "Learned here.\n", description="Own")
    return tmp_path / "brain"


def ruled(target: Path) -> dict[str, bytes]:
    """Return what rules a brain, and of that what it has recorded."""
    with Brain.open(target) as brain:
        brain.snapshot("As it is")
        there = {info.path: brain.files.read(info.path) for info in brain.files.list()}
    assert "skills/own/SKILL.md" in there
    tops = {path.name: path.read_bytes() for path in target.iterdir() if path.is_file()}
    assert tops == {path: content for path, content in there.items() if "/" not in path}
    return tops


def reasons(done: Adopted) -> dict[str, str]:
    return {row.path: row.message for row in done.left_out if row.path.lower() in RULES}


@pytest.mark.parametrize("make", [repository, write_files], ids=["git", "folder"])
def test_what_rules_the_source_does_not_rule_the_brain_and_is_named(tmp_path, target, make):
    make(tmp_path / "source", {**FILES, **RULES})
    before = ruled(target)
    seen = Brain.preview_adoption(tmp_path / "source", target)
    done = Brain.adopt(tmp_path / "source", target)
    assert ruled(target) == before and (target / "skills/a/SKILL.md").exists()
    assert reasons(done) == reasons(seen) and reasons(done).keys() == RULES.keys()
    assert all("rules of another brain" in why for why in reasons(done).values())


def test_a_new_brain_is_not_ruled_by_its_first_source_either(tmp_path):
    repository(tmp_path / "source", {**FILES, **RULES})
    done = Brain.adopt(tmp_path / "source", tmp_path / "new")
    assert b"evil" not in (tmp_path / "new/manifest.yaml").read_bytes()
    assert reasons(done).keys() == RULES.keys()
    assert {path.name for path in (tmp_path / "new").iterdir() if path.is_file()} == {
        "manifest.yaml"
    }


def test_another_spelling_of_such_a_name_is_the_same_file_on_some_systems(tmp_path, target):
    spelled = {"Trust.json": "evil\n", ".BrainIgnore": "skills/own\n"}
    repository(tmp_path / "source", {**FILES, **spelled})
    before = ruled(target)
    assert reasons(Brain.adopt(tmp_path / "source", target)).keys() == spelled.keys()
    assert ruled(target) == before


def test_such_a_name_further_down_rules_nothing_and_is_taken(tmp_path, target):
    letta(tmp_path / "memory", RULES)
    write_files(tmp_path / "b", {"SKILL.md": "---\nname: b\ndescription: B\n---\n", **RULES})
    before = ruled(target)
    assert not reasons(Brain.adopt(tmp_path / "memory", target))
    assert (target / "memory/trust.json").read_text() == "evil\n"
    Brain.adopt(tmp_path / "b", target)
    assert (target / "skills/b/manifest.yaml").read_text() == RULES["manifest.yaml"]
    assert ruled(target) == before


def test_the_trust_of_a_brain_stays_when_its_published_copy_has_lost_the_record(tmp_path, target):
    (target / "trust.json").write_text("ours\n")
    before = ruled(target)
    source = tmp_path / "source"
    with Brain.open(target) as brain:
        publish(brain, "agentskills", source)
    write_files(source, {"own/more.md": "More.\n"})
    assert Brain.adopt(source, target).changed
    (source / RECORD_NAME).unlink()
    write_files(source, {"own/more.md": "Even more.\n"})
    assert Brain.adopt(source, target).changed
    assert ruled(target) == before and "trust.json" in before


def test_a_brain_in_place_goes_on_holding_its_own_rules_when_it_is_adopted_again(tmp_path):
    home = write_files(make_hermes_home(tmp_path / "home"), {"trust.json": "evil\n"})
    seen = Brain.preview_adoption(home)
    for number in range(3):
        done = Brain.adopt(home)
        assert done.changed == (number == 0)
        assert reasons(done) == reasons(seen) and reasons(done).keys() == {"trust.json"}
        with Brain.open(home) as brain:
            tops = {info.path for info in brain.files.list() if "/" not in info.path}
        assert tops == {"manifest.yaml", ".brainignore", "SOUL.md"}
    assert Brain.adopt(home, tmp_path / "copy").changed
    assert reasons(Brain.preview_adoption(home, tmp_path / "copy")).keys() == RULES.keys()
