"""The writing commands that are put under fault: how each is prepared, and what it does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from brain import Brain

PROJECT = Path(__file__).parents[2]
NAME, AUTHOR = "agent", "tester"
TARGET = "alpha"
"""The skill that the commands are about."""
SKILLS = (TARGET, "beta", "gamma", "delta")


class Scenario(NamedTuple):
    """`prepare` makes the folder of a brain, `run` is the command; it returns the new head."""

    prepare: Callable[[Path], None]
    run: Callable[[Path], str]


def opened(folder: Path) -> Brain:
    """Open a brain as every part of a scenario does."""
    return Brain.open(folder, author=AUTHOR)


def write(folder: Path, path: str, text: str) -> None:
    """Write a file by hand."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")


def _plain(folder: Path) -> None:
    """Files without a brain."""
    write(folder, "memory/notes.md", "Remember the first lesson.\n")
    for name in SKILLS:
        write(folder, f"skills/{name}/SKILL.md", _skill(name))
        write(folder, f"skills/{name}/references/table.csv", f"{name},1\n" * 40)


def _skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: About {name}\nversion: 1\n---\n\nDo it.\n"


def _recorded(folder: Path) -> None:
    """A brain with a little history, its folder clean."""
    _plain(folder)
    with Brain.init(folder, name=NAME, author=AUTHOR) as brain:
        brain.snapshot("First")
        brain.upsert_skill(TARGET, "Do it better.\n")
        write(folder, "memory/notes.md", "Remember the second lesson.\n")
        brain.snapshot("Second")


def _worked_on(folder: Path) -> None:
    """The same with files added, changed and removed by hand."""
    _recorded(folder)
    write(folder, "memory/notes.md", "Remember the third lesson.\n")
    write(folder, "skills/beta/references/table.csv", "new\n" * 3000)
    write(folder, "skills/epsilon/SKILL.md", _skill("epsilon"))
    (folder / "skills/gamma/references/table.csv").unlink()


def _edited(folder: Path) -> None:
    """The same with changes by hand, one of them in the skill that is written next."""
    _recorded(folder)
    path = folder / "skills" / TARGET / "SKILL.md"
    path.write_text(path.read_text("utf-8") + "Seen by hand.\n", "utf-8")
    write(folder, "memory/by-hand.md", "Not recorded yet.\n")


def _deleted(folder: Path) -> None:
    """The same after a skill was deleted."""
    _recorded(folder)
    with opened(folder) as brain:
        brain.delete_skill("beta")


def _undone(folder: Path) -> None:
    """The same, and the skill is back."""
    _deleted(folder)
    _undo(folder)


DYING = """
import os, sys
from pathlib import Path
from brain.actions import turn
from tests.faults.scenarios import SCENARIOS
turn.apply = lambda *_: os._exit(9)
SCENARIOS["upsert-new"].run(Path(sys.argv[1]))
"""


def _left(folder: Path) -> None:
    """The same after a writer died between its commit and its files."""
    _recorded(folder)
    done = subprocess.run([sys.executable, "-c", DYING, folder], cwd=PROJECT, check=False)
    assert done.returncode == 9


def _changed_much(folder: Path) -> None:
    """A brain whose head has other, more and fewer files than the snapshot before it."""
    _worked_on(folder)
    with opened(folder) as brain:
        brain.snapshot("Third")


def _upsert_new(folder: Path) -> str:
    with opened(folder) as brain:
        return brain.upsert_skill("Brand new", "Do it once.\n", description="New").snapshot


def _upsert_again(folder: Path) -> str:
    with opened(folder) as brain:
        return brain.upsert_skill(TARGET, "Do it best.\n").snapshot


def _snapshot(folder: Path) -> str:
    with opened(folder) as brain:
        return brain.snapshot("Work").snapshot


def _first_load(folder: Path) -> str:
    """As `_snapshot`, by the way that is meant for large loads."""
    from brain.store import sqlite

    usual, sqlite.BULK = sqlite.BULK, 1
    try:
        return _snapshot(folder)
    finally:
        sqlite.BULK = usual


def _restore(folder: Path) -> str:
    with opened(folder) as brain:
        return brain.restore("@~1").snapshot


def _undo(folder: Path) -> str:
    with opened(folder) as brain:
        return brain.undo().snapshot


def _redo(folder: Path) -> str:
    with opened(folder) as brain:
        return brain.redo().snapshot


def _revert(folder: Path) -> str:
    with opened(folder) as brain:
        return brain.revert_skill(TARGET, "1").snapshot


def _delete(folder: Path) -> str:
    with opened(folder) as brain:
        return brain.delete_skill(TARGET).snapshot


def _with_garbage(folder: Path) -> None:
    """The same after work that was given up."""
    _recorded(folder)
    with opened(folder) as brain:
        for number in range(5):
            write(folder, f"memory/{number}.md", f"Given up {number}.\n" * 200)
            brain.snapshot()
            brain.undo()


def _redact(folder: Path) -> str:
    with opened(folder) as brain:
        return brain.redact("memory/notes.md", reason="A key", history=True).snapshot


def _gc(folder: Path) -> str:
    with opened(folder) as brain:
        return brain.gc(grace=0).snapshot


def _init(folder: Path) -> str:
    with Brain.init(folder, name=NAME, author=AUTHOR) as brain:
        return brain.head


def _initialised(folder: Path) -> None:
    _plain(folder)
    _init(folder)


SCENARIOS = {
    "init": Scenario(_plain, _init),
    "snapshot": Scenario(_worked_on, _snapshot),
    "first-load": Scenario(_initialised, _first_load),
    "upsert-new": Scenario(_recorded, _upsert_new),
    "upsert": Scenario(_recorded, _upsert_again),
    "upsert-edited": Scenario(_edited, _upsert_again),
    "restore": Scenario(_changed_much, _restore),
    "restore-edited": Scenario(_edited, _restore),
    "undo": Scenario(_deleted, _undo),
    "redo": Scenario(_undone, _redo),
    "delete": Scenario(_recorded, _delete),
    "revert": Scenario(_recorded, _revert),
    "redact": Scenario(_recorded, _redact),
    "gc": Scenario(_with_garbage, _gc),
    "finish": Scenario(_left, _upsert_again),
}
