"""What is there after a fault, and whether it is what there may be.

A command under fault ends in the state before it or in the state after it. Both are
made beforehand, by the command left undone and by the command done, and both are carried
on: the next writer finishes what was left, and the skill is written once more. What is
then in the folder, what the brain says of it, and the versions of the skill have to be
those of one of the two, down to the last byte.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from brain import Brain

from .scenarios import AUTHOR, NAME, TARGET, opened
from .tracer import Ended

STORE = {"store.db", "store.db-wal", "store.db-shm", "store.db-journal", "lock", "mark"}
"""All that a folder `.brain` may hold."""
_PRIVATE = re.compile(r"\.brain(\.new|-tmp-[0-9a-f]+)?")

Files = dict[str, tuple[int, bytes]]


class State(NamedTuple):
    """Where a brain stands; equal for equal content, though ids differ by the time."""

    operations: int
    snapshots: int
    bundle: str


class Carried(NamedTuple):
    """What there is once the next writers have been at work."""

    state: State
    files: Files
    status: tuple[list[str], list[str], list[str]]
    versions: list[object]


class Sides(NamedTuple):
    """A brain before and after a command; `carried` by (state before, state after)."""

    before: tuple[State | None, Files]
    after: tuple[State | None, Files]
    carried: Mapping[State | None, Carried]


def sides(prepared: Path, done: Path, work: Path) -> Sides:
    """Compare a brain before a command with one after it; `work` is a free folder."""
    found, carried = [], {}
    for side in (prepared, done):
        copy = work / "side"
        shutil.copytree(side, copy, symlinks=True)
        state = state_of(copy)
        found.append((state, files_of(copy)))
        carried[state] = carry_on(copy)
        shutil.rmtree(copy)
    return Sides(found[0], found[1], carried)


def judge(folder: Path, ended: Ended, sides: Sides) -> list[str]:
    """Return what is wrong with the brain in `folder` after a command that met a fault."""
    said = [f"it said {line!r}" for line in ended.errors.strip().splitlines()[-1:]]
    try:
        return said + _judge(folder, ended, sides)
    except Exception as error:  # noqa: BLE001  whatever goes wrong is what is looked for
        return [*said, f"the next command fails: {type(error).__name__}: {error}"]


def _judge(folder: Path, ended: Ended, sides: Sides) -> list[str]:
    wrong = [f"{path} is neither old nor new" for path in _torn(folder, sides)]
    state = state_of(folder)
    if state not in sides.carried:
        return [*wrong, f"it stands at {state}, neither before nor after the command"]
    head = ended.said.get("head")
    if head and state != sides.after[0]:
        wrong.append("it acknowledged what is not in the brain")
    if head and state is not None and _head(folder) != head:
        wrong.append("it acknowledged another head")
    killed = ended.status < 0
    carried, expected = carry_on(folder), sides.carried[state]
    if not killed:  # an empty folder that cannot be removed is not worth an error
        carried, expected = _without_folders(carried), _without_folders(expected)
    for name, is_, should in zip(Carried._fields, carried, expected, strict=True):
        if is_ != should:
            wrong.append(f"afterwards {name} {_difference(is_, should)}")
    wrong += [f"{name} is left" for name in _strays(folder) if killed or not _PRIVATE.match(name)]
    return wrong


def state_of(folder: Path) -> State | None:
    """Return where a brain stands after verifying it deeply; None if there is none."""
    if not (folder / ".brain").exists():
        return None
    with opened(folder) as brain:
        _verify(brain)
        log = list(brain.log())
        return State(len(brain.operations()), len(log), log[0].bundle)


def _verify(brain: Brain) -> None:
    found = brain.verify(deep=True)
    if not found.ok:
        raise AssertionError(f"verification finds {found.findings}")


def _head(folder: Path) -> str:
    with opened(folder) as brain:
        return brain.head


def carry_on(folder: Path) -> Carried:
    """Let the next writers work, and return what there is then."""
    if not (folder / ".brain").exists():
        Brain.init(folder, name=NAME, author=AUTHOR).close()
        first = folder / "skills" / TARGET / "SKILL.md"
        with opened(folder) as brain:
            brain.snapshot("First")
        assert first.exists()
    with opened(folder) as brain:
        brain.upsert_skill("Afterwards", "Go on.\n", description="Next")
        found = brain.status()
        status = (found.added, found.modified, found.removed)
        brain.upsert_skill(TARGET, "Go on with this one too.\n", description="As before")
        versions = [row.version for row in brain.skill_history(TARGET)]
    state = state_of(folder)
    assert state is not None
    return Carried(state, files_of(folder), status, list(versions))


def _without_folders(carried: Carried) -> Carried:
    files = {path: found for path, found in carried.files.items() if not path.endswith("/")}
    return carried._replace(files=files)


def files_of(folder: Path) -> Files:
    """Return mode and content of every file outside `.brain`, and the empty folders."""
    found: Files = {}
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _PRIVATE.fullmatch(name)]
        where = Path(top)
        for name in names:
            path = where / name
            key = path.relative_to(folder).as_posix()
            if not _PRIVATE.fullmatch(name):
                found[key] = (path.stat().st_mode, path.read_bytes())
        if not folders and not names:
            found[where.relative_to(folder).as_posix() + "/"] = (0, b"")
    return found


def _torn(folder: Path, sides: Sides) -> list[str]:
    old, new = sides.before[1], sides.after[1]
    return [
        path
        for path, found in files_of(folder).items()
        if not path.endswith("/") and found not in (old.get(path), new.get(path))
    ]


def _strays(folder: Path) -> list[str]:
    top = [name for name in os.listdir(folder) if _PRIVATE.fullmatch(name) and name != ".brain"]
    below = [
        path.relative_to(folder).as_posix()
        for path in folder.glob("*/**/.brain-tmp-*")
        if ".brain" not in path.parts
    ]
    inside = set(os.listdir(folder / ".brain")) - STORE
    return sorted([*top, *below, *(f".brain/{name}" for name in inside)])


def _difference(is_: object, should: object) -> str:
    if isinstance(is_, dict) and isinstance(should, dict):
        differ = sorted(key for key in {*is_, *should} if is_.get(key) != should.get(key))
        return f"differ at {differ[:5]}"
    return f"are {is_}, not {should}"
