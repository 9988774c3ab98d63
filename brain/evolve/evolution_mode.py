"""The mode in the manifest of a brain, which says whether it may learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Conflict
from ..repo.open.manifest import OFF

if TYPE_CHECKING:
    from .brain_protocol import LearningBrain


def require_evolution(brain: LearningBrain) -> None:
    """Raise `Conflict` (`evolution_off`) if the manifest says that nothing is learned."""
    if brain.gate.read_mode() == OFF:
        raise Conflict(
            "this brain learns nothing: its manifest has the evolution mode off",
            code="evolution_off",
            hint="set `mode: propose` below `evolution:` in manifest.yaml",
        )
