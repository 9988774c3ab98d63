"""The audit of gaps: one event for each attempt and for each gap that was left alone."""

from __future__ import annotations

from ...errors import printable_text
from ...experience.experience_protocol import AuditEvent
from ...results import GapEvent
from ...util.utc_time import utc_time
from .gap_score import format_score
from .open_gaps import GAPS, OpenGap

SUCCESS, SKIPPED, REJECTED, FAILED = GAP_RESULTS = ("success", "skipped", "rejected", "failed")
"""Skipped: nothing was tried, or a proposal waits. Rejected: by a check or by the gate."""
SCORE_PHASE, RATE_PHASE, MODEL_PHASE = "score", "rate_limit", "model"
VALIDATION_PHASE, GATE_PHASE, PROPOSED_PHASE = "validation", "gate", "proposed"
INTERRUPTED_PHASE, COMPLETE_PHASE = "interrupted", "complete"
MAX_REASON_CHARS = 400
_SHORT_KEY = 8


def build_gap_event(
    gap: OpenGap, at: int, phase: str, result: str, *, name: str = "", reason: str = ""
) -> AuditEvent:
    """Return an event about a gap. `name` is that of the capability, "" before there is one."""
    trigger = f"gap_score={format_score(gap.score.percent)},goal={gap.key[:_SHORT_KEY]}"
    if reason:
        trigger += f",reason={printable_text(reason, MAX_REASON_CHARS)}"
    return AuditEvent(
        at=at, evolver=GAPS, name=name, trigger_reason=trigger, phase=phase, result=result
    )


def describe_event(event: AuditEvent) -> GapEvent:
    """Return an event with the fields of the seed's log."""
    return GapEvent(
        ts=format_time(event.at),
        capability_name=event.name,
        trigger_reason=event.trigger_reason,
        phase=event.phase,
        result=event.result,
    )


def format_time(at: int) -> str:
    """Return a time in ms since 1970 as ISO 8601, such as 2026-03-11T20:00:00+00:00."""
    return utc_time(at).isoformat(timespec="seconds")
