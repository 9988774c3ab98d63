"""Pauses after failures of the model: each is longer than the one before, up to a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...errors import ModelError, printable_text
from ...util.utc_time import utc_time
from ..stored_notes import Fields, change_fields, read_fields, read_number

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore

FIRST_PAUSE_MS = 60_000
MAX_PAUSE_MS = 6 * 3_600_000
_GROWTH = 4
_MAX_GROWTHS = 8
_NOTE = "model pause"
_MAX_REASON_CHARS = 300


class ModelPause(NamedTuple):
    """After `failures` in a row the model is not asked before `until`; ms since 1970."""

    failures: int
    until: int
    reason: str


def pause_length(failures: int) -> int:
    """Return the ms to wait after so many failures: 1, 4, 16, 64 … minutes, at most 6 h."""
    length = FIRST_PAUSE_MS
    for _ in range(1, min(failures, _MAX_GROWTHS)):
        length *= _GROWTH
    return min(length, MAX_PAUSE_MS)


def read_pause(store: ExperienceStore, model: str, now: int) -> ModelPause | None:
    """Return the pause that lasts, None if the model may be asked.

    The pause of another model does not count, nor one that the clock would make longer than
    its length: then the clock was set back.
    """
    fields = read_fields(store, _NOTE)
    failures, until = read_number(fields, "failures"), read_number(fields, "until")
    if fields.get("model") != model or not now < until <= now + pause_length(failures):
        return None
    return ModelPause(failures, until, str(fields.get("reason", "")))


def add_failure(store: ExperienceStore, model: str, now: int, error: ModelError) -> ModelPause:
    """Count a failure of the model; return the pause that follows."""

    def add(fields: Fields) -> Fields:
        known = fields.get("model") == model
        failures = 1 + (read_number(fields, "failures") if known else 0)
        reason = printable_text(error.message, _MAX_REASON_CHARS)
        until = now + pause_length(failures)
        return {"model": model, "failures": failures, "until": until, "reason": reason}

    fields = change_fields(store, _NOTE, add) or {}
    return ModelPause(fields["failures"], fields["until"], fields["reason"])


def end_pause(store: ExperienceStore) -> None:
    """Note that the model answered well."""
    change_fields(store, _NOTE, lambda fields: {} if fields else None)


def describe_pause(pause: ModelPause) -> str:
    """Return why the model is not asked, and until when."""
    times = "once" if pause.failures == 1 else f"{pause.failures} times in a row"
    until = utc_time(pause.until).isoformat(timespec="seconds")
    return f"the model failed {times} and is not asked before {until}: {pause.reason}"
