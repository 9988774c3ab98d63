"""One solve, and one step of the evolver, each in sessions of the sandbox."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from ...digest import blob_id
from ...errors import (
    BrainError,
    InvalidInput,
    ModelError,
    SandboxError,
    error_from_os,
    printable_text,
)
from ...gating.case_files import Case
from ...gating.decision import MAX_SCORE
from ...gating.output_check import in_thousandths, is_score
from ...repo.learning.change import SkillsAt
from ...repo.learning.rounds import CaseKind, CaseOutput
from ...sandbox.job import Sandbox
from ...sandbox.session import SYSTEM_PATH, SandboxSession
from ...skills.slug import is_slug
from ...solving.check import run_task
from ...solving.solver import Attempt, Skill, Solver
from ...solving.task_session import TaskSessions
from ...tasks.task import Task, TaskLimits
from ..budget import Interrupted
from ..task_runner import case_input
from . import feedback, workspace
from .library import Front, with_front
from .settings import ScoreMode

if TYPE_CHECKING:
    from ...experience.store import AuditEvent, Item
    from ...solving.judge import Judge

Row = dict[str, Any]
"""What a solve came to, as JSON: see `solve_task`."""
_COUNTS = ("requests", "tokens_in", "tokens_out")
_MAX_BUILT_BYTES = 1 << 30
"""Of the images of tasks that are kept in memory."""


class Steps:
    """Steps of an item below a prefix, for the answers of one model at one piece of work."""

    def __init__(self, item: Item | MemoryItem, prefix: str) -> None:
        self._item = item
        self._prefix = prefix

    def find(self, name: str) -> bytes | None:
        """Return what was kept of a step, None if nothing was."""
        return self._item.find(self._prefix + name)

    def keep(self, name: str, value: bytes) -> None:
        """Keep a step."""
        self._item.keep(self._prefix + name, value)


class MemoryItem:
    """Keeps steps as an `Item` of the store of experience does, as long as it lives."""

    def __init__(self, **known: str) -> None:
        self._kept = {name: value.encode() for name, value in known.items()}

    def find(self, name: str) -> bytes | None:
        """Return what was kept of a step, None if nothing was."""
        return self._kept.get(name)

    def keep(self, name: str, value: bytes = b"") -> None:
        """Keep a step."""
        self._kept[name] = value

    def once(self, name: str, make: Callable[[], bytes]) -> bytes:
        """Return what was kept of a step; without it, make and keep it."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def confirm(self) -> None:
        """Do nothing: it belongs to nobody else."""

    def wait(self) -> None:
        """Do nothing: nobody goes on with it."""

    def finish(self, result: Mapping[str, Any], *events: AuditEvent) -> None:
        """Forget all steps."""
        self._kept.clear()


