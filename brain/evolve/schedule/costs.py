"""What each evolver has cost: requests and tokens, counted as they are paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...results import EvolverCost
from ..stored_notes import Fields, change_fields, read_fields, read_number

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore


MAX_PROMPT_CHARS = 200_000
"""Characters of a request of a metered model: they bound what an attempt may cost."""


def add_cost(
    store: ExperienceStore, evolver: str, requests: int, tokens_in: int, tokens_out: int
) -> None:
    """Count what an evolver paid. Raises `StoreError`."""

    def add(fields: Fields) -> Fields:
        return {
            "requests": read_number(fields, "requests") + requests,
            "tokens_in": read_number(fields, "tokens_in") + tokens_in,
            "tokens_out": read_number(fields, "tokens_out") + tokens_out,
        }

    change_fields(store, _note(evolver), add)


def read_cost(store: ExperienceStore, evolver: str) -> EvolverCost:
    """Return what an evolver has cost so far."""
    fields = read_fields(store, _note(evolver))
    return EvolverCost(
        evolver=evolver,
        requests=read_number(fields, "requests"),
        tokens_in=read_number(fields, "tokens_in"),
        tokens_out=read_number(fields, "tokens_out"),
    )


def _note(evolver: str) -> str:
    return f"cost/{evolver}"
