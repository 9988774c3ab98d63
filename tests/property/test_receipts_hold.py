"""Whatever is done in a task, and by others meanwhile, its receipt holds."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from brain import Brain, BrainError
from brain.api.task import Task

slugs = st.sampled_from(["a", "b", "c"])


def improve(brain: Brain, task: Task, slug: str) -> None:
    task.upsert_skill(slug, f"{brain.head}\n", description="d")


def file(brain: Brain, task: Task, slug: str) -> None:
    brain.skills.edit(slug, lambda _: brain.head.encode(), file="scripts/run.sh")


def remember(brain: Brain, task: Task, slug: str) -> None:
    task.write_file(f"memory/{slug}.md", brain.head)


def remove(brain: Brain, task: Task, slug: str) -> None:
    brain.skills.delete(slug)


def revert(brain: Brain, task: Task, slug: str) -> None:
    brain.skills.revert(slug, "1")


def record(brain: Brain, task: Task, slug: str) -> None:
    (brain.root / f"notes-{slug}.md").write_text(brain.head)
    (brain.root / "skills").mkdir(exist_ok=True)
    (brain.root / f"skills/{slug}-flat.md").write_text(f"# {brain.head}\n")
    brain.snapshot()


def by_hand(brain: Brain, task: Task, slug: str) -> None:
    path = brain.root / f"skills/{slug}/SKILL.md"
    if path.exists():
        path.write_text(path.read_text() + "By hand\n")


def restore(brain: Brain, task: Task, slug: str) -> None:
    brain.restore("@~1", ["skills"])


def undo(brain: Brain, task: Task, slug: str) -> None:
    brain.undo()


def other(brain: Brain, task: Task, slug: str) -> None:
    with Brain.open(brain.root, author="other") as another, another.task("Other") as theirs:
        theirs.upsert_skill(slug, f"{brain.head} other\n", description="d")


def tool(brain: Brain, task: Task, slug: str) -> None:
    task.record_tool_call("bash", slug)


Act = Callable[[Brain, Task, str], None]
ACTS: list[Act] = [improve, file, remember, remove, revert, record, by_hand, restore, other, tool]
acts = st.lists(st.tuples(st.sampled_from([*ACTS, undo]), slugs), min_size=1, max_size=8)


@given(acts)
def test_a_receipt_holds_whatever_was_done(steps):
    with tempfile.TemporaryDirectory() as folder, Brain.init(Path(folder) / "agent") as brain:
        brain.skills.upsert("a", "x\n", description="d")
        with brain.task("Much") as task:
            for act, slug in steps:
                try:
                    act(brain, task, slug)
                except BrainError:  # nothing there to do it with
                    task.record_tool_call("failed", act.__name__)
            task.record_tool_call("done")
        found = brain.receipts.verify()
        assert found.ok and not found.findings, found.findings
        assert brain.verify().ok
        for skill in brain.skills.list():
            brain.history.why(skill.slug)
