"""The mode in the manifest of a brain, which says whether it may learn."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..errors import BrainError, ModelError
from ..repo.open.manifest import refuse_off

if TYPE_CHECKING:
    from ..models import Model
    from ..models.paid_once import Pay
    from .brain_protocol import LearningBrain


class Interrupted(BrainError):
    """An attempt cannot go on now; its answers so far are kept for the next one.

    `cause` is the failure of the model that ended it, None if it was asked to stop.
    """

    code = "interrupted"

    def __init__(self, message: str, cause: ModelError | None = None) -> None:
        super().__init__(message, hint="the next attempt goes on with the answers so far")
        self.cause = cause


def require_evolution(brain: LearningBrain) -> str:
    """Return the mode. Raises `Conflict` (`evolution_off`) if it is that nothing is learned."""
    return refuse_off(brain.gate.read_mode())


def meter(brain: LearningBrain, model: Model, evolver: str, *pays: Pay) -> Model:
    """Return a model that is not asked once evolution is off, and whose cost is counted."""
    from ..models.paid_once import MeteredModel

    count = partial(brain.evolution.count_cost, evolver)
    return MeteredModel(model, lambda _: require_evolution(brain), count, *pays)
