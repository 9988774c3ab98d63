import pytest

from brain import Brain, Conflict, InvalidInput, NotFound, limits
from brain.ops.import_states import ImportSource, SourceFile
from brain.repo.log_entry import decode_log_entry
from tests.support.brains import write_file
from tests.support.refusals import raises_code


@pytest.fixture
def brain(tmp_path):
    made = Brain.init(tmp_path / "agent", author="tester")
    made.skills.upsert("Oracle", "One.\n")
    return made


def names(brain: Brain) -> list[tuple[str, bool]]:
    return [(branch.name, branch.current) for branch in brain.branches.list().branches]


def test_a_branch_stands_where_it_was_made_and_moves_when_it_is_current(brain):
    made = brain.branches.create("try/idea-1", "@~1")
    assert made.snapshot == brain.history.show("@~1").info.snapshot
    assert names(brain) == [("main", True), ("try/idea-1", False)]
    brain.branches.switch("try/idea-1")
    assert brain.skills.list() == []
    brain.skills.upsert("Other", "x\n")
    assert brain.history.show("main").info.snapshot != brain.head
    assert [skill.slug for skill in brain.skills.list("main")] == ["oracle"]


def test_a_switch_writes_what_differs_and_leaves_other_changes_alone(brain):
    brain.branches.create("idea")
    brain.skills.upsert("Oracle", "Two.\n")
    note = brain.root / "memory" / "note.md"
    note.write_text("mine\n")
    done = brain.branches.switch("idea")
    assert (done.written, done.removed) == (["skills/oracle/SKILL.md"], [])
    assert note.read_text() == "mine\n"
    assert brain.status().added == ["memory/note.md"]


def test_a_file_changed_by_hand_is_recorded_on_the_branch_that_is_left(brain):
    brain.branches.create("idea")
    brain.skills.upsert("Oracle", "Two.\n")
    file = brain.root / "skills/oracle/SKILL.md"
    file.write_text(file.read_text() + "By hand.\n")
    brain.branches.switch("idea")
    assert "By hand." not in file.read_text()
    assert "By hand." in brain.skills.view("oracle", "main").body
    brain.branches.switch("main")
    assert "By hand." in file.read_text()
    assert brain.verify(deep=True).ok


def test_a_branch_is_removed_once_another_one_holds_its_work(brain):
    brain.branches.create("idea")
    brain.branches.switch("idea")
    brain.skills.upsert("Other", "x\n")
    brain.branches.switch("main")
    with raises_code("not_merged", Conflict):
        brain.branches.delete("idea")
    brain.merge.start("idea")
    brain.branches.delete("idea")
    assert names(brain) == [("main", True)]
    brain.undo()
    assert names(brain) == [("idea", False), ("main", True)]
    assert brain.verify().ok


def test_undo_takes_back_the_making_of_a_branch_unless_it_is_the_current_one(brain):
    brain.branches.create("idea")
    brain.branches.switch("idea")
    assert (brain.undo().kind, brain.branches.current) == ("switch", "main")
    assert brain.undo().description == "branch idea"
    assert names(brain) == [("main", True)]
    brain.redo()
    assert names(brain) == [("idea", False), ("main", True)]


def test_undo_leaves_what_was_done_on_another_branch(brain):
    brain.skills.upsert("Oracle", "Two.\n")
    source = ImportSource("hermes", "home", "from-home")
    files = [("memory/home.md", SourceFile(0, b"Theirs.\n"))]
    imported = brain.imports.record_state(source, files)
    assert brain.undo().description == "upsert oracle 1 → 2"
    assert brain.history.resolve("from-home") == imported.snapshot
    assert brain.redo().description == "upsert oracle 1 → 2"


@pytest.mark.parametrize("edited", [False, True])
def test_undo_of_a_switch_goes_back_to_the_branch_and_redo_switches_again(brain, edited):
    brain.skills.upsert("Oracle", "Two.\n")
    brain.branches.create("idea", "@~1")
    path = brain.root / "skills/oracle/SKILL.md"
    if edited:
        path.write_text(path.read_text() + "by hand\n")
    before, head = path.read_text(), brain.head
    brain.branches.switch("idea")
    there = path.read_text()
    undone = brain.undo()
    assert (undone.description, undone.branch) == ("switch to idea", "main")
    assert (brain.branches.current, brain.head, path.read_text()) == ("main", head, before)
    assert brain.status().clean is not edited
    assert brain.verify().ok
    redone = brain.redo()
    assert (redone.branch, redone.written) == ("idea", ["skills/oracle/SKILL.md"])
    assert (brain.branches.current, path.read_text()) == ("idea", there)
    assert brain.status().clean
    brain.undo()
    assert path.read_text() == before
    assert brain.verify().ok


def test_undo_of_a_switch_refuses_to_write_over_an_edit(brain):
    brain.skills.upsert("Oracle", "Two.\n")
    brain.branches.create("idea", "@~1")
    brain.branches.switch("idea")
    (brain.root / "skills/oracle/SKILL.md").write_text("by hand\n")
    with raises_code("unrecorded_changes", Conflict):
        brain.undo()
    assert brain.branches.current == "idea"
    brain.snapshot()
    assert brain.undo().kind == "snapshot"


