"""A task: what a solver is asked, what it works on, and how its work is scored."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..errors import InvalidInput, printable_text
from .images import EMPTY_IMAGE, Image, TaskFile

TaskFormat = Literal["harbor", "skillsbench", "evals", "claude-eval"]
MAX_TASK_FILES = 20_000
MAX_FILE_BYTES = 64 << 20
MAX_FILES_BYTES = 512 << 20
"""Of all files of one task together."""
DEFAULT_SECONDS = 600.0
MAX_SECONDS = 3600.0
"""What a solver, and a verifier, may take at most, whatever a task asks for."""

GraderKind = Literal["regex", "file_exists", "tool_used", "tool_order", "judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLimits:
    """Limits that a task asks for, cut to what is allowed; `memory` and `storage` are bytes."""

    solver_seconds: float = DEFAULT_SECONDS
    verifier_seconds: float = DEFAULT_SECONDS
    memory_bytes: int = 2 << 30
    storage_bytes: int = 1 << 30


class Grader(NamedTuple):
    """One check of what a solver did. `settings` are those of its kind; a judge has `criteria`."""

    name: str
    kind: GraderKind
    weight: float
    settings: Mapping[str, Any]
    criteria: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task; either `tests` or `graders` score it.

    `tests` are files below /tests with a `test.sh`, seen by no solver; `solution` holds those of
    the oracle, by their path below /solution. `files` are those of the folder that the solver
    starts in, beside those of the `image`. `missing` says what cannot be had on any machine
    without a container engine, a network or a device; `notes` what may make a difference.
    """

    name: str
    format: TaskFormat
    instruction: str
    source: str
    image: Image = EMPTY_IMAGE
    files: Mapping[str, TaskFile] = field(default_factory=dict)
    tests: Mapping[str, TaskFile] = field(default_factory=dict)
    solution: Mapping[str, TaskFile] = field(default_factory=dict)
    graders: tuple[Grader, ...] = ()
    expected: str = ""
    """What a solver should bring about, in words, for a judge."""
    limits: TaskLimits = TaskLimits()
    is_shared: bool = False
    """The verifier runs beside the processes of the solver, which could write its reward."""
    test_environment: Mapping[str, str] = field(default_factory=dict)
    solution_environment: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def needs_judge(self) -> bool:
        """Whether a part of the score is what only a model, or a person, can decide."""
        return any(grader.kind == "judge" for grader in self.graders)


def task_error(where: object, problem: str, code: str = "bad_task", hint: str = "") -> InvalidInput:
    """Return the error for a task that cannot be read."""
    return InvalidInput(
        f"the task {printable_text(where)} cannot be read: {problem}",
        code=code,
        hint=hint or "docs/evolution/tasks.md shows the formats",
    )


def list_files(folder: Path, root: Path) -> dict[str, TaskFile]:
    """Return the files below a folder of the task `root` by their relative paths, sorted.

    A link counts as the file that it leads to. Contents are read when they are used. Raises
    `InvalidInput`: `link_outside` for a link out of the task, `bad_task` for a device or too many
    or too large files; `OSError`.
    """
    found: dict[str, TaskFile] = {}
    total, left = 0, [folder] if folder.is_dir() else []
    if left:
        check_inside(folder, root)
    while left:
        with os.scandir(left.pop()) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            path = Path(entry.path)
            if entry.is_symlink():
                check_inside(path, root)
            if entry.is_dir(follow_symlinks=False):
                left.append(path)
                continue
            status = entry.stat()
            if entry.is_symlink() and stat.S_ISDIR(status.st_mode):
                raise task_error(root, f"{_shown(path, root)} is a link to a folder", "bad_link")
            if not stat.S_ISREG(status.st_mode):
                raise task_error(root, f"{_shown(path, root)} is a device or a pipe")
            total += status.st_size
            if status.st_size > MAX_FILE_BYTES or total > MAX_FILES_BYTES:
                raise task_error(root, f"{_shown(path, root)} makes it too large", "too_large")
            if len(found) == MAX_TASK_FILES:
                raise task_error(root, f"it has more than {MAX_TASK_FILES} files", "too_many")
            is_program = bool(status.st_mode & stat.S_IXUSR)
            name = str(path.relative_to(folder))
            found[name] = TaskFile(os.path.realpath(path), status.st_size, is_program)
    return dict(sorted(found.items()))


def read_bounded(path: Path, root: Path, max_bytes: int) -> bytes:
    """Return the content of a file of the task `root`. Raises `InvalidInput` as `list_files`."""
    check_inside(path, root)
    if not path.is_file():
        raise task_error(root, f"the file {_shown(path, root)} is missing", "missing_file")
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise task_error(root, f"{_shown(path, root)} has more than {max_bytes} bytes", "too_large")
    return data


def check_inside(path: Path, root: Path) -> None:
    """Raise `InvalidInput` (`link_outside`) for a path that leads out of the task `root`."""
    real, inside = os.path.realpath(path), os.path.realpath(root)
    if real != inside and not real.startswith(inside.rstrip("/") + "/"):
        problem = f"{_shown(path, root)} leads out of it"
        hint = "copy the file into the folder of the task"
        raise task_error(root, problem, "link_outside", hint)


def _shown(path: Path, root: Path) -> str:
    try:
        return printable_text(path.relative_to(root))
    except ValueError:
        return printable_text(path.name)
