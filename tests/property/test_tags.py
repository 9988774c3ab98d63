"""A tag never moves, and it names its snapshot wherever a revision is asked for."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from brain import Brain, Conflict

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
        written = brain.history.list_operations(1)[0].number
        brain.tags.create("v1")
        if only_the_tag_has_it:
            brain.undo(written)
        else:
            brain.skills.delete("kept")
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
