"""What rules a brain comes from no source, whatever the source is."""

from pathlib import Path

import pytest

from brain import Brain
from brain.adopting import preview_adoption, publish
from brain.adopting.publish_manifest import RECORD_NAME
from brain.results import Adopted
from tests.support.agent_homes import make_hermes_home, write_files
from tests.support.git_repositories import GitRepository

RULES = {
    "manifest.yaml": "name: evil\ncommit: {ledger: local}\n",
    ".brainignore": "skills/own\n",
    "trust.json": "evil\n",
}
FILES = {"skills/a/SKILL.md": "---\nname: a\ndescription: A\n---\n", "memory/m.md": "m\n"}
LETTA = {"persona.md": "p\n", "human.md": "h\n", "MEMORY.md": "m\n"}


def repository(place: Path, files: dict[str, str]) -> None:
    GitRepository(place).commit({path: text.encode() for path, text in files.items()})


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
    seen = preview_adoption(tmp_path / "source", target)
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
    seen = preview_adoption(home)
    for number in range(3):
        done = Brain.adopt(home)
        assert done.changed == (number == 0)
        assert reasons(done) == reasons(seen) and reasons(done).keys() == {"trust.json"}
        with Brain.open(home) as brain:
            tops = {info.path for info in brain.files.list() if "/" not in info.path}
        assert tops == {"manifest.yaml", ".brainignore", "SOUL.md"}
    assert Brain.adopt(home, tmp_path / "copy").changed
    assert reasons(preview_adoption(home, tmp_path / "copy")).keys() == RULES.keys()
