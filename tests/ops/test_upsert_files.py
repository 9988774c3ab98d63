"""Skills with files."""

import os
import random
import subprocess
import sys

import pytest

from brain import Brain, BrainError, Conflict, InvalidInput, NotFound, limits
from tests.support.brains import skill_text, write_file
from tests.support.cases import read_cases
from tests.support.planted_secrets import fake_private_key
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.refusals import raises_code

MAIN = "skills/tool/SKILL.md"


def kinds(brain: Brain) -> list[str]:
    return [info.operation["kind"] for info in brain.history.log()]


def files_of(brain: Brain) -> dict[str, bytes]:
    paths = [path for path in brain.skills.view("tool").files if path != MAIN]
    return {path.removeprefix("skills/tool/"): brain.files.read(path) for path in paths}


def test_a_new_skill_with_files_is_one_snapshot(brain):
    files = {"run.py": b"print(1)\n", "references/a/b.md": b"# B\n", "empty": b""}
    done = brain.skills.upsert("tool", "Text.\n", description="d", files=files)
    assert kinds(brain) == ["upsert", "genesis"]
    assert (done.version, done.path, files_of(brain)) == (1, MAIN, files)
    assert (brain.root / "skills/tool/references/a/b.md").read_bytes() == b"# B\n"
    assert brain.status().clean and brain.verify(deep=True).findings == []


def test_files_are_added_changed_and_removed_and_others_stay(brain):
    brain.skills.upsert("tool", "T.\n", description="d", files={"a": b"1", "b": b"1", "c": b"1"})
    done = brain.skills.upsert("tool", files={"a": b"2", "b": None, "d": b"2", "gone": None})
    assert (done.version, files_of(brain)) == (2, {"a": b"2", "c": b"1", "d": b"2"})
    assert not (brain.root / "skills/tool/b").exists()
    brain.undo()
    assert files_of(brain) == {"a": b"1", "b": b"1", "c": b"1"}


def test_a_flat_skill_moves_into_a_folder_with_its_first_file(brain):
    write_file(brain, "skills/tool.md", skill_text("tool"))
    brain.snapshot()
    done = brain.skills.upsert("tool", files={"run.py": b"1\n"})
    assert (done.path, done.version, files_of(brain)) == (MAIN, 2, {"run.py": b"1\n"})
    assert not (brain.root / "skills/tool.md").exists()
    assert brain.verify(deep=True).findings == []


def test_a_removed_file_does_not_move_a_flat_skill(brain):
    write_file(brain, "skills/tool.md", skill_text("tool"))
    brain.snapshot()
    assert brain.skills.upsert("tool", "New.\n", files={"gone": None}).path == "skills/tool.md"


def test_a_new_skill_of_a_flat_brain_gets_a_folder_for_its_files(brain):
    write_file(brain, "manifest.yaml", "layout: flat\n")
    brain.snapshot()
    assert brain.skills.upsert("flat", "T.\n", description="d").path == "skills/flat.md"
    done = brain.skills.upsert("tool", "T.\n", description="d", files={"run.py": b"1\n"})
    assert (done.path, files_of(brain)) == (MAIN, {"run.py": b"1\n"})


def test_manual_edits_of_the_files_are_recorded_first(brain):
    brain.skills.upsert("tool", "T.\n", description="d", files={"a": b"1", "b": b"1"})
    write_file(brain, "skills/tool/a", "mine")
    write_file(brain, "skills/tool/new", "mine too")
    brain.skills.upsert("tool", files={"a": b"2", "new": b"2"})
    assert kinds(brain)[:2] == ["upsert", "snapshot"]
    assert brain.files.read("skills/tool/a", "@~1") == b"mine"
    assert brain.files.read("skills/tool/new", "@~1") == b"mine too"
    assert files_of(brain) == {"a": b"2", "b": b"1", "new": b"2"}


def test_an_executable_file_stays_executable(brain):
    brain.skills.upsert("tool", "T.\n", description="d", files={"run.sh": b"1"})
    (brain.root / "skills/tool/run.sh").chmod(0o755)
    brain.snapshot()
    brain.skills.upsert("tool", files={"run.sh": b"2"})
    assert (brain.root / "skills/tool/run.sh").stat().st_mode & 0o100


