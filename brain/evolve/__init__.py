"""Learn skills from an agent's own runs, by asking a model.

`Model` is the interface of a model; `FakeModel` answers from a list, `endpoint` asks a real
model over the network. `synthesis` makes a skill of the transcript of a run.
"""

from .fake_model import FakeModel
from .model import AnswerRequest, ChatMessage, Model, ModelAnswer
from .synthesis import Learner, synthesize
from .triggers import find_trigger

__all__ = [
    "AnswerRequest",
    "ChatMessage",
    "FakeModel",
    "Learner",
    "Model",
    "ModelAnswer",
    "find_trigger",
    "synthesize",
]