@pytest.mark.parametrize(
    "name",
    ["", "-x", "a..b", "a b", "a~1", "@", "abcdef", "0" * 64, "x/", "/x", "a//b", "x.lock", "é\n"],
)
def test_a_name_that_could_be_taken_for_something_else_is_refused(brain, name):
    with raises_code("bad_branch", InvalidInput):
        brain.branches.create(name)


@pytest.mark.parametrize("name", ["main", "main/x"])
def test_a_name_that_is_taken_is_refused(brain, name):
    with raises_code("branch_exists", Conflict):
        brain.branches.create(name)


def test_a_branch_that_is_not_there_cannot_be_gone_to_or_removed(brain):
    for attempt in (brain.branches.switch, brain.branches.delete):
        with raises_code("no_branch", NotFound):
            attempt("nowhere")


def test_the_current_branch_cannot_be_removed(brain):
    with raises_code("current_branch", Conflict):
        brain.branches.delete("main")


def test_what_a_switch_recorded_is_unrecorded_again_after_its_undo(brain):
    write_file(brain, "MEMORY.md", "one\n")
    before = brain.snapshot().snapshot
    brain.branches.create("other", brain.id)
    write_file(brain, "MEMORY.md", "by hand\n")
    brain.branches.switch("other")
    assert not (brain.root / "MEMORY.md").exists()
    assert brain.undo().snapshot == before
    assert brain.status().modified == ["MEMORY.md"]
    assert (brain.root / "MEMORY.md").read_text() == "by hand\n"


@pytest.mark.parametrize("name", ["a", "A-1", "a.b+c_d", "a/b", "abcde", "x" * 64, "é", "0" * 65])
def test_a_name_of_letters_digits_and_a_few_marks_is_taken(brain, name):
    made = brain.branches.create(name)
    assert (made.name, made.snapshot, made.current) == (name, brain.head, False)


def test_a_name_has_at_most_so_many_bytes(brain):
    most = limits.MAX_BRANCH_BYTES
    for name in ("x" * most, "é" * (most // 2)):
        assert brain.branches.create(name).name == name
    for name in ("y" * (most + 1), "é" * (most // 2) + "y" * (1 + most % 2)):
        with raises_code("bad_branch", InvalidInput):
            brain.branches.create(name)


@pytest.mark.parametrize("name", ["a.", "a.lock", ".a", "a/.b", "_a", "a/_b", "a/b.lock", "f" * 6])
def test_a_name_that_git_would_refuse_or_that_is_like_an_id_is_refused(brain, name):
    with raises_code("bad_branch", InvalidInput):
        brain.branches.create(name)


def test_a_name_is_taken_by_what_is_above_and_below_it_alone(brain):
    brain.branches.create("a/b")
    for name in ("a", "a/b", "a/b/c"):
        with raises_code("branch_exists", Conflict) as caught:
            brain.branches.create(name)
        assert "a/b" in caught.value.message
    for name in ("a/bc", "a/c", "ab"):
        brain.branches.create(name)
    listed = [(branch.name, branch.current) for branch in brain.branches.list().branches]
    assert listed == [
        *(("a/b", False), ("a/bc", False), ("a/c", False), ("ab", False), ("main", True))
    ]


def test_a_switch_lists_what_it_wrote_and_removed_and_nothing_for_the_same_branch(brain):
    brain.branches.create("idea")
    (brain.root / "memory/new.md").write_text("new\n")
    (brain.root / "memory/old.md").write_text("old\n")
    brain.snapshot()
    head = brain.head
    done = brain.branches.switch("idea")
    assert (done.branch, done.snapshot, done.redacted, done.conflicts) == (
        "idea",
        brain.head,
        [],
        [],
    )
    assert (done.written, done.removed) == ([], ["memory/new.md", "memory/old.md"])
    back = brain.branches.switch("main")
    assert (back.written, back.removed) == (["memory/new.md", "memory/old.md"], [])
    again = brain.branches.switch("main")
    assert (again.snapshot, again.written, again.removed) == (head, [], [])


def test_a_branch_is_created_at_a_revision(brain):
    before = brain.head
    brain.skills.upsert("New", "x\n", description="d")
    assert brain.branches.create("old", "@~1").snapshot == before
    assert brain.branches.delete("old").snapshot == before


@pytest.mark.parametrize("edited", [False, True])
def test_a_switch_is_logged_with_the_branch_left_and_the_branch_entered(brain, edited):
    brain.skills.upsert("Oracle", "Two.\n")
    brain.branches.create("idea", "@~1")
    if edited:
        (brain.root / "skills/oracle/SKILL.md").write_text("by hand\n")
    brain.branches.switch("idea")
    newest = brain.history.list_operations()[0]
    assert (newest.kind, newest.description) == ("switch", "switch to idea")
    assert list(newest.refs) == ["heads/main", "heads/idea"]
    old, new = newest.refs["heads/main"]
    assert (old != new) is edited
    session = brain._session
    row = next(iter(session.reader.stream_operations()))
    assert decode_log_entry(row).files_moved == (b"", b"")
