"""The state of a brain after a fault, and whether it is one of the allowed states.

A command under fault ends in the state before it or in the state after it. Both are
made beforehand, by the command left undone and by the command done, and both are carried
on: the next writer finishes what was left, and the skill is written once more. What is
then in the folder, what the brain says of it, and the versions of the skill have to be
those of one of the two, down to the last byte.
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from brain import Brain
from tests.support.faults.strace_runner import ChildResult
from tests.support.faults.write_scenarios import AUTHOR, BRAIN_NAME, TARGET_SKILL, open_brain

STORE_FILES = {
    *("store.db", "store.db-wal", "store.db-shm", "store.db-journal", "lock", "mark"),
    ".gitignore",
}
"""All that a folder `.brain` may hold."""
_TEMP_FOLDER = re.compile(r"\.brain(\.new|-tmp-[0-9a-f]+)?")

FilesByPath = dict[str, tuple[int, bytes]]


class BrainState(NamedTuple):
    """Where a brain stands; equal for equal content, though ids differ by the time."""

    operations: int
    snapshots: int
    bundle: str


class RecoveredState(NamedTuple):
    """What there is once the next writers have been at work."""

    state: BrainState
    files: FilesByPath
    status: tuple[list[str], list[str], list[str]]
    versions: list[object]


class AllowedStates(NamedTuple):
    """A brain before and after a command; `carried` by (state before, state after)."""

    before: tuple[BrainState | None, FilesByPath]
    after: tuple[BrainState | None, FilesByPath]
    carried: Mapping[BrainState | None, RecoveredState]


def find_allowed_states(prepared: Path, done: Path, work: Path) -> AllowedStates:
    """Compare a brain before a command with one after it; `work` is a free folder."""
    found, carried = [], {}
    for side in (prepared, done):
        copy = work / "side"
        shutil.copytree(side, copy, symlinks=True)
        state = read_state(copy)
        found.append((state, read_files(copy)))
        carried[state] = recover(copy)
        shutil.rmtree(copy)
    return AllowedStates(found[0], found[1], carried)


def find_recovery_faults(folder: Path, ended: ChildResult, sides: AllowedStates) -> list[str]:
    """Return what is wrong with the brain in `folder` after a command that met a fault."""
    said = [f"it said {line!r}" for line in ended.errors.strip().splitlines()[-1:]]
    try:
        return said + _find_recovery_faults(folder, ended, sides)
    except Exception as error:  # noqa: BLE001  whatever goes wrong is what is looked for
        return [*said, f"the next command fails: {type(error).__name__}: {error}"]


def _find_recovery_faults(folder: Path, ended: ChildResult, sides: AllowedStates) -> list[str]:
    wrong = [f"{path} is neither old nor new" for path in _find_torn_files(folder, sides)]
    state = read_state(folder)
    if state not in sides.carried:
        return [*wrong, f"it stands at {state}, neither before nor after the command"]
    head = ended.output.get("head")
    if head and state != sides.after[0]:
        wrong.append("it acknowledged what is not in the brain")
    if head and state is not None and _head_id(folder) != head:
        wrong.append("it acknowledged another head")
    killed = ended.status < 0
    carried, expected = recover(folder), sides.carried[state]
    if not killed:  # an empty folder that cannot be removed is not worth an error
        carried, expected = _without_folders(carried), _without_folders(expected)
    for name, is_, should in zip(RecoveredState._fields, carried, expected, strict=True):
        if is_ != should:
            wrong.append(f"afterwards {name} {_describe_difference(is_, should)}")
    wrong += [
        f"{name} is left"
        for name in _find_stray_files(folder)
        if killed or not _TEMP_FOLDER.match(name)
    ]
    return wrong


def read_state(folder: Path) -> BrainState | None:
    """Return where a brain stands after verifying it deeply; None if there is none."""
    if not (folder / ".brain").exists():
        return None
    with open_brain(folder) as brain:
        _verify(brain)
        log = list(brain.history.log())
        return BrainState(len(brain.history.list_operations()), len(log), log[0].bundle)


def _verify(brain: Brain) -> None:
    found = brain.verify(deep=True)
    if not found.ok:
        raise AssertionError(f"verification finds {found.findings}")


def _head_id(folder: Path) -> str:
    with open_brain(folder) as brain:
        return brain.head


def recover(folder: Path) -> RecoveredState:
    """Let the next writers work, and return what there is then."""
    if not (folder / ".brain").exists():
        Brain.init(folder, name=BRAIN_NAME, author=AUTHOR).close()
        first = folder / "skills" / TARGET_SKILL / "SKILL.md"
        with open_brain(folder) as brain:
            brain.snapshot("First")
        assert first.exists()
    with open_brain(folder) as brain:
        brain.skills.upsert("Afterwards", "Go on.\n", description="Next")
        found = brain.status()
        status = (found.added, found.modified, found.removed)
        brain.skills.upsert(TARGET_SKILL, "Go on with this one too.\n", description="As before")
        versions = [row.version for row in brain.skills.history(TARGET_SKILL)]
    state = read_state(folder)
    assert state is not None
    return RecoveredState(state, read_files(folder), status, list(versions))


def _without_folders(carried: RecoveredState) -> RecoveredState:
    files = {path: found for path, found in carried.files.items() if not path.endswith("/")}
    return carried._replace(files=files)


def read_files(folder: Path) -> FilesByPath:
    """Return mode and content of every file outside `.brain`, and the empty folders."""
    found: FilesByPath = {}
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _TEMP_FOLDER.fullmatch(name)]
        where = Path(top)
        for name in names:
            path = where / name
            key = path.relative_to(folder).as_posix()
            if not _TEMP_FOLDER.fullmatch(name):
                found[key] = (path.stat().st_mode, path.read_bytes())
        if not folders and not names:
            found[where.relative_to(folder).as_posix() + "/"] = (0, b"")
    return found


def _find_torn_files(folder: Path, sides: AllowedStates) -> list[str]:
    old, new = sides.before[1], sides.after[1]
    return [
        path
        for path, found in read_files(folder).items()
        if not path.endswith("/") and found not in (old.get(path), new.get(path))
    ]


def _find_stray_files(folder: Path) -> list[str]:
    top = [name for name in os.listdir(folder) if _TEMP_FOLDER.fullmatch(name) and name != ".brain"]
    below = [
        path.relative_to(folder).as_posix()
        for path in folder.glob("*/**/.brain-tmp-*")
        if ".brain" not in path.parts
    ]
    inside = set(os.listdir(folder / ".brain")) - STORE_FILES
    return sorted([*top, *below, *(f".brain/{name}" for name in inside)])


def _describe_difference(is_: object, should: object) -> str:
    if isinstance(is_, dict) and isinstance(should, dict):
        differ = sorted(key for key in {*is_, *should} if is_.get(key) != should.get(key))
        return f"differ at {differ[:5]}"
    return f"are {is_}, not {should}"
