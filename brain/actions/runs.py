"""Whole runs: the parts that snapshots carry, put together again."""

from __future__ import annotations

from ..digest import EMPTY
from ..errors import FormatError
from ..receipts import Receipt, Step
from ..session import Session
from .receipts import Part, back, resolved
from .running import Run

MAX_STEPS = 200_000
"""Steps of one run that are put together."""


def whole(session: Session, rev: str) -> Receipt:
    """Return the run of which a revision carries a part, as one receipt up to there.

    Raises as `receipts.resolved` and `receipts.back`, and `FormatError` (`too_many`).
    """
    return _joined(session, resolved(session, rev), ())


def so_far(session: Session, run: Run) -> Receipt:
    """Return a run that goes on, as one receipt up to now."""
    part, previous, waiting = run.state()
    header = run.header._replace(part=part, previous=previous)
    return _joined(session, Part(header, EMPTY, EMPTY), waiting)


def _joined(session: Session, last: Part, waiting: tuple[Step, ...]) -> Receipt:
    """Return `last` with the steps of the parts before it, its own, and those that wait."""
    pieces = [waiting]
    count = len(waiting)
    for part in back(session, last):
        pieces.append(part.receipt.steps)
        count += len(part.receipt.steps)
        if count > MAX_STEPS:
            raise FormatError(f"a run of more than {MAX_STEPS} steps", code="too_many")
    steps = tuple(step for piece in reversed(pieces) for step in piece)
    return last.receipt._replace(steps=steps, part=0, previous=EMPTY)
