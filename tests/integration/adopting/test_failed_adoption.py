"""An adoption that fails leaves what was there before, and nothing else."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from brain import Brain
from brain.api.branches import MergePart
from brain.api.history import ImportsPart
from brain.errors import BrainError, InvalidInput
from tests.support.agent_homes import make_hermes_home, skill_text, write_files
from tests.support.planted_secrets import SECRET_MAKERS
from tests.support.refusals import raises_code


def folder_of_nothing(place: Path) -> str:
    write_files(place, {"README.md": "r"})
    return "unknown_source"


def project_of_settings(place: Path) -> str:
    write_files(place, {".claude/settings.json": "{}"})
    return "nothing_to_take"


def skills_with_secrets(place: Path) -> str:
    write_files(place, {"a/SKILL.md": SECRET_MAKERS["github-token"](random.Random(11))})
    return "nothing_to_take"


SOURCES: tuple[Callable[[Path], str], ...] = (
    folder_of_nothing,
    project_of_settings,
    skills_with_secrets,
)


@pytest.fixture
def before(tmp_path):
    def seen() -> dict[str, bytes]:
        paths = [path for path in tmp_path.rglob("*") if ".git" not in path.parts]
        return {str(path): path.read_bytes() if path.is_file() else b"" for path in paths}

    return seen


@pytest.mark.parametrize("make", SOURCES)
def test_a_source_that_cannot_be_taken_leaves_no_brain(tmp_path, make, before):
    (tmp_path / "empty").mkdir()
    code = make(tmp_path / "source")
    was = before()
    for target in ("new/deeper/brain", "empty"):
        with raises_code(code, InvalidInput):
            Brain.adopt(tmp_path / "source", tmp_path / target)
        assert before() == was
    if code == "nothing_to_take":
        done = Brain.preview_adoption(tmp_path / "source", tmp_path / "brain")
        assert done.left_out and not done.taken


def test_a_source_refused_on_the_way_leaves_no_brain(tmp_path, monkeypatch, before):
    home = make_hermes_home(tmp_path / "home")
    was = before()
    monkeypatch.setattr("brain.adopting.scan_home.MAX_HOME_FILES", 3)
    for target in (tmp_path / "a/brain", None):
        with raises_code("too_many", InvalidInput):
            Brain.adopt(home, target)
        assert before() == was


@pytest.mark.parametrize("rules", [b"[z-a]\n", b"\xff\n", b"#" * (64 << 10)])
def test_rules_of_a_home_that_cannot_be_read_stay_as_they_are(tmp_path, rules, before):
    home = make_hermes_home(tmp_path / "home")
    (home / ".brainignore").write_bytes(rules)
    was = before()
    with raises_code("bad_ignore", InvalidInput) as caught:
        Brain.adopt(home)
    assert "name a folder" in caught.value.hint
    assert before() == was


@pytest.mark.parametrize("in_place", [False, True])
def test_a_brain_that_cannot_be_made_is_taken_back(tmp_path, in_place, before):
    def no_key() -> bytes:
        raise BrainError("no key", code="no_key")

    home = make_hermes_home(tmp_path / "home")
    write_files(home, {".brainignore": "# mine\n"})
    was = before()
    for _ in range(2):
        with raises_code("no_key", BrainError):
            Brain.adopt(home, None if in_place else tmp_path / "x/brain", sign_with=no_key)
        assert before() == was


def test_a_brain_that_is_there_stays_what_it_was(tmp_path):
    Brain.adopt(make_hermes_home(tmp_path / "home"), tmp_path / "brain")
    folder_of_nothing(tmp_path / "nothing")
    with Brain.open(tmp_path / "brain") as brain:
        was = (
            brain.head,
            len(brain.history.list_operations()),
            [row.name for row in brain.branches.list().branches],
        )
    with pytest.raises(InvalidInput):
        Brain.adopt(tmp_path / "nothing", tmp_path / "brain")
    with Brain.open(tmp_path / "brain") as brain:
        now = (
            brain.head,
            len(brain.history.list_operations()),
            [row.name for row in brain.branches.list().branches],
        )
        assert now == was and brain.verify(deep=True).ok


def test_what_was_recorded_before_it_failed_stays_and_the_hint_says_so(tmp_path, monkeypatch):
    home = make_hermes_home(tmp_path / "home")

    def full(*_: object, **__: object) -> None:
        raise BrainError("no space left", code="no_space", hint="free some space")

    with monkeypatch.context() as patched, pytest.raises(BrainError) as caught:
        patched.setattr(MergePart, "start", full)
        Brain.adopt(home, tmp_path / "brain")
    assert caught.value.hint.startswith("free some space; ")
    assert caught.value.hint.endswith("holds what was read; adopt again to continue")
    done = Brain.adopt(home, tmp_path / "brain")
    assert done.changed and len(done.taken) == 7
    with Brain.open(tmp_path / "brain") as brain:
        assert brain.status().clean and brain.verify(deep=True).ok
        assert sum(row.operation["kind"] == "import" for row in brain.history.log()) == 1


def test_what_somebody_else_put_there_meanwhile_stays(tmp_path, monkeypatch):
    def failing(*_: object, **__: object) -> None:
        write_files(tmp_path / "brain", {"skills/other/SKILL.md": skill_text("other", "Not ours.")})
        raise BrainError("broke")

    with monkeypatch.context() as patched, pytest.raises(BrainError) as caught:
        patched.setattr(ImportsPart, "record_state", failing)
        Brain.adopt(make_hermes_home(tmp_path / "home"), tmp_path / "brain")
    assert sorted(os.listdir(tmp_path / "brain")) == ["skills"]
    assert (tmp_path / "brain/skills/other/SKILL.md").exists()
    assert "these can be removed" in caught.value.hint
