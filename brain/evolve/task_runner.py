"""Run the cases of a skill that are tasks: a solver works on them, with the skill in front.

Such a case names a task and holds its instruction, and expects a score of 1. The task itself, with
its tests, lies in a folder outside of the brain, where no evolver sees it. The output is the score
in thousandths, so a verdict is derived again without the task.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import BrainError, ModelError
from ..gating.case_files import Case
from ..gating.decision import MAX_SCORE
from ..gating.output_check import in_thousandths
from ..repo.learning.change import SkillsAt
from ..repo.learning.rounds import CaseKind, CaseOutput
from ..sandbox.job import Sandbox
from ..skills.skill_metadata import read_skill_metadata
from ..solving.check import run_task
from ..solving.solver import Skill, Solver
from ..solving.task_session import TaskSessions
from ..tasks.task import Task
from .budget import Interrupted

if TYPE_CHECKING:
    from ..solving.judge import Judge

_IMAGES = 2
"""Images that are kept in memory: both sides of a case follow each other."""


def case_input(task: Task) -> dict[str, Any]:
    """Return the input of the case that stands for a task."""
    return {"task": task.name, "instruction": task.instruction}


class TaskRunner:
    """The `CaseRunner` of tasks; cases of other skills are run by others."""

    repeats_itself = False
    kinds: tuple[CaseKind, ...] = ()

    def __init__(
        self,
        tasks: Sequence[Task],
        solver: Solver,
        sandbox: Sandbox,
        judge: Judge | None = None,
    ) -> None:
        self.name = f"{solver.name}, judged by {judge.name}" if judge else solver.name
        self._solver = solver
        self._judge = judge
        self._tasks = {task.name: task for task in tasks}
        self._open = lru_cache(_IMAGES)(lambda name: TaskSessions(sandbox, self._tasks[name]))

    def run(self, skills: SkillsAt, case: Case, number: int) -> CaseOutput:
        """Have the solver work on the task of a case, and return its score.

        Raises `ModelError` if its model fails as a whole.
        """
        named = None if isinstance(case.input, str) else case.input.get("task")
        task = self._tasks.get(named) if isinstance(named, str) else None
        if task is None or case_input(task) != case.input:
            return CaseOutput(error="its task is not in the folder of tasks")
        files = skills.files(case.skill)
        text = files.get("SKILL.md", b"")
        front = [Skill(case.skill, read_skill_metadata(text, case.skill).description, files)]
        try:
            run = run_task(self._open(task.name), self._solver, front if files else [], self._judge)
        except (ModelError, Interrupted):
            raise
        except BrainError as error:
            return CaseOutput(error=error.message)
        was_read = run.attempt.was_read
        if run.score.value is None:
            return CaseOutput(error=run.score.reason, was_read=was_read)
        score = in_thousandths(run.score.value) / MAX_SCORE
        return CaseOutput(output=json.dumps({"score": score}).encode(), was_read=was_read)
