"""Undo brings back the state before any command, and redo the state after it."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from brain import Brain, BrainError

Step = tuple[str, str, str]
"""A command, and two words that it may use."""

_SKILLS = ("alpha", "beta")
_BRANCHES = ("main", "idea")


def _edit_by_hand(brain: Brain, number: int) -> None:
    file = brain.root / "prompts/system.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"by hand {number}\n")


def _delete_by_hand(brain: Brain, _: int) -> None:
    (brain.root / "memory/notes.md").unlink(missing_ok=True)


_PREPARATIONS: dict[str, Callable[[Brain, int], None]] = {
    "record": _edit_by_hand,
    "record a deletion": _delete_by_hand,
}


def _other_branch(brain: Brain) -> str:
    return _BRANCHES[brain.branches.current == _BRANCHES[0]]


def _tag(brain: Brain, slug: str) -> None:
    known = {tag.name for tag in brain.tags.list()}
    (brain.tags.delete if slug in known else brain.tags.create)(slug)


def _branch(brain: Brain, slug: str) -> None:
    known = {branch.name for branch in brain.branches.list().branches}
    name = f"of-{slug}"
    (brain.branches.delete if name in known else brain.branches.create)(name)


_COMMANDS: dict[str, Callable[[Brain, str, str, int], object]] = {
    "upsert": lambda brain, a, b, n: brain.skills.upsert(a, f"{n}\n", description="d"),
    "delete": lambda brain, a, b, n: brain.skills.delete(a),
    "rename": lambda brain, a, b, n: brain.skills.rename(a, b if a != b else f"other-{n}"),
    "revert": lambda brain, a, b, n: brain.skills.revert(a, "1"),
    "merge skills": lambda brain, a, b, n: brain.skills.merge(a, b),
    "write": lambda brain, a, b, n: brain.files.write("memory/notes.md", f"{n}\n"),
    "remove": lambda brain, a, b, n: brain.files.remove("memory/notes.md"),
    "remember": lambda brain, a, b, n: brain.memory.add("memory", f"fact {n}"),
    "record": lambda brain, a, b, n: brain.snapshot(),
    "record a deletion": lambda brain, a, b, n: brain.snapshot(),
    "restore": lambda brain, a, b, n: brain.restore("@~1"),
    "branch": lambda brain, a, b, n: _branch(brain, a),
    "switch": lambda brain, a, b, n: brain.branches.switch(_other_branch(brain)),
    "merge": lambda brain, a, b, n: brain.merge.start(_other_branch(brain), "both"),
    "tag": lambda brain, a, b, n: _tag(brain, a),
}
_STEPS = st.lists(
    st.tuples(st.sampled_from(sorted(_COMMANDS)), *[st.sampled_from(_SKILLS)] * 2),
    min_size=8,
    max_size=16,
)


def _state(brain: Brain) -> tuple[object, ...]:
    """Return what a user sees: branches, tags, skills, and the files of the folder."""
    root = brain.root
    files = {
        file.relative_to(root).as_posix(): file.read_bytes()
        for file in root.rglob("*")
        if file.is_file() and ".brain" not in file.parts
    }
    return (
        brain.branches.list().branches,
        [(tag.name, tag.snapshot) for tag in brain.tags.list()],
        brain.skills.list(),
        brain.status(),
        files,
    )


def _last_operation(brain: Brain) -> int:
    return brain.history.list_operations(1)[0].number


def _run(brain: Brain, step: Step, number: int) -> bool:
    """Run a command; tell whether it was logged, as one operation."""
    before = _last_operation(brain)
    command, a, b = step
    try:
        _COMMANDS[command](brain, a, b, number)
    except BrainError:
        assert _last_operation(brain) == before
    logged = _last_operation(brain) - before
    assert logged in (0, 1)
    return logged == 1


@settings(max_examples=15)
@given(_STEPS)
@example(
    [
        ("delete", "beta", "beta"),
        ("rename", "alpha", "beta"),
        ("tag", "alpha", "alpha"),
        ("switch", "alpha", "alpha"),
        ("upsert", "alpha", "alpha"),
        ("upsert", "beta", "beta"),
        ("merge", "alpha", "alpha"),
        ("switch", "alpha", "alpha"),
        ("merge", "alpha", "alpha"),
        ("tag", "alpha", "alpha"),
        ("remove", "alpha", "alpha"),
        ("branch", "alpha", "alpha"),
        ("branch", "alpha", "alpha"),
    ]
)
def test_undo_and_redo_of_each_command_are_inverse(steps):
    work = Path(tempfile.mkdtemp())
    try:
        with Brain.init(work / "agent", author="tester") as brain:
            for number, slug in enumerate(_SKILLS):
                brain.skills.upsert(slug, f"text {number}\n", description="d")
            brain.files.write("memory/notes.md", "first\n")
            brain.branches.create("idea")
            states = [_state(brain)]
            for number, step in enumerate(steps):
                recorded = states[-1]
                if step[0] in _PREPARATIONS:
                    _PREPARATIONS[step[0]](brain, number)
                before = _state(brain)
                if not _run(brain, step, number):
                    assert _state(brain) == before
                    continue
                after = _state(brain)
                brain.undo()
                # what a snapshot recorded of the folder stays in it, but for deletions
                expected = recorded if step[0] == "record a deletion" else before
                assert _state(brain) == expected
                brain.redo()
                assert _state(brain) == after
                if step[0] not in _PREPARATIONS:
                    states.append(after)
                else:
                    states = [after]
            for state in reversed(states[:-1]):
                brain.undo()
                assert _state(brain) == state
            for state in states[1:]:
                brain.redo()
                assert _state(brain) == state
            assert brain.verify(deep=True).ok
    finally:
        shutil.rmtree(work)
