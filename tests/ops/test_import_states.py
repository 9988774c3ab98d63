import pytest

from brain import Brain
from brain.errors import InvalidInput
from brain.ops.import_states import ImportSource, ImportStep, SourceFile
from brain.util.utc_time import utc_time
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)

SOURCE = ImportSource("git", "skills", "adopted/skills")
SKILL = "skills/a/SKILL.md"


def text(content: str) -> SourceFile:
    return SourceFile(0, content.encode())


def test_a_state_is_recorded_on_its_branch_and_the_folder_waits_for_the_merge(brain):
    done = brain.imports.record_states(
        SOURCE, [ImportStep([(SKILL, text("one"))], is_complete=True)]
    )
    assert done.steps == 1 and done.branch == SOURCE.branch
    assert not (brain.root / SKILL).exists()
    assert brain.merge.start(done.branch).fast_forward
    assert (brain.root / SKILL).read_text() == "one"
    assert next(brain.history.log()).operation["kind"] == "import"


def test_who_made_a_state_and_when_is_kept_with_its_revision(brain):
    steps = [
        ImportStep([(SKILL, text("one"))], True, "First", "c1", "Bob", 1000),
        ImportStep(
            [(SKILL, text("two")), ("memory/m.md", text("m"))], True, "Second", "c2", "Eve", 2000
        ),
    ]
    done = brain.imports.record_states(SOURCE, steps)
    second, first, _ = brain.history.log(done.snapshot)
    assert [(s.author, s.time, s.message) for s in (first, second)] == [
        ("Bob", utc_time(1000), "First"),
        ("Eve", utc_time(2000), "Second"),
    ]
    assert second.operation["revision"] == brain.imports.find_last_state(SOURCE.branch) == "c2"
    assert brain.imports.find_last_state("other") is None


def test_a_whole_state_removes_what_it_does_not_name_but_never_the_manifest(brain):
    brain.imports.record_states(
        SOURCE, [ImportStep([(SKILL, text("1")), ("memory/m.md", text("m"))], is_complete=True)]
    )
    brain.imports.record_states(SOURCE, [ImportStep([(SKILL, text("1"))], is_complete=True)])
    brain.merge.start(SOURCE.branch)
    assert {path.name for path in brain.root.iterdir() if path.is_file()} == {"manifest.yaml"}
    assert not (brain.root / "memory/m.md").exists()


def test_a_state_that_is_there_already_is_not_recorded_again(brain):
    step = ImportStep([(SKILL, text("one"))], is_complete=True)
    first = brain.imports.record_states(SOURCE, [step])
    assert brain.imports.record_states(SOURCE, [step]) == first._replace(steps=0)


def test_nothing_is_recorded_if_one_state_cannot_be(brain):
    good, bad = ImportStep([(SKILL, text("one"))]), ImportStep([("../out", text("two"))])
    with pytest.raises(InvalidInput, match="not a path"):
        brain.imports.record_states(SOURCE, [good, bad])
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


def imported(brain: Brain, *steps: ImportStep) -> dict[str, str]:
    """Import steps; return the snapshot of each revision on the branch."""
    brain.imports.record_states(SOURCE, steps)
    head = next(b.snapshot for b in brain.branches.list().branches if b.name == SOURCE.branch)
    found = {}
    for info in brain.history.log(head):
        revision = info.operation.get("revision")
        if revision:
            found.setdefault(str(revision), info.snapshot)
    return found


def state(revision: str, content: str, *parents: str, path: str = SKILL) -> ImportStep:
    return ImportStep([(path, text(content))], False, revision, revision, parents=parents)


def test_revisions_are_recorded_on_their_parents(brain):
    found = imported(
        brain,
        state("c1", "one"),
        state("c2", "two", "c1"),
        state("side", "x", "c1", path="memory/m.md"),
        state("c3", "three", "c2", "side"),
    )
    assert set(found) == {"c1", "c2", "side", "c3"}
    parents = {name: brain.history.show(here).info.parents for name, here in found.items()}
    assert parents["c1"] == [brain._session.brain_id().hex()]
    assert parents["c2"] == parents["side"] == [found["c1"]]
    assert parents["c3"] == [found["c2"], found["side"]]


def test_revisions_that_were_imported_are_not_recorded_again(brain):
    first = imported(brain, state("c1", "one"), state("c2", "two", "c1"))
    again = brain.imports.record_states(SOURCE, [state("c1", "one"), state("c2", "two", "c1")])
    assert (again.steps, again.snapshot) == (0, first["c2"])
    more = imported(brain, state("c2", "two", "c1"), state("c3", "three", "c2"))
    assert more["c2"] == first["c2"]
    assert brain.history.show(more["c3"]).info.parents == [first["c2"]]


def test_a_revision_without_changes_is_recorded_if_it_has_parents(brain):
    found = imported(brain, state("c1", "one"), state("c2", "one", "c1"))
    assert set(found) == {"c1", "c2"}
    done = brain.imports.record_states(SOURCE, [ImportStep([(SKILL, text("one"))])])
    assert done.steps == 0


def test_a_parent_that_was_not_imported_is_refused_and_nothing_recorded(brain):
    with raises_code("unknown_parent", InvalidInput) as caught:
        brain.imports.record_states(SOURCE, [state("c1", "one"), state("c2", "two", "c0")])
    assert "c0" in caught.value.message
    assert [branch.name for branch in brain.branches.list().branches] == ["main"]


def test_a_merge_of_very_many_parents_is_recorded_in_steps(brain):
    sides = [state(f"s{n}", f"{n}", "c1", path=f"memory/{n}.md") for n in range(20)]
    names = tuple(f"s{n}" for n in range(20))
    found = imported(brain, state("c1", "one"), *sides, state("m", "all", "c1", *names))
    last = brain.history.show(found["m"]).info
    before = brain.history.show(last.parents[0]).info
    assert (len(last.parents), len(before.parents)) == (1 + 20 - 15, 1 + 15)
    assert [*before.parents[1:], *last.parents[1:]] == [found[name] for name in names]
    assert brain.verify().findings == []


@pytest.mark.parametrize(
    ("first", "second"),
    CASES["test_of_names_that_other_systems_take_for_one_the_later_is_left_out_and_said_once"],
)
def test_of_names_that_other_systems_take_for_one_the_later_is_left_out_and_said_once(
    brain, first, second
):
    both = [(first, text("1")), (second, text("2"))]
    steps = [ImportStep(both), ImportStep([*both, ("memory/other.md", text("3"))])]
    done = brain.imports.record_states(SOURCE, steps)
    assert [(one.code, one.path) for one in done.left] == [("case_collision", second)]
    names = {file.path for file in brain.files.list(done.snapshot)} - {"manifest.yaml"}
    assert names == {first, "memory/other.md"}
    again = brain.imports.record_states(SOURCE, [ImportStep([(first, None), (second, text("2"))])])
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