@pytest.mark.parametrize(
    ("path", "code"),
    [
        *((path, "bad_path") for path in ("../x", "a/../../x", "/etc/x", "", "a//b", "a/", ".")),
        *(("SKILL.md", "bad_path"), ("inner/skill.md", "bad_path"), ("a\0b", "bad_char")),
        *((".git/config", "reserved_name"), ("x" * 300, "name_too_long")),
        *(("a\\b", "bad_path"), ("node_modules/x.js", "left_out")),
    ],
)
def test_a_path_that_no_brain_can_hold_is_refused_and_nothing_is_recorded(brain, path, code):
    with pytest.raises(InvalidInput) as refused:
        brain.skills.upsert("tool", "T.\n", description="d", files={"ok": b"", path: b"x"})
    assert refused.value.code in (code, "bad_path", "bad_char", "not_portable")
    assert refused.value.hint
    assert kinds(brain) == ["genesis"] and not (brain.root / "skills/tool").exists()


@pytest.mark.parametrize("files", [{"a": b"", "a/b": b""}, {"a": b"", "A": b""}])
def test_files_that_cannot_be_side_by_side_are_refused(brain, files):
    with pytest.raises(BrainError) as refused:
        brain.skills.upsert("tool", "T.\n", description="d", files=files)
    assert refused.value.code in ("path_conflict", "case_collision")
    assert kinds(brain) == ["genesis"]


def test_a_file_through_a_link_is_refused(brain):
    brain.skills.upsert("tool", "T.\n", description="d")
    (brain.root / "skills/tool/out").symlink_to("/tmp")
    with raises_code("unsafe_path", InvalidInput):
        brain.skills.upsert("tool", files={"out/x": b"x"})


def test_too_many_files_and_too_large_ones_are_refused(brain, monkeypatch):
    monkeypatch.setattr("brain.limits.MAX_WRITTEN_FILES", 2)
    monkeypatch.setattr("brain.limits.MAX_EDIT_BYTES", 10)
    for files, code in (
        (dict.fromkeys("abc", b""), "too_many"),
        (dict.fromkeys("ab", b"123456"), "too_large"),
    ):
        with raises_code(code, InvalidInput):
            brain.skills.upsert("tool", "T.\n", description="d", files=files)


def test_a_secret_in_a_file_is_noticed(brain):
    secret = fake_private_key(random.Random(1)).encode()
    done = brain.skills.upsert("tool", "T.\n", description="d", files={"notes.txt": secret})
    assert [(note.code, note.path) for note in done.notices] == [
        ("secret", "skills/tool/notes.txt")
    ]


def test_if_changed_looks_at_the_files_too(brain):
    brain.skills.upsert("tool", "T.\n", description="d", files={"a": b"1"})
    assert not brain.skills.upsert("tool", files={"a": b"1"}, if_changed=True).changed
    assert brain.skills.upsert("tool", files={"a": b"2"}, if_changed=True).version == 2


def test_files_that_somebody_else_changed_since_are_not_overwritten(brain):
    brain.skills.upsert("tool", "T.\n", description="d", files={"a": b"1", "b": b"1"})
    brain.skills.upsert("tool", files={"a": b"2"})
    with raises_code("stale_base", Conflict):
        brain.skills.upsert("tool", base=1, files={"a": b"3"})
    assert brain.skills.upsert("tool", base=1, files={"b": b"3", "a": b"2"}).version == 3
    assert files_of(brain) == {"a": b"2", "b": b"3"}


def test_a_proposal_takes_the_files_along(brain):
    with brain.proposals.open("idea") as proposal:
        proposal.skills.upsert("tool", "T.\n", description="d", files={"a": b"1"})
    assert not (brain.root / "skills/tool").exists()
    (row,) = brain.proposals.list()
    brain.proposals.accept(row.snapshot)
    assert files_of(brain) == {"a": b"1"}


def test_the_receipt_of_a_run_names_every_file(brain):
    with brain.task("Write a tool"):
        brain.skills.upsert("tool", "T.\n", description="d", files={"a": b"1", "b": b"2"})
    steps = brain.receipts.read_run().steps
    (step,) = [step for step in steps if step.kind == "skill_create"]
    assert [write.path for write in step.writes] == [MAIN, "skills/tool/a", "skills/tool/b"]


CASES = read_cases(__file__)


def texts(brain: Brain) -> list[str]:
    return [entry.message or entry.operation["kind"] for entry in brain.history.log()][:-1]


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
