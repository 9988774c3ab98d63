"""A skill that is renamed keeps its files, its versions, its history, and edits of others."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from brain import Brain, Conflict
from brain.skills.slug import fold_to_slug

_BODIES = st.lists(st.sampled_from(["a", "b", "# T", "", "é", "🧠"]), max_size=4).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)
_TEXTS = st.builds(
    lambda name, version, body: f"---\n{name}description: d\n{version}---\n{body}",
    st.sampled_from(["name: old\n", "name: Old\n", "name: 'old'\n", "name: Other title\n", ""]),
    st.sampled_from(["", "version: 7\n", "metadata:\n  version: '1.9'\n"]),
    _BODIES,
) | st.sampled_from(["no front matter\n", "---\nname: old\r\ndescription: a: b\r\n---\r\nx\r\n"])
_PLACES = st.sampled_from(
    ["skills/{}/SKILL.md", "skills/{}.md", "skills/c/{}/SKILL.md", ".agents/skills/{}/SKILL.md"]
)
_FILES = st.dictionaries(
    st.sampled_from(["run.sh", "deep/er.md", "old/old.md", "ü.bin"]),
    st.binary(max_size=9),
    max_size=3,
)


@contextmanager
def new_brain() -> Iterator[Brain]:
    """Yield a new brain, and verify all that was written to it."""
    work = Path(tempfile.mkdtemp())
    try:
        with Brain.init(work / "agent", author="tester") as brain:
            yield brain
            found = brain.verify(deep=True)
            assert found.ok and not [row for row in found.findings if row.severity != "note"]
    finally:
        shutil.rmtree(work)


def write(brain: Brain, path: str, content: bytes) -> None:
    """Write a file by hand."""
    file = brain.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def files_of(brain: Brain) -> dict[str, bytes]:
    """Return the files of the folder; each is recorded."""
    assert brain.status().clean
    return {row.path: (brain.root / row.path).read_bytes() for row in brain.files.list()}


@given(_PLACES, _TEXTS, _FILES)
@example("skills/{}/SKILL.md", "---\nname: old\ndescription: d\n---\n", {})
def test_there_and_back_is_the_same_but_for_the_version(place, text, beside):
    path, folder = place.format("old"), place.format("old").removesuffix("/SKILL.md")
    with new_brain() as brain:
        write(brain, path, text.encode())
        if path != folder:
            for name, content in beside.items():
                write(brain, f"{folder}/{name}", content)
        brain.snapshot()
        first, before = brain.skills.view("old"), files_of(brain)
        history = brain.skills.history("old")
        there = brain.skills.rename("old", "New one")
        assert there.path == place.format("new-one")
        assert not (brain.root / folder).exists()
        moved = place.format("new-one").removesuffix("/SKILL.md")
        assert {
            name: content for name, content in files_of(brain).items() if name != there.path
        } == {
            name.replace(folder, moved, 1) if name.startswith(folder) else name: content
            for name, content in before.items()
            if name != path
        }
        assert brain.skills.history("new-one")[1:] == history
        back = brain.skills.rename("new-one", "old")
        after, last = files_of(brain), brain.skills.view("old")
        assert after.keys() == before.keys()
        assert {name for name in after if after[name] != before[name]} <= {path}
        assert (last.body.lstrip(), last.description) == (first.body.lstrip(), first.description)
        assert fold_to_slug(last.name) == fold_to_slug(first.name)
        rows = brain.skills.history("old")
        assert len({row.version for row in rows}) == len(rows) == len(history) + 2
        assert [rows[0].version, rows[1].version] == [back.version, there.version]


@settings(max_examples=12)
@given(_BODIES, st.booleans())
def test_an_edit_on_another_branch_outlives_a_rename(body, renamer_merges):
    with new_brain() as brain:
        brain.skills.upsert("old", f"first\n{body}last\n", description="d")
        write(brain, "skills/old/run.sh", b"echo 1\n")
        brain.snapshot()
        brain.branches.create("idea")
        brain.skills.rename("old", "new")
        brain.branches.switch("idea")
        brain.skills.upsert("old", f"first\n{body}edited\nlast\n")
        write(brain, "skills/old/run.sh", b"echo 2\n")
        brain.snapshot()
        if renamer_merges:
            brain.branches.switch("main")
        done = brain.merge.start("idea" if renamer_merges else "main")
        assert not done.conflicts and "renamed" in {notice.code for notice in done.notices}
        after = files_of(brain)
        assert after["skills/new/run.sh"] == b"echo 2\n"
        assert "skills/old/run.sh" not in after and "skills/old/SKILL.md" not in after
        assert b"edited" in after["skills/new/SKILL.md"]


# A tag never moves, and it names its snapshot wherever a revision is asked for.
_WORK = st.sampled_from(["upsert", "rename", "delete", "branch", "merge", "undo", "gc", "copy"])
_STEPS = st.lists(_WORK, min_size=4, max_size=10)


def _do(brain: Brain, work: str, number: int) -> Brain:
    """Do some work; return the brain, which is another folder after a copy."""
    skills = [skill.slug for skill in brain.skills.list()]
    branches = {branch.name for branch in brain.branches.list().branches}
    if work == "upsert" or (work in ("rename", "delete") and not skills):
        brain.skills.upsert(f"s{number % 3}", f"{number}\n", description="d")
    elif work == "rename":
        brain.skills.rename(skills[0], f"r{number}")
    elif work == "delete":
        brain.skills.delete(skills[0])
    elif work == "branch" and "idea" not in branches:
        brain.branches.create("idea")
    elif work == "branch":
        brain.branches.switch("main" if brain.branches.current == "idea" else "idea")
    elif work == "merge" and "idea" in branches:
        brain.merge.start("main" if brain.branches.current == "idea" else "idea", "theirs")
    elif work == "undo":
        brain.skills.upsert("undone", f"{number}\n", description="d")
        brain.undo()
    elif work == "gc":
        brain.gc(grace=0)
    elif work == "copy":
        brain.close()
        copy = brain.root.with_name(f"copy-{number}")
        shutil.copytree(brain.root, copy)
        return Brain.open(copy, author="tester")
    return brain


@settings(max_examples=12)
@given(_STEPS, st.integers(0, 3), st.booleans())
def test_a_tag_names_its_snapshot_through_all_that_follows(steps, tag_at, only_the_tag_has_it):
    folder = Path(tempfile.mkdtemp())
    try:
        brain = Brain.init(folder / "agent", author="tester")
        for number, work in enumerate(steps[:tag_at]):
            brain = _do(brain, work, number)
        brain.skills.upsert("kept", "kept\n", description="d")
        tagged, text = brain.head, brain.skills.view("kept").body
        if only_the_tag_has_it:
            brain.undo()
        else:
            brain.skills.delete("kept")
        brain.tags.create("v1", tagged)
        for number, work in enumerate(steps[tag_at:], tag_at):
            brain = _do(brain, work, number)
            (tag,) = brain.tags.list()
            assert (tag.name, tag.snapshot) == ("v1", tagged)
            try:
                brain.tags.create("v1")
            except Conflict as refused:
                assert refused.code == "tag_exists"
            else:
                raise AssertionError("the tag moved")
        with brain:
            log = [row.snapshot for row in brain.history.log()]
            assert brain.history.resolve("v1") == brain.history.resolve("v1~0") == tagged
            assert brain.history.show("v1").info.snapshot == tagged
            assert next(iter(brain.history.log("v1"))).snapshot == tagged
            after = [row.snapshot for row in brain.history.log("v1..@")]
            older = {row.snapshot for row in brain.history.log("v1")}
            assert after == [snapshot for snapshot in log if snapshot not in older]
            assert brain.skills.view("kept", "v1").body == text
            assert brain.files.read("skills/kept/SKILL.md", "v1").endswith(text.encode())
            assert [match.text for match in brain.history.grep("^kept$", "v1")] == ["kept"]
            assert brain.history.diff("v1", "@") == brain.history.diff(tagged, "@")
            brain.branches.create("from-tag", "v1")
            brain.branches.switch("from-tag")
            assert brain.head == tagged
            brain.branches.switch("main")
            brain.restore("v1", ["skills/kept"])
            assert brain.skills.view("kept").body == text
            assert brain.verify(deep=True).ok
    finally:
        shutil.rmtree(folder)
