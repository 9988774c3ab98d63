"""The run that is in progress in this thread or asyncio task."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..open.session import Session
    from ..receipts.runs import ReceiptDraft, Run

CURRENT_RUN: ContextVar[Run | None] = ContextVar("brain_run", default=None)
"""The run of this thread, or of this task of asyncio."""


def current_draft(session: Session) -> ReceiptDraft | None:
    """Return what a turn of a session makes of the run that is going on in it, if one is."""
    run = find_current_run(session)
    return run.begin_draft() if run else None


def find_current_run(session: Session) -> Run | None:
    """Return the run that is going on in a session, if one is."""
    run = CURRENT_RUN.get()
    return run if run is not None and run.session is session and not run.closed else None
