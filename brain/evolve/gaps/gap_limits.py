"""The limits of attempts at gaps, and how many count at present."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...experience.experience_protocol import RateLimit
from ...results import RateUse
from .open_gaps import GAPS

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore

GAP_LIMITS = (
    RateLimit(name="hourly", seconds=3_600, most=2),
    RateLimit(name="daily", seconds=86_400, most=5),
)
"""Attempts of one brain, whatever becomes of them."""


def read_rate_use(store: ExperienceStore, brain: str, now: int) -> list[RateUse]:
    """Return how many attempts count now. Raises `StoreError`."""
    used = store.read(rate_key(brain), GAP_LIMITS, now)
    return [RateUse(limit.name, used[limit.name], limit.most) for limit in GAP_LIMITS]


def time_until_free(name: str, now: int) -> int:
    """Return the ms from `now` until the present period of a limit ends."""
    (length,) = (limit.seconds * 1000 for limit in GAP_LIMITS if limit.name == name)
    return length - now % length


def rate_key(brain: str) -> str:
    """Return the key under which the attempts of a brain are counted."""
    return f"{GAPS}:{brain}"
