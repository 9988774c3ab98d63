"""How much fits into one receipt: many long steps keep less of their texts."""

from __future__ import annotations

from .. import limits
from .document import size_of
from .excerpt import shortened
from .receipt import Step, Text

ROOM_BYTES = limits.MAX_RECEIPT_BYTES * 3 // 4
"""Bytes of the steps of a run in one receipt; the rest is for what a snapshot wrote."""
ROOM_STEPS = limits.MAX_STEPS - limits.MAX_WRITES
"""Steps of a run in one receipt."""
_SHORT = 100
"""Bytes of an error that is kept when there is little room left."""


class Room:
    """Counts the bytes of steps. When half is used up, texts keep their digests alone."""

    def __init__(self) -> None:
        self.steps = 0
        self.bytes = 0

    def fit(self, step: Step) -> Step | None:
        """Return a step as there is room for it, None if there is none.

        Raises `FormatError` for what is no step.
        """
        size = size_of(step)
        if self.bytes + size > ROOM_BYTES // 2:
            step = _bare(step)
            size = size_of(step)
        if self.steps >= ROOM_STEPS or self.bytes + size > ROOM_BYTES:
            return None
        self.steps += 1
        self.bytes += size
        return step


def _bare(step: Step) -> Step:
    texts = _without_excerpt(step.input), _without_excerpt(step.output)
    return step._replace(input=texts[0], output=texts[1], error=shortened(step.error, _SHORT))


def _without_excerpt(text: Text | None) -> Text | None:
    return text and text._replace(excerpt="")
