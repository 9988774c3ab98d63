"""What each evolver has cost: requests and tokens, counted as the answers come."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import ModelError
from ...results import EvolverCost
from ..model import AnswerRequest, Model, ModelAnswer
from ..saved_answers import Interrupted
from ..stored_notes import Fields, change_fields, read_fields, read_number

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore


MAX_PROMPT_CHARS = 200_000
"""Characters of a request of a metered model: they bound what an attempt may cost."""


def add_cost(store: ExperienceStore, evolver: str, tokens_in: int, tokens_out: int) -> None:
    """Count one answer. Raises `StoreError`."""

    def add(fields: Fields) -> Fields:
        return {
            "requests": read_number(fields, "requests") + 1,
            "tokens_in": read_number(fields, "tokens_in") + tokens_in,
            "tokens_out": read_number(fields, "tokens_out") + tokens_out,
        }

    change_fields(store, _note(evolver), add)


def read_cost(store: ExperienceStore, evolver: str) -> EvolverCost:
    """Return what an evolver has cost so far."""
    fields = read_fields(store, _note(evolver))
    return EvolverCost(
        evolver=evolver,
        requests=read_number(fields, "requests"),
        tokens_in=read_number(fields, "tokens_in"),
        tokens_out=read_number(fields, "tokens_out"),
    )


class MeteredModel:
    """A `Model` whose answers count as cost of an evolver, until the scheduler should stop."""

    def __init__(
        self, model: Model, store: ExperienceStore, evolver: str, should_stop: Callable[[], bool]
    ) -> None:
        self._should_stop = should_stop
        self._model = model
        self._store = store
        self._evolver = evolver

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    def answer(self, request: AnswerRequest) -> ModelAnswer:
        """Return the answer of the model. Raises `ModelError`, `StoreError`, `Interrupted`."""
        if self._should_stop():
            raise Interrupted("the scheduler ends")
        chars = len(request.system) + sum(len(message.text) for message in request.messages)
        if chars > MAX_PROMPT_CHARS:
            raise ModelError(
                f"the prompt has {chars} characters, more than {MAX_PROMPT_CHARS}",
                code="too_long",
                hint="nothing was asked",
            )
        answer = self._model.answer(request)
        add_cost(self._store, self._evolver, answer.tokens_in, answer.tokens_out)
        return answer


def _note(evolver: str) -> str:
    return f"cost/{evolver}"
