"""End a work item with its events in the audit: each once, also if the process is killed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from ..experience.experience_protocol import AuditEvent

if TYPE_CHECKING:
    from ..experience.experience_protocol import ClaimedWork, ExperienceStore

_MAX_COMPARED = 10_000
"""Events since the death of a process, at most."""


def append_again(store: ExperienceStore, event: AuditEvent) -> None:
    """Append an event that a process which died may have appended already."""
    if event not in store.read_events(event.evolver, _MAX_COMPARED):
        store.append_event(event)


def end_work(
    store: ExperienceStore, work: ClaimedWork, events: Sequence[AuditEvent], result: str
) -> None:
    """Append events, and finish an item without its data; both are kept before, for `end_again`.

    Raises `Conflict` (`work_lost`).
    """
    store.keep_progress(work, json.dumps({"end": result, "events": list(map(asdict, events))}))
    for event in events:
        store.append_event(event)
    store.finish_work(work, result, data="")


def end_again(store: ExperienceStore, work: ClaimedWork) -> str:
    """Finish an item whose process died after `end_work` began; return its result, else "".

    Raises `Conflict` (`work_lost`).
    """
    try:
        fields = json.loads(work.progress or "{}")
        result, events = fields["end"], [AuditEvent(**event) for event in fields["events"]]
    except (ValueError, TypeError, KeyError):
        return ""
    for event in events:
        append_again(store, event)
    store.finish_work(work, result, data="")
    return str(result)
