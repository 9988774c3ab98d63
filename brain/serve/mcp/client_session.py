"""The brain as one client sees it, with each of its sessions recorded as a run."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import BrainError
from ..tools import Toolbox, ToolResult

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...api.task import Task

SESSION_IDLE_SECONDS = 1800.0
"""Seconds of silence after which a session is over."""
MAX_UNRECORDED_CALLS = 10_000
"""Calls of one session without a change, which wait in memory for a snapshot to carry them."""

logger = logging.getLogger(__name__)


class ClientBrain:
    """The brain as one client sees it, with a record of what it does there.

    Each of its sessions is a run, whose receipts go with the snapshots it causes; when it is
    over, a last one says so. One in which nothing is written leaves nothing, so reading
    never adds to the lineage.
    """

    def __init__(self, brain: Brain, name: str) -> None:
        self.brain = brain
        self._name = name
        self._sessions: dict[str, _RecordedSession] = {}

    def call(self, session: str, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Carry out a call as a step of the session of that id."""
        now = time.monotonic()
        for key, one in list(self._sessions.items()):
            if (
                now - one.last_call > SESSION_IDLE_SECONDS
                or one.unrecorded_calls >= MAX_UNRECORDED_CALLS
            ):
                self.end_session(key)
        if session not in self._sessions:
            task = self.brain.task(f"A session of {self._name}", agent=self._name)
            self._sessions[session] = _RecordedSession(task, Toolbox(self.brain, task))
        current = self._sessions[session]
        current.last_call = now
        current.unrecorded_calls += 1
        done = current.tools.call(name, arguments)
        if done.changed:
            current.unrecorded_calls = 0
        return done

    def end_session(self, session: str) -> None:
        """Close the record of a session, if there is one."""
        found = self._sessions.pop(session, None)
        try:
            if found is not None:
                found.task.leave("the session ended")
        except BrainError as error:  # somebody else writes, say: then the record stays open
            logger.info("the end of a session is not recorded: %s", error.message)

    def close(self) -> None:
        """Close the records of all sessions, and the brain."""
        for session in list(self._sessions):
            self.end_session(session)
        self.brain.close()


class _RecordedSession:
    """A session that goes on: when it was heard of last, and calls since it last wrote."""

    def __init__(self, task: Task, tools: Toolbox) -> None:
        self.task = task
        self.tools = tools
        self.last_call = 0.0
        self.unrecorded_calls = 0
