import pytest

from brain import Brain, Conflict, InvalidInput, NotFound
from brain.repo import session
from tests.support.brains import write_file
from tests.support.refusals import raises_code


def test_undo_of_an_upsert_brings_head_and_file_back(brain):
    first = brain.skills.upsert("a", "one\n", description="d")
    before = (brain.root / first.path).read_bytes()
    brain.skills.upsert("a", "two\n")
    assert brain.undo().snapshot == first.snapshot
    assert (brain.root / first.path).read_bytes() == before


def test_redo_brings_it_again(brain):
    brain.skills.upsert("a", "one\n", description="d")
    second = brain.skills.upsert("a", "two\n")
    after = (brain.root / second.path).read_bytes()
    brain.undo()
    assert brain.redo().snapshot == second.snapshot
    assert (brain.root / second.path).read_bytes() == after


def test_undo_goes_back_step_by_step_to_the_beginning(brain):
    heads = [brain.head]
    for i in range(4):
        heads.append(brain.skills.upsert("a", f"{i}\n", description="d").snapshot)
    for expected in reversed(heads[:-1]):
        assert brain.undo().snapshot == expected
    with raises_code("nothing_to_undo", NotFound):
        brain.undo()
    for expected in heads[1:]:
        assert brain.redo().snapshot == expected
    with raises_code("nothing_to_redo", NotFound):
        brain.redo()


def test_a_new_operation_ends_what_could_be_redone(brain):
    brain.skills.upsert("a", "one\n", description="d")
    brain.skills.upsert("a", "two\n")
    brain.undo()
    brain.skills.upsert("b", "x\n", description="d")
    with pytest.raises(NotFound):
        brain.redo()


def test_undo_after_redo_after_undo_is_consistent(brain):
    one = brain.skills.upsert("a", "one\n", description="d").snapshot
    two = brain.skills.upsert("a", "two\n").snapshot
    assert [brain.undo().snapshot, brain.redo().snapshot] == [one, two]
    assert brain.undo().snapshot == one
    assert brain.skills.upsert("b", "b\n", description="d").snapshot
    assert brain.undo().snapshot == one
    assert brain.status().clean


def test_undo_of_a_snapshot_leaves_the_files_as_they_are(brain):
    write_file(brain, "memory/note.md", "note\n")
    brain.snapshot()
    brain.undo()
    assert (brain.root / "memory/note.md").read_text() == "note\n"
    assert brain.status().added == ["memory/note.md"]


def test_after_undo_of_a_deletion_the_files_are_there(brain):
    brain.skills.upsert("a", "one\n", description="d")
    notes = write_file(brain, "skills/a/notes.md", "note\n")
    brain.snapshot()
    brain.skills.delete("a")
    assert not notes.exists()
    undone = brain.undo()
    assert (undone.kind, undone.description, undone.branch) == ("delete", "delete a", "main")
    assert undone.written == ["skills/a/SKILL.md", "skills/a/notes.md"]
    assert notes.read_text() == "note\n" and brain.status().clean


def test_after_undo_of_a_recorded_deletion_the_files_are_there(brain):
    paths = ["memory/a.md", "memory/b.md", "memory/c.md", "memory/d"]
    a, b, c, d = (write_file(brain, path, f"{path}\n") for path in paths)
    brain.snapshot()
    for path in (a, b, d):
        path.unlink()
    c.rename(c.with_name("moved.md"))
    write_file(brain, "memory/d/inner.md", "x\n")
    brain.snapshot()
    b.write_text("new\n")
    assert brain.undo().written == ["memory/a.md"]
    assert (a.read_text(), b.read_text()) == ("memory/a.md\n", "new\n")
    assert not c.exists() and c.with_name("moved.md").exists() and d.is_dir()
    assert brain.verify().ok
    assert brain.redo().removed == ["memory/a.md"]
    assert not a.exists() and b.read_text() == "new\n"
    brain.undo()
    a.write_text("edited\n")
    assert brain.redo().removed == []
    assert a.read_text() == "edited\n"


def test_undo_refuses_to_write_over_an_unrecorded_edit(brain):
    done = brain.skills.upsert("a", "one\n", description="d")
    brain.skills.upsert("a", "two\n")
    write_file(brain, done.path, "mine\n")
    head = brain.head
    with raises_code("unrecorded_changes", Conflict) as refused:
        brain.undo()
    assert done.path in refused.value.message
    assert brain.head == head
    assert (brain.root / done.path).read_text() == "mine\n"


def test_undo_of_an_upsert_over_an_edit_by_hand_brings_the_edit_back(brain):
    done = brain.skills.upsert("a", "one\n", description="d")
    edited = (brain.root / done.path).read_text() + "by hand\n"
    write_file(brain, done.path, edited)
    brain.skills.upsert("a", "two\n")
    brain.undo()
    assert (brain.root / done.path).read_text() == edited
    assert brain.status().modified == [done.path]


def test_restore_of_all_makes_the_folder_as_it_was(brain):
    brain.skills.upsert("a", "one\n", description="d")
    write_file(brain, "memory/note.md", "note\n")
    brain.snapshot()
    then = brain.history.show().info.bundle
    brain.skills.delete("a")
    write_file(brain, "memory/note.md", "other\n")
    write_file(brain, "memory/new.md", "new\n")
    brain.snapshot()
    done = brain.restore("@~2")
    assert brain.history.show().info.bundle == then
    assert done.removed == ["memory/new.md"]
    assert brain.status().clean


