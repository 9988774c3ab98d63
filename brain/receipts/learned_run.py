"""The run that a change was learned from, as the receipt of the change names it."""

from __future__ import annotations

from .receipt_types import Receipt

SYNTHESIS_AGENT = "brain evolve"
"""The agent in the receipt of a synthesis."""
_TASK = "Learn from run "
_SOURCE_CHARS = 16


def learning_task(run: Receipt) -> str:
    """Return the task in the receipt of what is learned from a run."""
    return f"{_TASK}{run.run}: {run.task}"


def run_source(run: str) -> str:
    """Return how a case names the run that it was made of, by the id of that."""
    return f"receipt {run[:_SOURCE_CHARS]}"


def own_sources(receipt: Receipt) -> set[str]:
    """Return how cases name the runs that the author of a change has seen, by its receipt."""
    runs = {receipt.run}
    if receipt.agent == SYNTHESIS_AGENT and receipt.task.startswith(_TASK):
        runs.add(receipt.task.removeprefix(_TASK).partition(": ")[0])
    return set(map(run_source, runs))
