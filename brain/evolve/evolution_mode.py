"""The mode in the manifest of a brain, which says whether it may learn."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..repo.open.manifest import refuse_off

if TYPE_CHECKING:
    from ..models import Model
    from ..models.paid_once import Pay
    from .brain_protocol import LearningBrain


def require_evolution(brain: LearningBrain) -> str:
    """Return the mode. Raises `Conflict` (`evolution_off`) if it is that nothing is learned."""
    return refuse_off(brain.gate.read_mode())


def meter(brain: LearningBrain, model: Model, evolver: str, *pays: Pay) -> Model:
    """Return a model that is not asked once evolution is off, and whose cost is counted."""
    from ..models.paid_once import MeteredModel

    count = partial(brain.evolution.count_cost, evolver)
    return MeteredModel(model, lambda _: require_evolution(brain), count, *pays)
