"""What an agent learns from its own work, by asking a model.

`Model` is all that is known of one; `scripted` answers from a list, `endpoint` asks a real
one. `synthesis` makes a skill of the transcript of a run.
"""

from .hardness import hard
from .learner import Learner
from .model import Answer, Message, Model, Request
from .scripted import Scripted
from .synthesis import synthesize

__all__ = [
    "Answer",
    "Learner",
    "Message",
    "Model",
    "Request",
    "Scripted",
    "hard",
    "synthesize",
]
