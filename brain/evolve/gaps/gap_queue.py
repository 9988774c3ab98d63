"""Attempts at gaps in the queue of the store: which are due again, and how each ended."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from .gap_audit import FAILED, MODEL_PHASE, PROPOSED_PHASE, RATE_PHASE, REJECTED
from .open_gaps import GAPS, OpenGap, add_gap_work, list_open_gaps

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore, WorkItem

MAX_TRIES_OF_MODEL = 3
"""Attempts at one failure while the model does not answer."""
SUPERSEDED = "superseded"
"""The result of an attempt at a goal that failed again, or succeeded, before it was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedAttempt:
    """How an attempt ended, as the queue keeps it.

    `name` is that of the capability, "" without one. `attempt` is a rejected program that is
    kept, and `proposal` one that waits for a person.
    """

    phase: str
    result: str
    reason: str = ""
    name: str = ""
    attempt: str = ""
    proposal: str = ""

    @property
    def slug(self) -> str:
        """The slug of the skill, "" without one."""
        return self.name.replace("_", "-")

    def encode(self) -> str:
        """Return it as the result of an item."""
        return json.dumps(asdict(self))


def parse_ended(result: str) -> EndedAttempt:
    """Return how an attempt ended, from the result of its item."""
    try:
        return EndedAttempt(**json.loads(result))
    except (ValueError, TypeError):  # of the store itself, or of a goal that was superseded
        return EndedAttempt(phase="", result=result)


def queue_open_gaps(store: ExperienceStore, now: int) -> None:
    """Queue the gaps that are due and were not attempted yet, at their present failures."""
    results = _results_by_episode(store.list_work(GAPS))
    for gap in list_open_gaps(store):
        earlier = results[gap.episode]
        is_free = all(map(_allows_another, earlier))
        failures = sum(map(_is_model_failure, earlier))
        if gap.score.is_due and is_free and failures < MAX_TRIES_OF_MODEL:
            add_gap_work(store, gap, len(earlier), now)


def describe_next(gap: OpenGap, items: Iterable[tuple[WorkItem, str]]) -> str:
    """Return what would happen to a gap now."""
    if not gap.score.is_due:
        return "nothing: its score is not above 0.50"
    results = _results_by_episode(items)[gap.episode]
    if not results:
        return "attempt: it is queued by the next run"
    if "" in results:
        return "attempt: it is queued"
    ended = parse_ended(results[-1])
    if ended.phase == RATE_PHASE:
        return "attempt: it waits for the limits"
    if ended.phase == PROPOSED_PHASE:
        return f"wait for a person: proposal {ended.proposal}"
    return f"nothing until it fails again: {ended.phase} {ended.result}".replace("  ", " ")


def list_proposed(items: Iterable[tuple[WorkItem, str]]) -> list[tuple[WorkItem, str]]:
    """Return the items whose skill was proposed to a person, with the slugs."""
    ended = ((item, parse_ended(result)) for item, result in items)
    return [(item, one.slug) for item, one in ended if one.phase == PROPOSED_PHASE]


def list_refused(gap: OpenGap, items: Iterable[tuple[WorkItem, str]]) -> list[EndedAttempt]:
    """Return the attempts at a gap that were rejected, newest first."""
    ended = [parse_ended(result) for item, result in items if item.key.startswith(f"{gap.key}:")]
    return [one for one in reversed(ended) if one.result == REJECTED]


def _allows_another(result: str) -> bool:
    """Tell whether an attempt ended before anything was tried; one that runs does not allow it."""
    return parse_ended(result).phase == RATE_PHASE or _is_model_failure(result)


def _is_model_failure(result: str) -> bool:
    ended = parse_ended(result)
    return (ended.phase, ended.result) == (MODEL_PHASE, FAILED)


def _results_by_episode(items: Iterable[tuple[WorkItem, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for item, result in items:
        found[item.key.rpartition(":")[0]].append(result)
    return found
