"""Which run is going on, for whoever writes meanwhile."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..session import Session
    from .running import Draft, Run

RUN: ContextVar[Run | None] = ContextVar("brain_run", default=None)
"""The run of this thread, or of this task of asyncio."""


def draft_for(session: Session) -> Draft | None:
    """Return what a turn of a session makes of the run that is going on in it, if one is."""
    run = run_in(session)
    return run.draft() if run else None


def run_in(session: Session) -> Run | None:
    """Return the run that is going on in a session, if one is."""
    run = RUN.get()
    return run if run is not None and run.session is session and not run.closed else None
