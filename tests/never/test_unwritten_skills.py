"""What an agent learned stays, although a file could not be written when it was recorded."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from brain import Brain
from brain.errors import BrainError
from tests.support.plain_rights import plain_rights
from tests.support.refusals import raises_code

FILE = "skills/a/SKILL.md"


@pytest.fixture
def brain(tmp_path):
    """An open brain whose skill `a` is recorded at version 2, but could not be written."""
    with plain_rights(), Brain.init(tmp_path / "b", author="ada") as made:
        made.skills.upsert("a", "one\n", description="d")
        made.branches.create("other")
        made.skills.upsert("z", "zet\n", description="z")
        folder = made.root / "skills/a"
        folder.chmod(0o555)
        with raises_code("unwritable", BrainError) as refused:
            made.skills.upsert("a", "two\n")
        assert "recorded" in refused.value.hint
        yield made
        folder.chmod(0o755)


CHANGES_WITHOUT_EDIT: dict[str, Callable[[Path], object]] = {
    "rights": lambda file: file.chmod(0o640),
    "no rights and back": lambda file: (file.chmod(0), file.chmod(0o600)),
    "times": lambda file: os.utime(file, (1, 1)),
    "the executable bit": lambda file: file.chmod(0o755),
    "a copy in its place": lambda file: (
        shutil.copy(file, f"{file}.2"),
        os.replace(f"{file}.2", file),
    ),
}

COMMANDS: dict[str, Callable[[Brain], object]] = {
    "status": lambda brain: brain.status(),
    "snapshot": lambda brain: brain.snapshot(),
    "another upsert": lambda brain: brain.skills.upsert("b", "bee\n", description="b"),
    "an upsert of it": lambda brain: brain.skills.upsert("a", description="e"),
    "restore": lambda brain: brain.restore("@"),
    "branch and back": lambda brain: (
        brain.branches.switch("other"),
        brain.branches.switch("main"),
    ),
    "merge": lambda brain: brain.merge.start("other"),
    "undo and redo": lambda brain: (brain.undo(), brain.redo()),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("change", CHANGES_WITHOUT_EDIT)
def test_a_file_with_its_old_content_is_no_edit_and_the_learned_text_is_written(
    brain, change, command
):
    (brain.root / "skills/a").chmod(0o755)
    CHANGES_WITHOUT_EDIT[change](brain.root / FILE)
    before = brain.status()
    assert before.clean and [one.code for one in before.notices] == ["unwritten"]
    COMMANDS[command](brain)
    brain.snapshot()
    assert "two" in (brain.root / FILE).read_text()
    assert "two" in brain.skills.view("a").body
    assert brain.status().clean and not brain.status().notices
    assert [one.message for one in brain.history.log() if "manual" in one.message] == []


def test_an_edit_made_meanwhile_is_kept(brain):
    (brain.root / "skills/a").chmod(0o755)
    (brain.root / FILE).write_text("mine\n")
    assert brain.status().modified == [FILE]
    brain.snapshot()
    assert (brain.root / FILE).read_text() == "mine\n"


def test_until_it_can_be_written_each_command_says_so_and_status_shows_it(brain):
    for command in (brain.snapshot, brain.undo, lambda: brain.skills.upsert("b", "b\n")):
        with raises_code("unwritable", BrainError) as refused:
            command()
        assert FILE in refused.value.message
        assert "of an earlier change" in refused.value.hint
        assert "this one did nothing" in refused.value.hint
    assert "b" not in [one.slug for one in brain.skills.list()]
    assert [one.code for one in brain.status().notices] == ["unwritten"]
    (brain.root / "skills/a").chmod(0o755)
    (brain.root / FILE).chmod(0)
    with raises_code("unreadable", BrainError):
        brain.snapshot()
    (brain.root / FILE).chmod(0o600)
    brain.snapshot()
    assert "two" in (brain.root / FILE).read_text()


def test_git_leaves_the_store_out(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    with Brain.init(tmp_path / "new") as brain:
        brain.skills.upsert("a", "one\n", description="d")
    (tmp_path / "new/.brain/.gitignore").unlink()  # as in brains of earlier versions
    with Brain.open(tmp_path / "new") as brain:
        brain.snapshot()
        brain.skills.upsert("a", "two\n")
    subprocess.run(["git", "-C", tmp_path, "add", "-A"], check=True)
    listed = subprocess.check_output(["git", "-C", tmp_path, "ls-files"], text=True).split()
    assert "new/skills/a/SKILL.md" in listed and not [f for f in listed if ".brain/" in f]
