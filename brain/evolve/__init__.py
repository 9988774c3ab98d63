"""Learn skills from an agent's own runs, by asking a model.

`Model` is the interface of a model, `ToolModel` of one that also calls tools; `FakeModel` and
`FakeToolModel` answer from a list, `endpoint` asks a real model over the network. `synthesis`
drafts a skill from the transcript of a run, and `gate` decides what becomes of it. `schedule`
does all of it in the background.

The names below are loaded when they are first used: the end of each run looks in here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .fake_model import FakeModel, FakeToolModel
    from .model import AnswerRequest, ChatMessage, Model, ModelAnswer
    from .synthesis import Learner, synthesize
    from .tool_model import ToolModel
    from .triggers import find_trigger

__all__ = [
    "AnswerRequest",
    "ChatMessage",
    "FakeModel",
    "FakeToolModel",
    "Learner",
    "Model",
    "ModelAnswer",
    "ToolModel",
    "find_trigger",
    "synthesize",
]

_HOMES = {
    "AnswerRequest": ".model",
    "ChatMessage": ".model",
    "FakeModel": ".fake_model",
    "FakeToolModel": ".fake_model",
    "Learner": ".synthesis",
    "Model": ".model",
    "ModelAnswer": ".model",
    "ToolModel": ".tool_model",
    "find_trigger": ".triggers",
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
