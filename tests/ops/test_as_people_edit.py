"""Merges of what people do to files: other line ends, other names, copies of a brain."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

from brain import Brain
from brain.errors import StoreError
from brain.repo.session import CONTROL_FOLDER
from brain.results import Adopted
from brain.store.database import STORE_FILE_NAME
from tests.support.planted_secrets import text_with_secret
from tests.support.refusals import raises_code

Change = Callable[[Brain], object]
SKILL = "skills/oracle/SKILL.md"
FILES = {
    SKILL: "---\nname: Oracle\ndescription: Check freshness\n---\n\nOne.\n\nTwo.\n\nThree.\n",
    "memory/notes.md": "- one\n- two\n- three\n",
    "memory/log.jsonl": '{"ts":1}\n{"ts":2}\n',
    "prompts/system.md": "Be brief.\n\nBe kind.\n",
    "docs/plan.txt": "a\nb\nc\nd\n",
}
EDITS = {
    SKILL: ("Three.", "Three, sooner."),
    "memory/notes.md": ("- one", "- one, sure"),
    "memory/log.jsonl": ('{"ts":2}', '{"ts":2,"ok":1}'),
    "prompts/system.md": ("Be kind.", "Be fast."),
    "docs/plan.txt": ("c", "see"),
}


@pytest.fixture
def brain(tmp_path):
    made = Brain.init(tmp_path / "agent", author="tester")
    for path, text in FILES.items():
        write(made, path, text)
    made.snapshot("base")
    return made


def write(brain: Brain, path: str, text: str) -> None:
    file = brain.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())


def read(brain: Brain, path: str) -> str:
    return (brain.root / path).read_bytes().decode()


def diverge(brain: Brain, ours: Change, theirs: Change) -> None:
    """Make `ours` on main and `theirs` on the branch idea; end on main."""
    brain.branches.create("idea")
    ours(brain)
    brain.snapshot()
    brain.branches.switch("idea")
    theirs(brain)
    brain.snapshot()
    brain.branches.switch("main")


def edit(path: str) -> Change:
    """Change one line of a file, and leave its line ends."""
    return lambda brain: write(brain, path, read(brain, path).replace(*EDITS[path]))


def end_lines(path: str, end: str, count: int = -1) -> Change:
    """End lines of a file in another way, all or the first ones."""

    def change(brain: Brain) -> None:
        old = read(brain, path).replace("\r\n", "\n")
        write(brain, path, old.replace("\n", end, count))

    return change


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("path", FILES)
def test_other_line_ends_on_one_side_are_no_conflict_with_an_edit_on_the_other(brain, path, swap):
    changes = edit(path), end_lines(path, "\r\n")
    diverge(brain, *(changes[::-1] if swap else changes))
    done = brain.merge.start("idea")
    assert done.conflicts == []
    assert [(row.code, row.path) for row in done.notices] == [("line_ends", path)]
    assert "CRLF" in done.notices[0].message
    merged = read(brain, path)
    assert merged.count("\r\n") == merged.count("\n") > 0
    edited = FILES[path].replace(*EDITS[path]).splitlines()
    assert set(edited) <= set(merged.splitlines())
    assert brain.verify(deep=True).ok


@pytest.mark.parametrize("path", FILES)
def test_a_file_that_got_plain_line_ends_again_has_them_after_a_merge(brain, path):
    end_lines(path, "\r\n")(brain)
    brain.snapshot()
    diverge(brain, end_lines(path, "\n"), edit(path))
    done = brain.merge.start("idea")
    assert (done.conflicts, "\r" in read(brain, path)) == ([], False)
    assert EDITS[path][1] in read(brain, path)


@pytest.mark.parametrize("swap", [False, True])
def test_line_ends_that_became_mixed_stay_so_beside_an_edit(brain, swap):
    path = "docs/plan.txt"
    changes = edit(path), end_lines(path, "\r\n", 2)
    diverge(brain, *(changes[::-1] if swap else changes))
    done = brain.merge.start("idea")
    assert (done.conflicts, read(brain, path)) == ([], "a\r\nb\r\nsee\nd\n")
    assert "mixed" in done.notices[0].message


def test_mixed_line_ends_that_one_side_made_equal_are_equal_after_a_merge(brain):
    path = "docs/plan.txt"
    write(brain, path, "a\r\nb\nc\r\nd\n")
    brain.snapshot()
    diverge(brain, edit(path), end_lines(path, "\r\n"))
    assert brain.merge.start("idea").conflicts == []
    assert read(brain, path) == "a\r\nb\r\nsee\r\nd\r\n"


def test_line_ends_that_both_sides_changed_alike_are_no_conflict_either(brain):
    path = "docs/plan.txt"
    diverge(
        brain,
        lambda b: [end_lines(path, "\r\n")(b), edit(path)(b)],
        lambda b: [write(b, path, "A\nb\nc\nd\n"), end_lines(path, "\r\n")(b)],
    )
    assert brain.merge.start("idea").conflicts == []
    assert read(brain, path) == "A\r\nb\r\nsee\r\nd\r\n"


def test_a_conflict_beside_other_line_ends_is_about_the_words_alone(brain):
    path = "docs/plan.txt"
    diverge(
        brain,
        edit(path),
        lambda b: [write(b, path, "a\nb\nsi\nd\n"), end_lines(path, "\r\n")(b)],
    )
    (row,) = brain.merge.start("idea").conflicts
    assert row.file
    marked = (brain.root / row.file).read_bytes()
    assert marked.count(b"a\r\n") == 1 and marked.startswith(b"a\r\nb\r\n<<<<<<<")
    brain.merge.resolve([path], "theirs")
    brain.merge.resume()
    assert read(brain, path) == "a\r\nb\r\nsi\r\nd\r\n"


BODY = "\n1. First.\n\n2. Second.\n\n3. Third.\n\n4. Fourth.\n"


def skill(name: str, body: str = BODY) -> str:
    return f"---\nname: {name}\ndescription: Does it\n---\n{body}"


@pytest.fixture
def library(tmp_path):
    """A brain with a skill of two files."""
    made = Brain.init(tmp_path / "agent", author="tester")
    write(made, "skills/old/SKILL.md", skill("old"))
    write(made, "skills/old/scripts/run.sh", "echo one\n")
    write(made, "skills/other/SKILL.md", skill("other", "\nNothing alike.\n"))
    made.snapshot("base")
    return made


def move(old: str, new: str, name: str = "") -> Change:
    """Move the folder of a skill, and give it another name in its front matter."""

    def change(brain: Brain) -> None:
        target = brain.root / new
        target.parent.mkdir(parents=True, exist_ok=True)
        (brain.root / old).rename(target)
        if name:
            text = read(brain, f"{new}/SKILL.md").replace("name: old", f"name: {name}")
            write(brain, f"{new}/SKILL.md", text.replace("Fourth.", "Fourth, new."))

    return change


def learn(brain: Brain) -> None:
    """Change the text, change the script, and add a file."""
    write(brain, "skills/old/SKILL.md", skill("old", BODY.replace("Second.", "Second, ours.")))
    write(brain, "skills/old/scripts/run.sh", "echo two\n")
    write(brain, "skills/old/notes.md", "Mind the gap.\n")


def files(brain: Brain, revision: str = "@") -> list[str]:
    return [row.path for row in brain.files.list(revision) if row.path.startswith("skills/")]


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize(
    ("new", "name"),
    [("skills/new", "new"), ("skills/web/old", ""), ("skills/web/new", "new")],
    ids=["renamed", "in another category", "both"],
)
def test_a_skill_renamed_on_one_side_and_edited_on_the_other_keeps_both(library, new, name, swap):
    renamed = move("skills/old", new, name)
    diverge(library, *((learn, renamed) if swap else (renamed, learn)))
    done = library.merge.start("idea")
    assert done.conflicts == []
    assert files(library) == sorted(
        [f"{new}/SKILL.md", f"{new}/notes.md", f"{new}/scripts/run.sh", "skills/other/SKILL.md"]
    )
    text = read(library, f"{new}/SKILL.md")
    assert "Second, ours." in text and f"name: {name or 'old'}\n" in text
    assert ("Fourth, new." in text) == bool(name)
    assert read(library, f"{new}/scripts/run.sh") == "echo two\n"
    assert [(row.code, row.path) for row in done.notices] == [("renamed", new)]
    assert "skills/old" in done.notices[0].message
    assert not (library.root / "skills/old").exists()
    assert library.status().clean
    assert library.verify(deep=True).ok


def test_a_command_that_renames_is_followed_too_and_versions_go_on(library):
    library.skills.upsert("old", BODY.replace("First.", "First!"))
    diverge(library, lambda b: b.skills.rename("old", "new"), learn)
    done = library.merge.start("idea")
    assert done.conflicts == [] and [row.slug for row in done.skills] == ["new"]
    assert "Second, ours." in read(library, "skills/new/SKILL.md")
    assert library.verify(deep=True).ok


@pytest.mark.parametrize("swap", [False, True])
def test_skills_that_either_side_added_stay_beside_one_that_is_followed(library, swap):
    def adding(name: str, change: Change) -> Change:
        return lambda b: [change(b), write(b, f"skills/{name}/SKILL.md", skill(name, "\nX.\n"))]

    sides = adding("mine", learn), adding("yours", move("skills/old", "skills/new", "new"))
    diverge(library, *(sides[::-1] if swap else sides))
    assert library.merge.start("idea").conflicts == []
    names = {path.split("/")[1] for path in files(library)}
    assert names == {"mine", "new", "other", "yours"}
    assert library.verify(deep=True).ok


def test_edits_by_hand_that_nobody_recorded_move_along(library):
    diverge(
        library, lambda b: write(b, "memory/a.md", "- a\n"), move("skills/old", "skills/new", "new")
    )
    write(library, "skills/old/SKILL.md", skill("old", BODY.replace("Second.", "Second, ours.")))
    write(library, "skills/old/scripts/run.sh", "echo two\n")
    assert library.merge.start("idea").conflicts == []
    assert "Second, ours." in read(library, "skills/new/SKILL.md")
    assert read(library, "skills/new/scripts/run.sh") == "echo two\n"
    assert library.status().clean


def test_a_skill_that_both_sides_gave_the_same_name_is_merged_there(library):
    def there(word: str) -> Change:
        def change(brain: Brain) -> None:
            move("skills/old", "skills/new", "new")(brain)
            text = read(brain, "skills/new/SKILL.md").replace(word, f"{word[:-1]}, too.")
            write(brain, "skills/new/SKILL.md", text)

        return change

    diverge(library, there("First."), there("Third."))
    done = library.merge.start("idea")
    assert done.conflicts == []
    text = read(library, "skills/new/SKILL.md")
    assert "First, too." in text and "Third, too." in text


@pytest.mark.parametrize(
    ("choice", "there"),
    [("ours", ["mine"]), ("theirs", ["yours"]), ("both", ["mine", "yours"])],
)
def test_a_skill_that_both_sides_renamed_differently_is_a_conflict_that_names_both(
    library, choice, there
):
    def renamed(name: str, word: str) -> Change:
        def change(brain: Brain) -> None:
            move("skills/old", f"skills/{name}", name)(brain)
            text = read(brain, f"skills/{name}/SKILL.md").replace(word, f"{word[:-1]}, too.")
            write(brain, f"skills/{name}/SKILL.md", text)

        return change

    diverge(library, renamed("mine", "First."), renamed("yours", "Third."))
    (row,) = library.merge.start("idea").conflicts
    assert (row.reason, row.path, row.our_path) == (
        *("renamed", "skills/yours/SKILL.md", "skills/mine/SKILL.md"),
    )
    (row,) = library.merge.resolve([row.path], choice)
    assert row.our_path == "skills/mine/SKILL.md"
    library.merge.resume()
    resolve_all(library, choice)  # the names differ in the front matter, too
    skills = {path.split("/")[1] for path in files(library) if path.endswith("SKILL.md")}
    assert skills == {*there, "other"}
    if choice != "both":
        text = read(library, f"skills/{there[0]}/SKILL.md")
        assert "First, too." in text and "Third, too." in text
        assert f"name: {there[0]}\n" in text
    assert library.status().clean
    assert library.verify(deep=True).ok


@pytest.mark.parametrize("name", ["mine", "yours"])
@pytest.mark.parametrize("words", ["ours", "theirs"])
def test_what_is_decided_about_the_name_decides_nothing_about_the_text(library, name, words):
    def renamed(name: str, word: str) -> Change:
        def change(brain: Brain) -> None:
            move("skills/old", f"skills/{name}")(brain)
            text = skill("old", BODY.replace("Second.", f"Second, {word}."))
            write(brain, f"skills/{name}/SKILL.md", text)

        return change

    diverge(library, renamed("mine", "ours"), renamed("yours", "theirs"))
    (row,) = library.merge.start("idea").conflicts
    library.merge.resolve([row.path], "ours" if name == "mine" else "theirs")
    (row,) = [one for one in library.merge.resume().conflicts if not one.choice]
    assert (row.reason, row.path) == ("content", f"skills/{name}/SKILL.md")
    library.merge.resolve([row.path], words)
    assert library.merge.resume().conflicts == []
    assert files(library) == sorted(
        [f"skills/{name}/SKILL.md", f"skills/{name}/scripts/run.sh", "skills/other/SKILL.md"]
    )
    assert f"Second, {words}." in read(library, f"skills/{name}/SKILL.md")
    assert library.status().clean


@pytest.mark.parametrize("choice", ["ours", "theirs"])
def test_two_names_that_each_side_kept_in_a_criss_cross_are_asked_about_again(library, choice):
    diverge(
        library, lambda b: b.skills.rename("old", "mine"), lambda b: b.skills.rename("old", "yours")
    )
    heads = [library.history.resolve(branch) for branch in ("main", "idea")]
    for branch, other in zip(("idea", "main"), heads, strict=True):  # each keeps its own name
        library.branches.switch(branch)
        assert library.merge.start(other, "ours").conflicts == []
    for branch, name, word in (("idea", "yours", "Third."), ("main", "mine", "First.")):
        library.branches.switch(branch)
        path = f"skills/{name}/SKILL.md"
        write(library, path, read(library, path).replace(word, f"{word[:-1]}, too."))
        library.snapshot()
    done = library.merge.start("idea")
    assert sorted(done.bases) == sorted(heads)
    assert [(row.reason, row.path, row.our_path) for row in done.conflicts] == [
        ("renamed", "skills/yours/SKILL.md", "skills/mine/SKILL.md")
    ]
    resolve_all(library, choice)
    name = "mine" if choice == "ours" else "yours"
    assert files(library) == sorted(
        [f"skills/{name}/SKILL.md", f"skills/{name}/scripts/run.sh", "skills/other/SKILL.md"]
    )
    text = read(library, f"skills/{name}/SKILL.md")
    assert "First, too." in text and "Third, too." in text
    assert library.verify(deep=True).ok


def resolve_all(brain: Brain, choice: str) -> None:
    """Decide all conflicts in one way; the first decision may lead to others."""
    conflicts = brain.merge.list_conflicts()
    while conflicts:
        brain.merge.resolve([row.path for row in conflicts if not row.choice], choice)
        conflicts = brain.merge.resume().conflicts


@pytest.mark.parametrize("swap", [False, True])
def test_a_skill_that_a_merge_made_is_followed_when_a_criss_cross_side_renames_it(library, swap):
    def edit_words(word: str) -> Change:
        def change(brain: Brain) -> None:
            path = "skills/old/SKILL.md"
            write(brain, path, read(brain, path).replace(word, f"{word[:-1]}, too."))

        return change

    diverge(library, edit_words("First."), edit_words("Third."))
    heads = [library.history.resolve(branch) for branch in ("main", "idea")]
    for branch, other in zip(("idea", "main"), heads, strict=True):
        library.branches.switch(branch)
        assert library.merge.start(other).conflicts == []
    renamed = move("skills/old", "skills/new", "new")
    for branch, change in zip(
        ("idea", "main"), (learn, renamed)[:: -1 if swap else 1], strict=True
    ):
        library.branches.switch(branch)
        change(library)
        library.snapshot()
    assert library.merge.start("idea", "theirs" if swap else "ours").conflicts == []
    assert files(library) == [
        *("skills/new/SKILL.md", "skills/new/notes.md", "skills/new/scripts/run.sh"),
        "skills/other/SKILL.md",
    ]
    assert "Fourth, new." in read(library, "skills/new/SKILL.md")
    assert library.verify(deep=True).ok


def test_a_name_that_the_other_side_took_for_another_skill_is_not_followed(library):
    diverge(
        library,
        lambda b: [learn(b), write(b, "skills/new/SKILL.md", skill("new", "\nAnother.\n"))],
        move("skills/old", "skills/new", "new"),
    )
    assert {row.path for row in library.merge.start("idea").conflicts} >= {"skills/new/SKILL.md"}
    library.merge.abort()
    assert library.status().clean


@pytest.mark.parametrize("choice", ["ours", "theirs", "both"])
def test_of_two_names_none_is_taken_where_the_other_side_has_another_skill_of_it(library, choice):
    diverge(
        library,
        lambda b: [
            move("skills/old", "skills/mine", "mine")(b),
            write(b, "skills/yours/SKILL.md", skill("yours", "\nAnother.\n")),
        ],
        move("skills/old", "skills/yours", "yours"),
    )
    (row,) = library.merge.start("idea").conflicts
    assert (row.path, row.reason) == ("skills/yours/SKILL.md", "content")
    resolve_all(library, choice)
    assert "Fourth, new." in read(library, "skills/mine/SKILL.md")
    text = read(library, "skills/yours/SKILL.md")
    assert ("Another." in text) == (choice != "theirs")
    assert ("Fourth, new." in text) == (choice != "ours")
    assert library.verify(deep=True).ok


def test_a_conflict_within_a_renamed_skill_is_resolved_under_its_new_name(library):
    def theirs(brain: Brain) -> None:
        move("skills/old", "skills/new", "new")(brain)
        text = read(brain, "skills/new/SKILL.md").replace("Second.", "Second, theirs.")
        write(brain, "skills/new/SKILL.md", text)

    diverge(library, learn, theirs)
    (row,) = library.merge.start("idea").conflicts
    assert (row.path, row.reason, row.our_path) == ("skills/new/SKILL.md", "content", None)
    library.merge.resolve([row.path], "ours")
    assert library.merge.resume().conflicts == []
    text = read(library, "skills/new/SKILL.md")
    assert "Second, ours." in text and "Fourth, new." in text
    assert library.status().clean


def test_a_skill_that_one_side_renamed_and_the_other_removed_stays_renamed(library):
    diverge(library, move("skills/old", "skills/new", "new"), lambda b: b.skills.delete("old"))
    done = library.merge.start("idea", "ours")
    assert done.conflicts == []
    assert "skills/new/SKILL.md" in files(library)


@pytest.mark.parametrize("swap", [False, True])
def test_other_line_ends_and_another_name_go_together(library, swap):
    sides = (
        lambda b: [move("skills/old", "skills/new", "new")(b)],
        lambda b: [learn(b), end_lines("skills/old/SKILL.md", "\r\n")(b)],
    )
    diverge(library, *(sides[::-1] if swap else sides))
    done = library.merge.start("idea")
    assert done.conflicts == []
    assert sorted(row.code for row in done.notices) == ["line_ends", "renamed"]
    text = read(library, "skills/new/SKILL.md")
    assert "Second, ours.\r\n" in text and "name: new\r\n" in text


MARKED = "First.\n<<<<<<< Updated upstream\nours\n=======\ntheirs\n>>>>>>> Stashed changes\n"


@pytest.mark.parametrize("path", ["memory/MEMORY.md", "prompts/system.md", SKILL])
def test_markers_that_another_program_left_are_noticed_by_status_and_snapshot(brain, path):
    write(brain, path, FILES.get(path, "") + MARKED)
    line = FILES.get(path, "").count("\n") + 2
    for notices in (brain.status().notices, brain.snapshot().notices):
        (found,) = (row for row in notices if row.code == "conflict_marker")
        assert (found.path, f"line {line}:" in found.message) == (path, True)
    assert not [row for row in brain.snapshot().notices if row.code == "conflict_marker"]


def test_markers_that_come_in_with_one_side_are_noticed_when_the_merge_goes_on(brain):
    path = "prompts/system.md"
    diverge(brain, lambda b: write(b, path, "Be fast.\n"), lambda b: write(b, path, MARKED))
    (row,) = brain.merge.start("idea").conflicts
    brain.merge.resolve([row.path], "theirs")
    done = brain.merge.resume()
    assert [(row.code, row.path) for row in done.notices] == [("conflict_marker", path)]


def adopt(source: Brain, into: Brain) -> Adopted:
    """Adopt one brain into another one; both stay open."""
    return Brain.adopt(source.root, into.root, author="tester")


@pytest.fixture(params=["a copy of its folder", "a fork", "what it was forked from"])
def pair(brain, tmp_path, request):
    """A brain, and another one that began with the same files."""
    write(brain, "deep/er/file.txt", "kept\n")
    brain.snapshot()
    other = tmp_path / "other"
    if "folder" in request.param:
        shutil.copytree(brain.root, other)
    else:
        brain.fork(other)
    with Brain.open(other, author="other") as opened:
        yield (opened, brain) if "from" in request.param else (brain, opened)


def test_changes_of_one_side_of_two_copies_are_no_conflicts(pair):
    brain, other = pair
    edit(SKILL)(other)
    write(other, "memory/new.md", "- new\n")
    (other.root / "docs/plan.txt").unlink()
    other.snapshot()
    edit("prompts/system.md")(brain)
    write(brain, "memory/mine.md", "- mine\n")
    brain.snapshot()
    write(other, "memory/notes.md", "- four\n" + FILES["memory/notes.md"])  # not recorded
    done = adopt(other, brain)
    assert done.conflicts == []
    assert EDITS[SKILL][1] in read(brain, SKILL)
    assert EDITS["prompts/system.md"][1] in read(brain, "prompts/system.md")
    assert read(brain, "memory/notes.md").startswith("- four\n")
    assert read(brain, "deep/er/file.txt") == "kept\n"
    assert not (brain.root / "docs/plan.txt").exists()
    assert {"memory/new.md", "memory/mine.md"} <= {row.path for row in brain.files.list()}
    assert brain.verify(deep=True).ok and other.verify(deep=True).ok


def test_both_changes_of_two_copies_are_merged_and_adopting_again_brings_the_rest(pair):
    brain, other = pair
    edit(SKILL)(other)
    other.snapshot()
    write(brain, SKILL, read(brain, SKILL).replace("One.", "One, mine."))
    brain.snapshot()
    assert adopt(other, brain).conflicts == []
    assert "One, mine." in read(brain, SKILL) and EDITS[SKILL][1] in read(brain, SKILL)
    assert not adopt(other, brain).changed
    write(other, SKILL, read(other, SKILL).replace("Two.", "Two, later."))
    other.snapshot()
    assert adopt(other, brain).conflicts == []
    assert all(part in read(brain, SKILL) for part in ("One, mine.", "Two, later."))
    assert adopt(brain, other).conflicts == []  # and back
    assert "One, mine." in read(other, SKILL)


def test_adopting_back_and_forth_is_no_conflict_where_one_side_changed_something(pair):
    brain, other = pair
    write(brain, "docs/beta.txt", "- one\n- two\n")
    brain.snapshot()
    for number in range(4):
        for source, into in ((brain, other), (other, brain)):
            write(source, "docs/beta.txt", f"- one, {number} of {source.root.name}\n- two\n")
            write(into, f"memory/{number}-{into.root.name}.md", f"{into.root}\n")
            source.snapshot()
            into.snapshot()
            assert adopt(source, into).conflicts == []
            assert read(into, "docs/beta.txt") == read(source, "docs/beta.txt")
    assert adopt(brain, other).conflicts == []
    assert {row.path for row in brain.files.list()} == {row.path for row in other.files.list()}
    (other.root / "docs/beta.txt").unlink()
    other.snapshot()
    assert adopt(other, brain).conflicts == []
    assert not (brain.root / "docs/beta.txt").exists()
    assert brain.verify(deep=True).ok and other.verify(deep=True).ok


def test_the_way_back_is_a_conflict_where_both_sides_changed_a_line(pair):
    brain, other = pair
    write(brain, "docs/beta.txt", "- one\n")
    brain.snapshot()
    adopt(brain, other)
    write(brain, "docs/beta.txt", "- one, mine\n")
    brain.snapshot()
    write(other, "docs/beta.txt", "- one, theirs\n")
    other.snapshot()
    (row,) = adopt(other, brain).conflicts
    assert (row.path, row.base is not None) == ("docs/beta.txt", True)


@pytest.mark.parametrize("text", ["- kept\n", ""], ids=["ignored there", "a secret"])
def test_what_a_copy_left_out_stays_on_the_way_back(pair, text):
    brain, other = pair
    if text:
        write(other, ".brainignore", "memory/own.md\n")
        other.snapshot()
    write(brain, "memory/own.md", text or text_with_secret(random.Random(7)))
    write(brain, "docs/beta.txt", "- one\n")
    brain.snapshot()
    adopt(brain, other)
    assert not (other.root / "memory/own.md").exists()
    write(other, "memory/new.md", "- new\n")
    other.snapshot()
    assert adopt(other, brain).conflicts == []
    assert (brain.root / "memory/own.md").exists()
    assert "memory/own.md" in {row.path for row in brain.files.list()}
    assert read(brain, "memory/new.md") == "- new\n"


def test_lines_that_two_copies_changed_differently_are_a_conflict(pair):
    brain, other = pair
    edit("docs/plan.txt")(other)
    other.snapshot()
    write(brain, "docs/plan.txt", "a\nb\nsi\nd\n")
    brain.snapshot()
    (row,) = adopt(other, brain).conflicts
    assert (row.path, row.base is not None) == ("docs/plan.txt", True)


def test_a_manifest_and_a_trust_file_of_a_copy_are_not_taken_over(pair):
    brain, other = pair
    before = read(brain, "manifest.yaml")
    write(other, "manifest.yaml", read(other, "manifest.yaml") + "# theirs\n")
    edit(SKILL)(other)
    other.snapshot()
    assert adopt(other, brain).conflicts == []
    assert read(brain, "manifest.yaml") == before


def test_a_preview_of_a_copy_shows_what_adopting_it_takes(pair):
    brain, other = pair
    write(other, "memory/new.md", "- new\n")
    write(other, "memory/key.md", text_with_secret(random.Random(7)))
    other.snapshot()
    before = brain.head, brain.branches.list()
    seen = Brain.preview_adoption(other.root, brain.root)
    assert (brain.head, brain.branches.list()) == before
    done = adopt(other, brain)
    assert {"memory/new.md", "docs/plan.txt"} <= {row.path for row in seen.taken}
    assert [row.path for row in seen.left_out] == ["memory/key.md"]
    assert (seen.kind, seen.source, seen.path) == ("brain", done.source, done.path)
    assert (seen.taken, seen.left_out) == (done.taken, done.left_out)


@pytest.mark.parametrize(
    ("moved", "rewritten"),
    [("", ""), ("", "- a note without it\n"), ("memory/moved.md", "")],
    ids=["removed here", "rewritten here", "moved there"],
)
def test_what_was_redacted_here_is_left_out_of_an_older_copy(brain, tmp_path, moved, rewritten):
    write(brain, "memory/private.md", "- the address of the customer\n")
    brain.snapshot()
    copied = shutil.copytree(brain.root, tmp_path / "other")
    brain.files.redact("memory/private.md", reason="asked for", history=True)
    if rewritten:
        write(brain, "memory/private.md", rewritten)
        brain.snapshot()
    if moved:
        (copied / "memory/private.md").rename(copied / moved)
    (copied / "memory/new.md").write_text("- new\n")
    seen, done = Brain.preview_adoption(copied, brain.root), Brain.adopt(copied, brain.root)
    assert (done.conflicts, read(brain, "memory/new.md")) == ([], "- new\n")
    path = moved or "memory/private.md"
    assert [(row.code, row.path) for row in done.left_out] == [("redacted", path)]
    assert (seen.taken, seen.left_out) == (done.taken, done.left_out)
    now = {row.path for row in brain.files.list()} - FILES.keys()
    kept = {"memory/private.md"} if rewritten else set()
    assert now == {"memory/new.md", "manifest.yaml"} | kept
    assert not rewritten or read(brain, "memory/private.md") == rewritten
    assert not Brain.adopt(copied, brain.root).changed
    assert brain.status().clean and brain.verify(deep=True).ok


@pytest.fixture
def unopened(brain, tmp_path):
    """A copy of a brain, with an edit, and its store."""
    copied = shutil.copytree(brain.root, tmp_path / "other")
    (copied / SKILL).write_text(FILES[SKILL].replace(*EDITS[SKILL]))
    return copied, copied / CONTROL_FOLDER / STORE_FILE_NAME


@pytest.mark.parametrize("act", [Brain.adopt, Brain.preview_adoption])
def test_a_copy_of_a_later_release_is_refused(brain, unopened, act):
    copied, store = unopened
    with closing(sqlite3.connect(store)) as db:
        db.execute("PRAGMA user_version=99")
    head = brain.head
    with raises_code("unsupported_version", StoreError):
        act(copied, brain.root)
    assert brain.head == head
    assert SKILL in {row.path for row in act(copied, brain.root, "agentskills").taken}


@pytest.mark.parametrize("act", [Brain.adopt, Brain.preview_adoption])
def test_a_damaged_copy_is_adopted_by_its_files_and_the_damage_is_named(brain, unopened, act):
    copied, store = unopened
    store.write_bytes(b"no database" * 500)
    with pytest.raises(StoreError) as refused:
        Brain.open(copied)
    done = act(copied, brain.root)
    (notice,) = (row for row in done.notices if row.code == "damaged_brain")
    assert notice.path == str(copied) and refused.value.message in notice.message
    assert done.kind == "agentskills" and SKILL in {row.path for row in done.taken}


def test_a_patch_says_so_where_only_line_ends_differ(brain):
    end_lines("docs/plan.txt", "\r\n")(brain)
    edit(SKILL)(brain)
    brain.snapshot()
    said = [text for text in brain.history.patch(brain.history.diff("@~1", "@")) if "Only" in text]
    assert [text.splitlines()[0] for text in said] == [
        "Only line ends differ: LF before, CRLF after"
    ]
    assert "docs/plan.txt" in said[0]


def move_skill_and_memory(brain: Brain) -> None:
    (brain.root / "skills/oracle").rename(brain.root / "skills/seer")
    (brain.root / "memory/notes.md").rename(brain.root / "memory/later.md")


def test_a_branch_that_moved_what_was_redacted_here_is_merged_without_it(brain):
    diverge(brain, edit("docs/plan.txt"), move_skill_and_memory)
    for path in (SKILL, "memory/notes.md"):
        brain.files.redact(path, reason="x")
    done = brain.merge.start("idea")
    left_out = ["memory/later.md", "skills/seer/SKILL.md"]
    assert [(row.code, row.path) for row in done.notices] == [("redacted", one) for one in left_out]
    assert done.changed and not done.conflicts
    assert not any((brain.root / path).exists() for path in left_out)
    assert brain.status().clean and brain.verify(deep=True).ok
    assert not brain.merge.start("idea").changed


@pytest.mark.parametrize("ours", [edit("docs/plan.txt"), lambda brain: None])
def test_a_redacted_file_that_only_the_other_branch_has_is_left_out_of_a_merge(brain, ours):
    def theirs(brain: Brain) -> None:
        write(brain, "memory/secret.md", "the secret of the day\n")
        write(brain, "memory/plain.md", "plain\n")

    diverge(brain, ours, theirs)
    brain.files.redact("memory/secret.md", reason="x", rev="idea")
    done = brain.merge.start("idea")
    assert [(row.code, row.path) for row in done.notices] == [("redacted", "memory/secret.md")]
    assert (done.added, read(brain, "memory/plain.md")) == (1, "plain\n")
    assert not (brain.root / "memory/secret.md").exists()
    assert brain.status().clean and brain.verify(deep=True).ok


@pytest.mark.parametrize("path", [SKILL, "memory/notes.md", "docs/plan.txt"])
def test_beside_a_redacted_edit_of_the_other_branch_ours_is_kept(brain, path):
    before, after = EDITS[path]
    diverge(brain, edit(path), lambda b: write(b, path, read(b, path).replace(before, "hush")))
    brain.files.redact(path, reason="x", rev="idea")
    done = brain.merge.start("idea")
    assert [(row.code, row.path) for row in done.notices] == [("redacted", path)]
    assert not done.conflicts and after in read(brain, path)
    assert brain.status().clean and brain.verify(deep=True).ok
