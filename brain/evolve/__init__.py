"""Learn skills from an agent's own runs, by asking a model.

A model is one of pydantic-ai, such as `brain.models.open_endpoint` gives; `FakeModel` answers
from a list. `synthesis` drafts a skill from the transcript of a run, and `gate` decides what
becomes of it. `schedule` does all of it in the background.

The names below are loaded when they are first used: the end of each run looks in here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..models.scripted import FakeModel
    from ..repo.receipts.triggers import find_trigger
    from .synthesis import Learner, synthesize

__all__ = ["FakeModel", "Learner", "find_trigger", "synthesize"]

_HOMES = {
    "FakeModel": "..models.scripted",
    "Learner": ".synthesis",
    "find_trigger": "..repo.receipts.triggers",
    "synthesize": ".synthesis",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module and keep it (PEP 562)."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = found
    return found
