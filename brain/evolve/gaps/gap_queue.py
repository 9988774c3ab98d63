"""Attempts at gaps in the queue of the store: which are due, and how each ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from .gap_audit import PROPOSED_PHASE, REJECTED
from .open_gaps import GAPS, OpenGap, add_gap_work, list_open_gaps

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore, WorkItem

SUPERSEDED = "superseded"
"""The result of an attempt at a goal that failed again, or succeeded, before it was made."""

IsProposed = Callable[[str], bool]
"""Tells whether a proposal waits for a person, by its name."""


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
    """Queue the gaps that are due, those that were not queued when their failure was noted."""
    for gap in list_unqueued(store):
        add_gap_work(store, gap, now)


def list_unqueued(store: ExperienceStore) -> list[OpenGap]:
    """Return the gaps that are due and of whose failures none was queued."""
    known = {item.key for item, _ in store.list_work(GAPS)}
    return [gap for gap in list_open_gaps(store) if gap.score.is_due and gap.episode not in known]


def describe_next(
    gap: OpenGap, items: Sequence[tuple[WorkItem, str]], limit: str, is_proposed: IsProposed
) -> str:
    """Return what would happen to a gap now; `limit` is the one that is reached, "" for none."""
    if not gap.score.is_due:
        return "nothing: its score is not above 0.50"
    proposal = find_waiting_proposal(gap, items, is_proposed)
    if proposal is not None:
        return f"wait for a person: proposal {proposal.proposal}"
    result = next((result for item, result in items if item.key == gap.episode), None)
    if not result:
        queued = "it is queued by the next run" if result is None else "it is queued"
        return f"attempt: it waits for the {limit} limit" if limit else f"attempt: {queued}"
    ended = parse_ended(result)
    if ended.phase == PROPOSED_PHASE:
        return "nothing until it fails again: its proposal was accepted or rejected"
    return f"nothing until it fails again: {' '.join(filter(None, (ended.phase, ended.result)))}"


def find_waiting_proposal(
    gap: OpenGap, items: Iterable[tuple[WorkItem, str]], is_proposed: IsProposed
) -> EndedAttempt | None:
    """Return the attempt at a gap whose proposal waits for a person, None without one."""
    for one in _list_ended(gap, items):
        if one.phase == PROPOSED_PHASE and is_proposed(one.proposal):
            return one
    return None


def list_proposed(items: Iterable[tuple[WorkItem, str]]) -> list[tuple[WorkItem, str]]:
    """Return the items whose skill was proposed to a person, with the slugs."""
    ended = ((item, parse_ended(result)) for item, result in items)
    return [(item, one.slug) for item, one in ended if one.phase == PROPOSED_PHASE]


def list_refused(gap: OpenGap, items: Iterable[tuple[WorkItem, str]]) -> list[EndedAttempt]:
    """Return the attempts at a gap that were rejected, newest first."""
    return [one for one in _list_ended(gap, items) if one.result == REJECTED]


def _list_ended(gap: OpenGap, items: Iterable[tuple[WorkItem, str]]) -> list[EndedAttempt]:
    """Return how the attempts at a gap ended, also at earlier failures, newest first."""
    results = [result for item, result in items if item.key.startswith(f"{gap.key}:")]
    return [parse_ended(result) for result in reversed(results)]
