"""The brain as one client sees it, and its sessions as runs that are recorded."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import BrainError
from ..tools import Answer, Toolbox

if TYPE_CHECKING:
    from ...brain import Brain
    from ...facade.tasks import Task

PAUSE = 1800.0
"""Seconds of silence after which a session is over."""
MAX_READS = 10_000
"""Calls of one session without a change, which wait in memory for a snapshot to carry them."""

log = logging.getLogger(__name__)


class Seat:
    """The brain as one client sees it, with a record of what it does there.

    Each of its sessions is a run, whose receipts go with the snapshots it causes; when it is
    over, a last one says so. One in which nothing is written leaves nothing, so reading
    never adds to the lineage.
    """

    def __init__(self, brain: Brain, name: str) -> None:
        self.brain = brain
        self._name = name
        self._sessions: dict[str, _Session] = {}

    def call(self, session: str, name: str, given: Mapping[str, Any]) -> Answer:
        """Carry out a call as a step of the session of that id."""
        now = time.monotonic()
        for key, one in list(self._sessions.items()):
            if now - one.heard > PAUSE or one.read >= MAX_READS:
                self.end(key)
        if session not in self._sessions:
            task = self.brain.task(f"A session of {self._name}", agent=self._name)
            self._sessions[session] = _Session(task, Toolbox(self.brain, task))
        current = self._sessions[session]
        current.heard = now
        current.read += 1
        done = current.tools.call(name, given)
        if done.changed:
            current.read = 0
        return done

    def end(self, session: str) -> None:
        """Close the record of a session, if there is one."""
        found = self._sessions.pop(session, None)
        try:
            if found is not None:
                found.task.leave("the session ended")
        except BrainError as error:  # somebody else writes, say: then the record stays open
            log.info("the end of a session is not recorded: %s", error.message)

    def close(self) -> None:
        """Close the records of all sessions, and the brain."""
        for session in list(self._sessions):
            self.end(session)
        self.brain.close()


class _Session:
    """A session that goes on: when it was heard of last, and calls since it last wrote."""

    def __init__(self, task: Task, tools: Toolbox) -> None:
        self.task = task
        self.tools = tools
        self.heard = 0.0
        self.read = 0
