"""The writing commands that are put under fault: how each is prepared, and what it does."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from brain import Brain
from tests.support.skill_programs import acquire_request, acquire_untested

PROJECT = Path(__file__).parents[3]
BRAIN_NAME, AUTHOR = "agent", "tester"
TARGET_SKILL = "alpha"
"""The skill that the commands are about."""
SKILL_NAMES = (TARGET_SKILL, "beta", "gamma", "delta")


class FaultScenario(NamedTuple):
    """`prepare` makes the folder of a brain, `run` is the command; it returns the new head."""

    prepare: Callable[[Path], None]
    run: Callable[[Path], str]


def open_brain(folder: Path) -> Brain:
    """Open a brain as every part of a scenario does."""
    return Brain.open(folder, author=AUTHOR)


def write_file(folder: Path, path: str, text: str) -> None:
    """Write a file by hand."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")


def _prepare_plain_files(folder: Path) -> None:
    """Files without a brain."""
    write_file(folder, "memory/notes.md", "Remember the first lesson.\n")
    for name in SKILL_NAMES:
        write_file(folder, f"skills/{name}/SKILL.md", _skill_text(name))
        write_file(folder, f"skills/{name}/references/table.csv", f"{name},1\n" * 40)


def _skill_text(name: str) -> str:
    return f"---\nname: {name}\ndescription: About {name}\nversion: 1\n---\n\nDo it.\n"


def _prepare_recorded(folder: Path) -> None:
    """A brain with a little history, its folder clean."""
    _prepare_plain_files(folder)
    with Brain.init(folder, name=BRAIN_NAME, author=AUTHOR) as brain:
        brain.snapshot("First")
        brain.skills.upsert(TARGET_SKILL, "Do it better.\n")
        write_file(folder, "memory/notes.md", "Remember the second lesson.\n")
        brain.snapshot("Second")


def _prepare_manual_changes(folder: Path) -> None:
    """The same with files added, changed and removed by hand."""
    _prepare_recorded(folder)
    write_file(folder, "memory/notes.md", "Remember the third lesson.\n")
    write_file(folder, "skills/beta/references/table.csv", "new\n" * 3000)
    write_file(folder, "skills/epsilon/SKILL.md", _skill_text("epsilon"))
    (folder / "skills/gamma/references/table.csv").unlink()


def _prepare_edited_skill(folder: Path) -> None:
    """The same with changes by hand, one of them in the skill that is written next."""
    _prepare_recorded(folder)
    path = folder / "skills" / TARGET_SKILL / "SKILL.md"
    path.write_text(path.read_text("utf-8") + "Seen by hand.\n", "utf-8")
    write_file(folder, "memory/by-hand.md", "Not recorded yet.\n")


def _prepare_deleted(folder: Path) -> None:
    """The same after a skill was deleted."""
    _prepare_recorded(folder)
    with open_brain(folder) as brain:
        brain.skills.delete("beta")


def _prepare_undone(folder: Path) -> None:
    """The same, and the skill is back."""
    _prepare_deleted(folder)
    _run_undo(folder)


KILLED_WRITER_CODE = """
import os, sys
from pathlib import Path
from brain.repo import transaction
from tests.support.faults.write_scenarios import SCENARIOS
transaction.apply_pending_writes = lambda *_: os._exit(9)
SCENARIOS["upsert-new"].run(Path(sys.argv[1]))
"""


def _prepare_killed_writer(folder: Path) -> None:
    """The same after a writer died between its commit and its files."""
    _prepare_recorded(folder)
    done = subprocess.run(
        [sys.executable, "-c", KILLED_WRITER_CODE, folder], cwd=PROJECT, check=False
    )
    assert done.returncode == 9


def _prepare_large_change(folder: Path) -> None:
    """A brain whose head has other, more and fewer files than the snapshot before it."""
    _prepare_manual_changes(folder)
    with open_brain(folder) as brain:
        brain.snapshot("Third")


def _run_upsert_new(folder: Path) -> str:
    with open_brain(folder) as brain:
        return brain.skills.upsert("Brand new", "Do it once.\n", description="New").snapshot