class LocalSolving:
    """Solves tasks on this machine; threads may share it."""

    def __init__(
        self,
        sandbox: Sandbox,
        open_solver: Callable[[Steps], Solver],
        item: Item | MemoryItem,
        judge: Judge | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._open_solver = open_solver
        self._item = item
        self._judge = judge
        self._built: dict[str, TaskSessions] = {}
        self._lock = Lock()

    def __call__(self, key: str, task: Task, front: Front) -> Row:
        """Solve a task; model answers are kept below `key`. Raises `ModelError`, `Interrupted`."""
        solver = self._open_solver(Steps(self._item, f"{key}/"))
        return solve_task(lambda: self._open(task), task, solver, front, self._judge)

    def _open(self, task: Task) -> TaskSessions:
        """Return the sessions of a task, built; images that were built first make room."""
        key = sign_task(task)
        with self._lock:
            sessions = self._built.pop(key, None) or TaskSessions(self._sandbox, task)
        sessions.built()
        with self._lock:
            self._built[key] = sessions
            while sum(len(one.built()) for one in self._built.values()) > _MAX_BUILT_BYTES:
                del self._built[next(iter(self._built))]
        return sessions


def solve_task(
    open_sessions: Callable[[], TaskSessions],
    task: Task,
    solver: Solver,
    front: Front,
    judge: Judge | None = None,
) -> Row:
    """Solve a task once; return its score, None without one, and what there is to learn from it.

    `output` is what the verifier printed, and `is_broken` says that no other cycle can help. Raises
    `ModelError`, `Interrupted`.
    """
    started = time.monotonic()
    row = {**broken_row(task, ""), "skills": front.slugs}
    if task.missing:
        return {**row, "reason": "; ".join(task.missing)}
    try:
        run = run_task(open_sessions(), _Fronted(solver, front), front.skills, judge)
    except (ModelError, Interrupted):
        raise
    except BrainError as error:
        return {**row, "reason": error.message}
    except OSError as error:  # its folder changed since it was looked at
        return {**row, "reason": error_from_os(error).message}
    attempt, score = run.attempt, run.score
    return {
        **row,
        "score": score.value,
        "reason": score.reason or attempt.error,
        "output": score.output.decode("utf-8", "replace"),
        "was_read": attempt.was_read,
        "is_broken": False,
        "seconds": round(time.monotonic() - started, 3),
        **{name: getattr(attempt, name) for name in _COUNTS},
    }


class _Fronted:
    """A solver that is shown the prompts and the memory of a workspace before the instruction."""

    def __init__(self, solver: Solver, front: Front) -> None:
        self.name = solver.name
        self._solver = solver
        self._front = front

    def solve(self, task: Task, skills: Sequence[Skill], session: SandboxSession) -> Attempt:
        return self._solver.solve(with_front(task, self._front), skills, session)


def broken_row(task: Task, reason: str) -> Row:
    """Return the row of a task that could not be solved for a reason of its own."""
    counts = dict.fromkeys(_COUNTS, 0)
    row: Row = {"task": task.name, "score": None, "reason": reason, "output": "", "was_read": None}
    return {**row, "skills": [], "seconds": 0.0, "is_broken": True, **counts}


def check_row(row: object, task: Task) -> Row:
    """Return what a worker answered, if it is the row of that task; else a broken one."""
    if not isinstance(row, dict) or row.get("task") != task.name:
        return broken_row(task, "its worker answered with something else")
    if row.get("score") is not None and not is_score(row["score"]):
        return broken_row(task, "its worker answered with no score")
    if not (
        all(isinstance(row.get(name), str) for name in ("reason", "output"))
        and isinstance(row.get("skills"), list)
        and all(isinstance(slug, str) and is_slug(slug) for slug in row["skills"])
        and isinstance(row.get("is_broken"), bool)
        and row.get("was_read", "") in (None, False, True)
        and isinstance(row.get("seconds"), int | float)
        and 0 <= row["seconds"] < math.inf
        and all(type(row.get(name)) is int and row[name] >= 0 for name in _COUNTS)
    ):
        return broken_row(task, "its worker answered with no result")
    return {name: row.get(name) for name in broken_row(task, "")}


def is_passed(row: Row) -> bool:
    """Tell whether a task was solved: its whole reward."""
    return row["score"] is not None and row["score"] >= 1


def score_of(row: Row, mode: ScoreMode) -> float:
    """Return the score: the reward, all or nothing, or the larger of reward and share of tests.

    As on the seed page the share of tests that passed counts only where the reward is 0.
    """
    reward = float(row["score"] or 0.0)
    if mode == "binary":
        return float(reward >= 1)
    if mode == "dual" and reward == 0 and row["score"] is not None:
        tests = feedback.read_tests(row["output"])
        if tests.passed < tests.total:
            return tests.passed / tests.total
    return reward


def sign_task(task: Task) -> str:
    """Return what changes when somebody edits the folder of a task: places, sizes and times."""
    import os

    parts = [task.name, task.instruction]
    for group in (task.files, task.tests, task.solution):
        for name, file in sorted(group.items()):
            parts.append(name)
            with suppress(OSError):  # it is gone
                status = os.stat(file.path)
                parts[-1] += f" {status.st_size} {status.st_mtime_ns}"
    return blob_id("\n".join(parts).encode("utf-8", "replace")).hex()


class LocalEvolver:
    """Has a solver edit workspaces, each in a session of its own on this machine.

    No test, no task and nothing of this machine is in there.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        open_evolver: Callable[[Steps], Solver],
        item: Item | MemoryItem,
        seconds: float,
    ) -> None:
        self._sandbox = sandbox
        self._open = open_evolver
        self._item = item
        self._seconds = seconds

    def __call__(self, number: int, prompt: str, files: Mapping[str, bytes]) -> bytes:
        """Return what an evolver left of a workspace as `workspace.pack` does, with its bill.

        If its session ended, nothing was changed. Raises `ModelError`, `Interrupted`.
        """
        limits = TaskLimits(solver_seconds=self._seconds)
        task = Task(
            name=f"evolve {number}", format="harbor", instruction=prompt, source="", limits=limits
        )
        folder = task.image.folder
        bill: dict[str, Any] = {**dict.fromkeys(_COUNTS, 0), "error": ""}
        left = dict(files)
        evolver = self._open(Steps(self._item, f"evolve/{number}/"))
        try:
            with TaskSessions(self._sandbox, task).open(b"", self._seconds) as session:
                session.unpack(workspace.pack(files), folder)
                attempt = evolver.solve(task, (), session)
                bill.update((name, getattr(attempt, name)) for name in _COUNTS)
                bill["error"] = printable_text(attempt.error, 300)
                listed = session.run(
                    *("python3", "-I", "-c", workspace.READ_FILES),
                    cwd=folder,
                    env={"PATH": SYSTEM_PATH},
                    max_bytes=workspace.room_for(files)[1],
                )
                left = workspace.parse_files(listed.output, files)
        except (SandboxError, InvalidInput) as error:
            bill["error"] = error.message
        return workspace.pack({**left, workspace.BILL: json.dumps(bill).encode()})


class HoldoutRunner:
    """The `CaseRunner` of held-out tasks: a solver works on each, with a whole workspace in front.

    All tasks of a round are solved side by side when the first is asked for.
    """

    kinds: tuple[CaseKind, ...] = ()

    def __init__(
        self,
        name: str,
        tasks: Sequence[Task],
        solve_all: Callable[[str, Sequence[Task], Mapping[str, bytes]], dict[str, Row]],
        place: str,
        mode: ScoreMode,
        *,
        repeats_itself: bool,
    ) -> None:
        self.name = name
        self.repeats_itself = repeats_itself
        self._tasks = {task.name: task for task in tasks}
        self._solve_all = solve_all
        self._place = place
        self._mode = mode
        self._rows: dict[tuple[str, int], dict[str, Row]] = {}
        self._sides: dict[int, tuple[SkillsAt, str, dict[str, bytes]]] = {}

    def run(self, skills: SkillsAt, case: Case, number: int) -> CaseOutput:
        """Return the score of the task of a case. Raises `ModelError`, `Interrupted`."""
        named = None if isinstance(case.input, str) else case.input.get("task")
        task = self._tasks.get(named) if isinstance(named, str) else None
        if task is None or case_input(task) != case.input:
            return CaseOutput(error="its task is not among those held out")
        if id(skills) not in self._sides:
            files = skills.workspace()
            listed = "".join(f"{path}\0{blob_id(files[path]).hex()}\n" for path in sorted(files))
            self._sides[id(skills)] = skills, blob_id(listed.encode()).hex()[:16], files
        _, digest, files = self._sides[id(skills)]
        if (digest, number) not in self._rows:
            place = f"{self._place}/{digest}/{number}"
            tasks = list(self._tasks.values())
            self._rows[digest, number] = self._solve_all(place, tasks, files)
        row = self._rows[digest, number][task.name]
        if row["score"] is None:
            return CaseOutput(error=row["reason"] or "no score", was_read=row["was_read"])
        score = in_thousandths(score_of(row, self._mode)) / MAX_SCORE
        return CaseOutput(output=json.dumps({"score": score}).encode(), was_read=row["was_read"])
