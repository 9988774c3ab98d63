import pytest

from brain.errors import InvalidInput
from brain.objects import operation
from brain.ops.import_states import ImportSource, SourceFile
from brain.repo.session import head_ref
from brain.repo.transaction import (
    WriteTransaction,
    lock_for_writing,
    log_operation,
    store_transaction,
)
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)

SOURCE = ImportSource("git", "skills", "adopted/skills")
SKILL = "skills/a/SKILL.md"


def text(content: str) -> SourceFile:
    return SourceFile(0, content.encode())


def test_a_state_is_recorded_on_its_branch_and_the_folder_waits_for_the_merge(brain):
    done = brain.imports.record_state(SOURCE, [(SKILL, text("one"))], "First", revision="c1")
    assert done.steps == 1 and done.branch == SOURCE.branch
    assert not (brain.root / SKILL).exists()
    assert brain.merge.start(done.branch).fast_forward
    assert (brain.root / SKILL).read_text() == "one"
    info = next(brain.history.log())
    assert (info.operation["kind"], info.operation["revision"], info.message) == (
        "import",
        "c1",
        "First",
    )


def test_a_state_removes_what_it_does_not_name_but_never_the_manifest(brain):
    both = [(SKILL, text("1")), ("memory/m.md", text("m"))]
    brain.imports.record_state(SOURCE, both)
    kept = brain.imports.record_state(SOURCE, both[:1], keeps=lambda path: path == "memory/m.md")
    assert kept.steps == 0
    brain.imports.record_state(SOURCE, both[:1])
    brain.merge.start(SOURCE.branch)
    assert {path.name for path in brain.root.iterdir() if path.is_file()} == {"manifest.yaml"}
    assert not (brain.root / "memory/m.md").exists()


def test_a_state_that_is_there_already_is_not_recorded_again(brain):
    first = brain.imports.record_state(SOURCE, [(SKILL, text("one"))])
    again = brain.imports.record_state(SOURCE, [(SKILL, text("one"))])
    assert again == first._replace(steps=0)


def test_nothing_is_recorded_if_one_file_cannot_be(brain):
    with pytest.raises(InvalidInput, match="not a path"):
        brain.imports.record_state(SOURCE, [(SKILL, text("one")), ("../out", text("two"))])
    assert [branch.name for branch in brain.branches.list().branches] == ["main"]


def test_the_prompt_begins_with_who_the_agent_is(brain):
    (brain.root / "SOUL.md").write_text("You are kind.\n")
    (brain.root / "manifest.yaml").write_text("prompt:\n  system: [SOUL.md, none.md]\n")
    brain.snapshot()
    assert brain.prompt.build().prompt.startswith("You are kind.\n\n# Skills")


@pytest.mark.parametrize(
    "text", ["prompt: {system: SOUL.md}", "prompt: {system: [../x]}", "home: 3"]
)
def test_a_manifest_that_names_no_files_there_is_refused(brain, text):
    (brain.root / "manifest.yaml").write_text(text)
    brain.snapshot()
    with raises_code("bad_manifest", InvalidInput):
        brain.prompt.build()


@pytest.mark.parametrize(
    ("first", "second"),
    CASES["test_of_names_that_other_systems_take_for_one_the_later_is_left_out"],
)
def test_of_names_that_other_systems_take_for_one_the_later_is_left_out(brain, first, second):
    both = [(first, text("1")), (second, text("2")), ("memory/other.md", text("3"))]
    done = brain.imports.record_state(SOURCE, both)
    assert [(one.code, one.path) for one in done.left] == [("case_collision", second)]
    names = {file.path for file in brain.files.list(done.snapshot)} - {"manifest.yaml"}
    assert names == {first, "memory/other.md"}
    again = brain.imports.record_state(SOURCE, [(first, None), *both[1:]])
    assert again.left == []
    names = {file.path for file in brain.files.list(again.snapshot)} - {"manifest.yaml"}
    assert names == {second, "memory/other.md"}


def test_a_folder_is_recorded_as_an_import_of_its_source(brain):
    (brain.root / "memory/a.md").write_text("a")
    done = brain.imports.record_folder(SOURCE, "Take it over")
    assert (done.branch, done.steps, done.snapshot) == ("main", 1, brain.head)
    info = brain.history.show().info
    assert (info.operation["kind"], info.message) == ("import", "Take it over")
    assert brain.imports.record_folder(SOURCE, "Again").steps == 0


def test_an_import_with_many_parents_of_an_earlier_release_is_verified_and_logged(brain):
    session = brain._session
    first = brain.imports.record_state(SOURCE, [(SKILL, text("one"))], revision="c1").snapshot
    with lock_for_writing(session), store_transaction(session) as tx:
        txn = WriteTransaction(session, tx)
        sides = []
        for revision in ("c2", "c3"):
            txn.move_head(bytes.fromhex(first))
            action = operation.import_operation("git", "skills", revision)
            sides.append(txn.record_snapshot({}, action, revision, author="Bob"))
        merge = operation.import_operation("git", "skills", "c4")
        txn.record_snapshot({}, merge, "c4", merged=sides[:1])
        ref, before = head_ref(SOURCE.branch), bytes.fromhex(first)
        tx.update_ref(ref, before, txn.head)
        log_operation(session, tx, "import", "import skills", [(ref, before, txn.head)])
    brain.merge.start(SOURCE.branch)
    rows = [row for row in brain.history.log() if row.operation["kind"] == "import"]
    assert sorted(str(row.operation["revision"]) for row in rows) == ["c1", "c2", "c3", "c4"]
    assert len(rows[0].parents) == 2 and rows[-1].snapshot == first
    assert brain.verify(deep=True).ok
    again = brain.imports.record_state(SOURCE, [(SKILL, text("two"))])
    assert again.steps == 1 and brain.merge.start(SOURCE.branch).fast_forward