def _run_upsert_again(folder: Path) -> str:
    with open_brain(folder) as brain:
        return brain.skills.upsert(TARGET_SKILL, "Do it best.\n").snapshot


def _run_snapshot(folder: Path) -> str:
    with open_brain(folder) as brain:
        return brain.snapshot("Work").snapshot


def _run_first_load(folder: Path) -> str:
    """As `_snapshot`, by the way that is meant for large loads."""
    from brain.store import writer

    usual, writer.BULK_LOAD_BYTES = writer.BULK_LOAD_BYTES, 1
    try:
        return _run_snapshot(folder)
    finally:
        writer.BULK_LOAD_BYTES = usual


def _run_restore(folder: Path) -> str:
    with open_brain(folder) as brain:
        return brain.restore("@~1").snapshot


def _run_undo(folder: Path) -> str:
    with open_brain(folder) as brain:
        return brain.undo().snapshot


def _run_redo(folder: Path) -> str:
    with open_brain(folder) as brain:
        return brain.redo().snapshot


def _run_revert(folder: Path) -> str:
    with open_brain(folder) as brain:
        return brain.skills.revert(TARGET_SKILL, "1").snapshot


def _run_delete(folder: Path) -> str:
    with open_brain(folder) as brain:
        return brain.skills.delete(TARGET_SKILL).snapshot


def _run_acquire(folder: Path) -> str:
    with open_brain(folder) as brain:
        return acquire_untested(brain, acquire_request(TARGET_SKILL)).snapshot


def _run_reject(folder: Path) -> str:
    with open_brain(folder) as brain:
        acquire_untested(brain, acquire_request(TARGET_SKILL), "reject")
        return brain.head


def _run_retire(folder: Path) -> str:
    with open_brain(folder) as brain:
        return brain.programs.retire(TARGET_SKILL, "not used").snapshot


def _prepare_garbage(folder: Path) -> None:
    """The same after work that was given up."""
    _prepare_recorded(folder)
    with open_brain(folder) as brain:
        for number in range(5):
            write_file(folder, f"memory/{number}.md", f"Given up {number}.\n" * 200)
            brain.snapshot()
            brain.undo()


def _run_redact(folder: Path) -> str:
    with open_brain(folder) as brain:
        return brain.files.redact("memory/notes.md", reason="A key", history=True).snapshot


def _run_gc(folder: Path) -> str:
    with open_brain(folder) as brain:
        return brain.gc(grace=0).snapshot


def _run_init(folder: Path) -> str:
    with Brain.init(folder, name=BRAIN_NAME, author=AUTHOR) as brain:
        return brain.head


def _prepare_initialised(folder: Path) -> None:
    _prepare_plain_files(folder)
    _run_init(folder)


SCENARIOS = {
    "init": FaultScenario(_prepare_plain_files, _run_init),
    "snapshot": FaultScenario(_prepare_manual_changes, _run_snapshot),
    "first-load": FaultScenario(_prepare_initialised, _run_first_load),
    "upsert-new": FaultScenario(_prepare_recorded, _run_upsert_new),
    "upsert": FaultScenario(_prepare_recorded, _run_upsert_again),
    "upsert-edited": FaultScenario(_prepare_edited_skill, _run_upsert_again),
    "restore": FaultScenario(_prepare_large_change, _run_restore),
    "restore-edited": FaultScenario(_prepare_edited_skill, _run_restore),
    "undo": FaultScenario(_prepare_deleted, _run_undo),
    "redo": FaultScenario(_prepare_undone, _run_redo),
    "delete": FaultScenario(_prepare_recorded, _run_delete),
    "revert": FaultScenario(_prepare_recorded, _run_revert),
    "acquire": FaultScenario(_prepare_recorded, _run_acquire),
    "reject": FaultScenario(_prepare_recorded, _run_reject),
    "retire": FaultScenario(_prepare_edited_skill, _run_retire),
    "redact": FaultScenario(_prepare_recorded, _run_redact),
    "gc": FaultScenario(_prepare_garbage, _run_gc),
    "finish": FaultScenario(_prepare_killed_writer, _run_upsert_again),
}
