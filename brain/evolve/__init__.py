"""What an agent learns from its own work, by asking a model.

`Model` is all that is known of one; `scripted` answers from a list, `endpoint` asks a real
one. `synthesis` makes a skill of the transcript of a run.
"""

from .fake_model import FakeModel
from .learner import Learner
from .model import AnswerRequest, ChatMessage, Model, ModelAnswer
from .synthesis import synthesize
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
