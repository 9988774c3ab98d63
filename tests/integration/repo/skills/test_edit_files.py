"""Files changed by a function: of the brain, and of a skill."""

import os
import subprocess
import sys

import pytest

from brain import Brain, BrainError, Conflict, InvalidInput, NotFound, limits
from tests.integration.repo.conftest import skill_text, write_file
from tests.support.cases import read_cases
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.refusals import raises_code

CASES = read_cases(__file__)


def texts(brain: Brain) -> list[str]:
    return [entry.message or entry.operation["kind"] for entry in brain.history.log()][:-1]


def test_a_file_is_made_changed_and_removed(brain):
    made = brain.files.edit("memory/a.md", lambda was: b"" if was else b"one\n", message="Make it")
    assert made.changed and made.added == 1 and made.snapshot == brain.head
    changed = brain.files.edit("memory/a.md", lambda was: (was or b"") + b"two\n")
    assert changed.modified == 1 and brain.files.read("memory/a.md") == b"one\ntwo\n"
    assert brain.files.read("memory/a.md", made.snapshot) == b"one\n"
    assert brain.files.edit("memory/a.md", lambda _: None).removed == 1
    assert not (brain.root / "memory/a.md").exists() and brain.status().clean
    with pytest.raises(NotFound):
        brain.files.read("memory/a.md")


def test_a_change_that_changes_nothing_records_nothing(brain):
    brain.files.edit("a.txt", lambda _: b"one")
    head = brain.head
    assert not brain.files.edit("a.txt", lambda was: was).changed
    assert not brain.files.edit("none.txt", lambda was: was).changed
    assert brain.head == head


def test_what_a_change_raises_leaves_everything_as_it_was(brain):
    file = write_file(brain, "a.txt", "by hand")
    head = brain.head

    def fail(was: bytes | None) -> bytes:
        assert was == b"by hand"
        raise KeyError("no")

    with pytest.raises(KeyError):
        brain.files.edit("a.txt", fail)
    assert brain.head == head and file.read_text() == "by hand"
    assert brain.status().added == ["a.txt"]


def test_what_was_changed_by_hand_is_recorded_before(brain):
    brain.files.edit("a.txt", lambda _: b"one\n")
    write_file(brain, "a.txt", "one\nby hand\n")
    brain.files.edit("a.txt", lambda was: (was or b"") + b"two\n", message="Add two")
    assert texts(brain)[:2] == ["Add two", "Record manual edits"]
    assert brain.files.read("a.txt") == b"one\nby hand\ntwo\n"


def test_an_executable_stays_one(brain):
    path = write_file(brain, "skills/a/scripts/x.sh", "exit 1\n")
    write_file(brain, "skills/a/SKILL.md", skill_text("a"))
    path.chmod(0o755)
    brain.snapshot()
    brain.skills.edit("a", lambda _: b"exit 0\n", file="scripts/x.sh")
    assert os.access(path, os.X_OK) and path.read_text() == "exit 0\n"
    assert brain.status().clean


@pytest.mark.parametrize(("path", "code"), CASES["test_a_path_that_a_brain_cannot_hold_is_refused"])
def test_a_path_that_a_brain_cannot_hold_is_refused(brain, path, code):
    write_file(brain, ".brainignore", "secret/\n")
    write_file(brain, "file", "x")
    write_file(brain, "folder/inner", "x")
    (brain.root / "link").symlink_to("folder")
    brain.snapshot()
    head = brain.head
    with raises_code(code, BrainError):
        brain.files.edit(path, lambda _: b"new")
    assert brain.head == head and brain.status().clean


def test_a_folder_that_is_gone_from_the_disk_alone_keeps_its_place(brain):
    write_file(brain, "folder/inner", "x")
    brain.snapshot()
    (brain.root / "folder/inner").unlink()
    (brain.root / "folder").rmdir()
    with raises_code("path_conflict", Conflict):
        brain.files.edit("folder", lambda _: b"new")


def test_a_file_that_is_too_large_is_not_read_as_a_whole(brain, monkeypatch):
    monkeypatch.setattr(limits, "MAX_EDIT_BYTES", 300_000)
    write_file(brain, "a.txt", "x" * 300_001)
    for act in (
        lambda: brain.files.edit("a.txt", lambda _: b""),
        lambda: brain.files.read("a.txt"),
    ):
        with raises_code("too_large", InvalidInput):
            brain.snapshot()
            act()


def test_a_large_file_is_changed_as_a_small_one_is(brain):
    lines = b"".join(b"line %d\n" % number for number in range(60_000))
    brain.files.edit("memory/a.jsonl", lambda _: lines)
    brain.files.edit("memory/a.jsonl", lambda was: (was or b"") + b"last\n")
    assert (brain.root / "memory/a.jsonl").read_bytes() == lines + b"last\n"
    assert brain.files.read("memory/a.jsonl") == lines + b"last\n" and brain.status().clean


def test_a_skill_that_bore_its_next_version_before_goes_on_from_the_last(brain):
    for body in ("one\n", "two\n", "three\n"):
        brain.skills.upsert("a", body)
    write_file(brain, "skills/a/SKILL.md", skill_text("a", 1, "Old text.\n"))
    done = brain.skills.edit("a", lambda was: (was or b"").replace(b"Old", b"New"))
    assert done.version == 4 and done.previous_version == 3


def test_a_file_of_a_skill_is_read_at_a_version(brain):
    brain.skills.upsert("a", "one\n")
    brain.skills.edit("a", lambda _: b"first", file="references/x.md")
    brain.skills.edit("a", lambda _: b"second", file="references/x.md")
    assert brain.skills.read_file("a", "references/x.md").content == b"second"
    old = brain.skills.read_file("a@2", "references/x.md")
    assert (old.content, old.version, old.files) == (b"first", 2, ["references/x.md"])
    with raises_code("no_file", NotFound) as caught:
        brain.skills.read_file("a", "references/y.md")
    assert caught.value.hint == "it has references/x.md"
    assert brain.skills.read_file("a").content == (brain.root / "skills/a/SKILL.md").read_bytes()


def test_processes_that_change_a_file_at_once_lose_nothing(brain, project):
    code = (
        "import sys\nfrom brain import Brain\nwith Brain.open(sys.argv[1]) as brain:\n"
        "    for n in range(5):\n"
        "        brain.files.edit('memory/a.jsonl', lambda was: (was or b'') + b'%d\\n' % n)\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(brain.root)], cwd=project)
        for _ in range(3)
    ]
    assert [process.wait(TIMEOUT_SECONDS) for process in started] == [0, 0, 0]
    lines = (brain.root / "memory/a.jsonl").read_text().split()
    assert sorted(lines) == sorted("01234" * 3) and brain.status().clean and brain.verify().ok
