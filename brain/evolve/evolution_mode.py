"""The mode in the manifest of a brain, which says whether it may learn."""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import BrainError, ModelError
from ..repo.open.manifest import refuse_off

if TYPE_CHECKING:
    from ..api.brain import Brain
    from ..experience.store import Store
    from ..models import Model
    from ..models.paid_once import Pay


class Interrupted(BrainError):
    """An attempt cannot go on now; its answers so far are kept for the next one.

    `cause` is the failure of the model that ended it, None if it was asked to stop.
    """

    code = "interrupted"

    def __init__(self, message: str, cause: ModelError | None = None) -> None:
        super().__init__(message, hint="the next attempt goes on with the answers so far")
        self.cause = cause


def require_evolution(brain: Brain) -> str:
    """Return the mode. Raises `Conflict` (`evolution_off`) if it is that nothing is learned."""
    return refuse_off(brain.gate.read_mode())


def meter(brain: Brain, model: Model, evolver: str, *pays: Pay) -> Model:
    """Return a model that is not asked once evolution is off, and whose cost is counted."""
    from ..models.paid_once import MeteredModel

    count = partial(_try_to_add_cost, brain, evolver)
    return MeteredModel(model, lambda _: require_evolution(brain), count, *pays)


def add_cost(store: Store, evolver: str, requests: int, tokens_in: int, tokens_out: int) -> None:
    """Count what an evolver paid. Raises `StoreError`."""
    paid = {"requests": requests, "tokens_in": tokens_in, "tokens_out": tokens_out}

    def add(fields: dict[str, Any]) -> dict[str, Any]:
        return {name: fields.get(name, 0) + more for name, more in paid.items()}

    store.change(f"cost/{evolver}", add)


def _try_to_add_cost(brain: Brain, evolver: str, *paid: int) -> None:
    try:
        add_cost(brain.gaps.open_store(), evolver, *paid)
    except BrainError as error:  # what was answered is of use all the same
        logging.getLogger(__name__).warning("a cost is not counted: %s", error.message)


def now_ms() -> int:
    """Return the time in ms since 1970."""
    return time.time_ns() // 1_000_000
