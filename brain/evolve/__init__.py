"""Learn skills from an agent's own runs, by asking a model.

    from brain import Brain, evolve

    with Brain.open("my-agent") as brain:
        for step in evolve.run_due(brain, model):
            print(step.evolver, step.reason)

It lies above `Brain`, and changes it through the gate alone. A model is one of pydantic-ai, such as
`brain.models.open_endpoint` gives. `synthesize` drafts a skill from the transcript of a run,
`run_patterns` and `run_gaps` learn from what recurs and from what fails, and `run_due` and `run` do
all of it as it becomes due. `grind` learns from tasks that are tried again until they pass.

The names below are loaded when they are first used: the end of each run looks in here.
"""

from __future__ import annotations

from . import grind as grind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..repo.receipts.runs import find_trigger as find_trigger
    from .acquire import import_registry as import_registry
    from .budget import require_evolution as require_evolution
    from .gaps import attempt_gaps_at_once as attempt_gaps_at_once
    from .gaps import run_gaps as run_gaps
    from .hard_runs import TranscriptFolders as TranscriptFolders
    from .hard_runs import queue_run as queue_run
    from .hard_runs import take_no_model_notice as take_no_model_notice
    from .patterns import run_patterns as run_patterns
    from .scheduler import make_due as make_due
    from .scheduler import read_status as read_status
    from .scheduler import run as run
    from .scheduler import run_due as run_due
    from .synthesis import Learner as Learner
    from .synthesis import synthesize as synthesize

_HOMES = {
    "Learner": ".synthesis",
    "TranscriptFolders": ".hard_runs",
    "attempt_gaps_at_once": ".gaps",
    "find_trigger": "..repo.receipts.runs",
    "import_registry": ".acquire",
    "make_due": ".scheduler",
    "queue_run": ".hard_runs",
    "read_status": ".scheduler",
    "require_evolution": ".budget",
    "run": ".scheduler",
    "run_due": ".scheduler",
    "run_gaps": ".gaps",
    "run_patterns": ".patterns",
    "synthesize": ".synthesis",
    "take_no_model_notice": ".hard_runs",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module and keep it (PEP 562)."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = found
    return found
