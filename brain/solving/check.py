"""Prove tasks before they decide anything: the oracle scores 1, and an empty solution 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..errors import BrainError, SandboxError, printable_text
from ..sandbox.job import Sandbox
from ..tasks.task import Task
from .solver import Attempt, EmptySolver, OracleSolver, Skill, Solver
from .task_session import TaskSessions, pack_state
from .verify import Score, verify

if TYPE_CHECKING:
    from .judge import Judge

TaskWord = Literal["proven", "wrong", "unproven", "impossible"]


class TaskCheck(NamedTuple):
    """What a check of a task found.

    `proven`: the oracle scores 1 and an empty solution 0. `wrong`: one of them does not.
    `unproven`: nothing here can tell, as without an oracle. `impossible`: it cannot run here.
    """

    name: str
    format: str
    result: TaskWord
    oracle: float | None = None
    empty: float | None = None
    is_shared: bool = False
    reason: str = ""
    notes: tuple[str, ...] = ()


class TaskRun(NamedTuple):
    """What a solver did at a task, and how it was scored."""

    attempt: Attempt
    score: Score


def run_task(
    sessions: TaskSessions,
    solver: Solver,
    skills: Sequence[Skill] = (),
    judge: Judge | None = None,
) -> TaskRun:
    """Have a solver work on a task, and score it. A failure is in the result.

    Raises `BrainError` if the image cannot be built, and `ModelError` if the model of the solver,
    or of the judge, fails as a whole.
    """
    task, built, attempt = sessions.task, sessions.built(), Attempt()
    try:
        with sessions.open(built, task.limits.solver_seconds) as session:
            attempt = solver.solve(task, skills, session)
            if task.is_shared:
                return TaskRun(attempt, verify(sessions, attempt, session, judge))
            left = pack_state(session)
    except SandboxError as error:
        return TaskRun(attempt, Score(None, printable_text(error.message, 300)))
    return TaskRun(attempt, verify(sessions, attempt, left, judge))


def check_task(sandbox: Sandbox, task: Task) -> TaskCheck:
    """Prove a task; whatever fails is said in the result."""
    found = TaskCheck(task.name, task.format, "impossible", is_shared=task.is_shared)
    if task.missing:
        return found._replace(reason="; ".join(task.missing), notes=task.notes)
    if not task.tests:
        why = "it needs a model to judge it" if task.needs_judge else "it has no oracle"
        return found._replace(result="unproven", reason=why)
    try:
        sessions = TaskSessions(sandbox, task)
        empty = run_task(sessions, EmptySolver())
        oracle = run_task(sessions, OracleSolver()) if task.solution else None
    except BrainError as error:
        return found._replace(reason=error.message)
    notes = (*task.notes, *sessions.notes)
    found = found._replace(empty=empty.score.value, notes=notes)
    if oracle is None:
        result: TaskWord = "unproven" if found.empty == 0 else "wrong"
        return found._replace(result=result, reason="it has no oracle")
    found = found._replace(oracle=oracle.score.value)
    reasons = []
    if found.empty != 0:
        reasons.append(f"an empty solution scores {_show(empty.score)}")
    if found.oracle != 1:
        why = f" ({oracle.attempt.error})" if oracle.attempt.error else ""
        reasons.append(f"its oracle scores {_show(oracle.score)}{why}")
    return found._replace(result="wrong" if reasons else "proven", reason="; ".join(reasons))


def _show(score: Score) -> str:
    return score.reason if score.value is None else f"{score.value:g}"