def test_restore_of_a_folder_leaves_the_rest(brain):
    brain.skills.upsert("a", "one\n", description="d")
    write_file(brain, "memory/note.md", "note\n")
    brain.snapshot()
    brain.skills.upsert("a", "two\n")
    write_file(brain, "memory/note.md", "other\n")
    brain.snapshot()
    brain.restore("@~2", ["skills/a/"])
    assert (brain.root / "memory/note.md").read_text() == "other\n"
    assert brain.skills.view("a").body.strip() == "one"


def test_restore_records_an_unseen_edit_first(brain):
    write_file(brain, "memory/note.md", "note\n")
    brain.snapshot()
    write_file(brain, "memory/note.md", "unseen\n")
    brain.restore("@", ["memory/note.md"])
    assert (brain.root / "memory/note.md").read_text() == "note\n"
    assert [e.operation["kind"] for e in brain.history.log(limit=2)] == ["restore", "snapshot"]
    brain.restore("@~1", ["memory/note.md"])
    assert (brain.root / "memory/note.md").read_text() == "unseen\n"


def test_restore_brings_deleted_files_back_without_a_new_snapshot(brain):
    write_file(brain, "memory/note.md", "note\n")
    head = brain.snapshot().snapshot
    (brain.root / "memory/note.md").unlink()
    done = brain.restore("@")
    assert (done.snapshot, done.written) == (head, ["memory/note.md"])


def test_restore_leaves_files_nobody_recorded_alone(brain):
    write_file(brain, "memory/note.md", "note\n")
    brain.snapshot()
    write_file(brain, "memory/mine.md", "mine\n")
    brain.restore("@~1")
    assert (brain.root / "memory/mine.md").read_text() == "mine\n"


def test_restore_of_an_unknown_path_is_refused(brain):
    with raises_code("no_path", NotFound):
        brain.restore("@", ["skills/nothing"])
    with pytest.raises(InvalidInput):
        brain.restore("@", ["../outside"])


@pytest.mark.parametrize(
    "revision", ["", "@~", "@~x", "abc", "ABCDEF", "x" * 65, "@@", "~1", "@~-1"]
)
def test_what_is_no_revision_is_refused(brain, revision):
    with raises_code("bad_revision", InvalidInput):
        brain.history.show(revision)


def test_revisions_name_heads_ancestors_branches_and_prefixes(brain):
    ids = [brain.head] + [
        brain.skills.upsert("a", f"{i}\n", description="d").snapshot for i in range(40)
    ]
    assert brain.history.show("@").info.snapshot == ids[-1]
    assert brain.history.show("main").info.snapshot == ids[-1]
    assert brain.history.show("@~17").info.snapshot == ids[-18]
    assert brain.history.show(ids[5][:12]).info.snapshot == ids[5]
    assert brain.history.show(ids[20] + "~20").info.snapshot == ids[0]
    with pytest.raises(NotFound):
        brain.history.show("@~41")
    with pytest.raises(NotFound):
        brain.history.show("0" * 64)


def test_a_switch_is_in_the_operation_log_and_is_undone_in_its_turn(brain):
    brain.skills.upsert("a", "one\n", description="d")
    brain.branches.create("idea")
    brain.branches.switch("idea")
    newest = brain.history.list_operations(1)[0]
    assert (newest.kind, list(newest.refs)) == ("switch", ["heads/main", "heads/idea"])
    brain.branches.switch("main")
    kinds = [(brain.undo().kind, brain.branches.current) for _ in range(3)]
    assert kinds == [("switch", "idea"), ("switch", "main"), ("branch", "main")]
    assert [branch.name for branch in brain.branches.list().branches] == ["main"]
    assert [skill.slug for skill in brain.skills.list()] == ["a"]


def test_the_start_of_several_ids_is_ambiguous(brain, monkeypatch):
    monkeypatch.setattr(session, "MIN_ID_DIGITS", 1)
    ids = [brain.skills.upsert("a", f"{number}\n").snapshot for number in range(17)]
    starts = [one[0] for one in ids]  # of sixteen digits one is there twice
    shared = next(digit for digit in starts if starts.count(digit) > 1)
    with raises_code("ambiguous_id", InvalidInput):
        brain.history.show(shared)


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_folder_gives_way_to_a_file_only_with_all_that_is_in_it(brain, is_recorded):
    write_file(brain, "memory/place", "a file\n")
    with_file = brain.snapshot().snapshot
    (brain.root / "memory/place").unlink()
    write_file(brain, "memory/place/inner/a.md", "a\n")
    with_folder = brain.snapshot().snapshot
    brain.restore(with_file)
    brain.undo()
    assert (brain.root / "memory/place/inner/a.md").read_text() == "a\n"
    assert brain.head == with_folder
    if is_recorded:
        brain.redo()
        assert (brain.root / "memory/place").read_text() == "a file\n"
        return
    mine = write_file(brain, "memory/place/inner/mine.md", "mine\n")
    with raises_code("unrecorded_changes", Conflict) as refused:
        brain.redo()
    assert "memory/place/inner/mine.md" in refused.value.message
    assert brain.head == with_folder and mine.read_text() == "mine\n"


@pytest.mark.parametrize("remove", ["delete", "retire"])
def test_what_was_not_recorded_yet_goes_with_its_skill_and_comes_back(tmp_path, remove):
    brain = Brain.init(tmp_path / "agent", author="tester")
    brain.skills.upsert("reentrancy", "Look for calls.\n", description="Calls")
    folder = brain.root / "skills/reentrancy"
    (folder / "notes.md").write_text("Notes on x.\n")
    (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text() + "By hand.\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    if remove == "delete":
        brain.skills.delete("reentrancy")
    else:
        brain.programs.retire("reentrancy", "unused")
    assert not folder.exists() or not list(folder.iterdir())
    brain.snapshot()
    assert [skill.slug for skill in brain.skills.list()] == []
    brain.undo()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
