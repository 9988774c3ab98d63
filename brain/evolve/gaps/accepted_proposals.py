"""Remember what was proposed for a gap once a person accepted it, and it may run.

When it is remembered is noted before, and that it was, after the event of the audit. So a process
that takes over adds the same record to the memory, which has it once, and the event once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import BrainError
from ..audited_end import append_again
from ..stored_notes import Fields, change_fields
from . import gap_audit
from .gap_memory import remember_capability
from .gap_queue import list_proposed
from .open_gaps import GAPS, OpenGap, parse_gap_work

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore
    from .brain_protocol import GapBrain

_NOTE = "gaps accepted"
_DONE = -1


def remember_accepted(brain: GapBrain, store: ExperienceStore, now: int) -> None:
    """Remember the capabilities that were accepted since they were proposed.

    Raises `StoreError`.
    """
    proposed = {slug: item for item, slug in list_proposed(store.list_work(GAPS))}
    if not proposed:
        return
    runnable = {one.slug for one in brain.programs.list() if one.status == "runnable"}

    def begin(fields: Fields) -> Fields:
        known = {slug: at for slug, at in fields.items() if slug in proposed and type(at) is int}
        return {**dict.fromkeys(runnable & proposed.keys(), now), **known}

    times = change_fields(store, _NOTE, begin) or {}
    for slug, at in times.items():
        gap = parse_gap_work(proposed[slug])
        if at != _DONE and gap is not None and slug in runnable:
            _remember(brain, store, gap, slug, at)


def _remember(brain: GapBrain, store: ExperienceStore, gap: OpenGap, slug: str, at: int) -> None:
    name, reason = slug.replace("-", "_"), ""
    try:
        remember_capability(brain, gap, name, at)
    except BrainError as error:
        reason = f"it is not in the memory: {error.message}"
    event = gap_audit.build_gap_event(
        gap, at, gap_audit.COMPLETE_PHASE, gap_audit.SUCCESS, name=name, reason=reason
    )
    append_again(store, event)
    change_fields(store, _NOTE, lambda fields: {**fields, slug: _DONE})
