"""An upsert takes the files of a skill along, in one snapshot."""

import random

import pytest

from brain import Brain, BrainError, Conflict, InvalidInput
from tests.integration.repo.conftest import skill_text, write_file
from tests.support.planted_secrets import fake_private_key
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
