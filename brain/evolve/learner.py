"""Synthesis at the end of a run, as a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import BrainError
from ..results import Synthesized
from .answer import Draft, Nothing
from .drafting import Call
from .hardness import hard
from .synthesis import drafted, message, told

if TYPE_CHECKING:
    from ..brain import Brain
    from ..facade.tasks import Task
    from .model import Model


class Learner:
    """Makes skills of runs as they end: `brain.task("…", at_end=Learner(brain, model))`.

    The calls of the model and the skill become steps of the run itself. A failure fails no
    run: it is noted as a step, and `error` holds it. `result` is that of the last run.
    """

    def __init__(self, brain: Brain, model: Model) -> None:
        self._brain = brain
        self._model = model
        self.result: Synthesized | None = None
        self.error: BrainError | None = None

    def __call__(self, task: Task) -> None:
        """Learn from a task that is about to end."""
        self.result = self.error = None
        try:
            self.result = self._learn(task)
        except BrainError as error:
            self.error = error

    def _learn(self, task: Task) -> Synthesized:
        so_far = task.so_far
        trigger = hard(so_far.steps, self._brain.synthesis_policy())
        calls: list[Call] = []
        if not trigger:
            return told(self._model, "", Nothing("the task was not hard"), calls, None)

        def note(call: Call) -> None:
            calls.append(call)
            task.llm(
                self._model.name,
                call.asked,
                call.answer.text,
                tokens_in=call.answer.tokens_in,
                tokens_out=call.answer.tokens_out,
                error=call.error,
            )

        found = drafted(self._brain, so_far, self._model, note)
        done = None
        if isinstance(found, Draft):
            done = task.skill_create(
                found.name,
                found.body,
                description=found.description,
                base=found.base or 0,  # none yet: never over one made meanwhile
                message=message(found),
            )
        return told(self._model, trigger, found, calls, done)
