"""The answers of a model in the progress of a work item, so that none is paid for twice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...digest import blob_id
from ..model import AnswerRequest, Model, ModelAnswer

if TYPE_CHECKING:
    from ...experience.experience_protocol import ClaimedWork, ExperienceStore


class RememberingModel:
    """A `Model` that stores each answer with an item before it is used.

    An attempt that takes the item over gets the answers to equal requests from there.
    """

    def __init__(self, model: Model, store: ExperienceStore, work: ClaimedWork) -> None:
        self._model = model
        self._store = store
        self._work = work
        self._answers = _decode(work.progress)

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    def answer(self, request: AnswerRequest) -> ModelAnswer:
        """Return the answer. Raises `ModelError`, `StoreError`, `Conflict` (`work_lost`)."""
        key = blob_id(json.dumps([self.name, *request]).encode()).hex()
        if key not in self._answers:
            self._answers[key] = self._model.answer(request)
            self._store.keep_progress(self._work, json.dumps(self._answers))
        return self._answers[key]


def _decode(progress: str) -> dict[str, ModelAnswer]:
    try:
        return {key: ModelAnswer(*answer) for key, answer in json.loads(progress or "{}").items()}
    except (ValueError, TypeError, AttributeError):  # of another version: begun anew
        return {}
