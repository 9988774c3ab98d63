"""Learn a skill at the end of a run, as steps of that run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import BrainError
from ..results import Synthesized
from .answer_check import NoSkill, SkillDraft
from .conversation import ModelCall
from .synthesis import draft_message, draft_skill, synthesis_result
from .triggers import find_trigger

if TYPE_CHECKING:
    from .brain_protocol import LearningBrain, LearningTask
    from .model import Model


class Learner:
    """Makes skills of runs as they end: `brain.task("…", on_success=Learner(brain, model))`.

    The calls of the model and the skill become steps of the run itself. A failure fails no
    run: it is noted as a step, and `error` holds it. `result` is that of the last run.
    """

    def __init__(self, brain: LearningBrain, model: Model) -> None:
        self._brain = brain
        self._model = model
        self.result: Synthesized | None = None
        self.error: BrainError | None = None

    def __call__(self, task: LearningTask) -> None:
        """Learn from a task that is about to end."""
        self.result = self.error = None
        try:
            self.result = self._learn(task)
        except BrainError as error:
            self.error = error

    def _learn(self, task: LearningTask) -> Synthesized:
        so_far = task.build_receipt()
        trigger = find_trigger(so_far.steps, self._brain.receipts.read_synthesis_policy())
        calls: list[ModelCall] = []
        if not trigger:
            return synthesis_result(self._model, "", NoSkill("the task was not hard"), calls, None)

        def record_call(call: ModelCall) -> None:
            calls.append(call)
            task.record_model_call(
                self._model.name,
                call.prompt,
                call.answer.text,
                tokens_in=call.answer.tokens_in,
                tokens_out=call.answer.tokens_out,
                error=call.error,
            )

        draft = draft_skill(self._brain, so_far, self._model, record_call)
        upserted = None
        if isinstance(draft, SkillDraft):
            upserted = task.upsert_skill(
                draft.name,
                draft.body,
                description=draft.description,
                base=draft.base or 0,  # none yet: never over one made meanwhile
                message=draft_message(draft),
            )
        return synthesis_result(self._model, trigger, draft, calls, upserted)
