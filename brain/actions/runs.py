"""Whole runs: the parts that snapshots carry, put together again."""

from __future__ import annotations

from ..digest import EMPTY
from ..errors import FormatError, NotFound
from ..objects.snapshot import Snapshot
from ..receipts import Receipt, Step, decode
from ..session import Session
from .revisions import resolve
from .running import Run

MAX_STEPS = 200_000
"""Steps of one run that are put together."""


def whole(session: Session, rev: str) -> Receipt:
    """Return the run of which a revision carries a part, as one receipt up to there.

    Raises `NotFound` (`no_receipt`), or `FormatError` for what is no receipt of a run.
    """
    snapshot_id = resolve(session, rev)
    return _joined(session, _carried(session, session.load(snapshot_id)), ())


def so_far(session: Session, run: Run) -> Receipt:
    """Return a run that goes on, as one receipt up to now."""
    part, previous, waiting = run.state()
    header = run.header._replace(part=part, previous=previous)
    return _joined(session, header, waiting)


def _joined(session: Session, last: Receipt, waiting: tuple[Step, ...]) -> Receipt:
    """Return `last` with the steps of the parts before it, its own, and those that wait."""
    pieces = [waiting, last.steps]
    count = len(waiting) + len(last.steps)
    part = last
    while part.part:
        before = _carried(session, session.load(part.previous))
        if before.run != last.run or before.part != part.part - 1:
            raise FormatError("the parts of a run do not fit together", code="bad_receipt")
        pieces.append(before.steps)
        count += len(before.steps)
        if count > MAX_STEPS:
            raise FormatError(f"a run of more than {MAX_STEPS} steps", code="too_many")
        part = before
    steps = tuple(step for piece in reversed(pieces) for step in piece)
    return last._replace(steps=steps, part=0, previous=EMPTY)


def _carried(session: Session, snapshot: Snapshot) -> Receipt:
    if snapshot.receipt == EMPTY:
        raise NotFound(
            "that snapshot carries no receipt",
            code="no_receipt",
            hint="name one that a recorded run made: see `brain log`",
        )
    return decode(session.reader.read_blob(snapshot.receipt))
