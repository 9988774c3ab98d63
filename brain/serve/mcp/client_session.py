"""One client's view of the brain, with a run recorded for each session."""

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
"""Seconds without a call after which a session is closed."""
MAX_UNRECORDED_CALLS = 10_000
"""Calls of one session that may wait in memory for a snapshot that records them."""

logger = logging.getLogger(__name__)


class ClientBrain:
    """One client's view of the brain, with a record of each of its sessions.

    A session is a run: its receipts are in the snapshots it causes, and a last snapshot
    closes it. A session that writes nothing records nothing, so reading never adds to the
    lineage.
    """

    def __init__(self, brain: Brain, name: str) -> None:
        self.brain = brain
        self._name = name
        self._sessions: dict[str, _RecordedSession] = {}

    def call(self, session: str, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool as a step of the session with the id `session`."""
        now = time.monotonic()
        for session_id, recorded in list(self._sessions.items()):
            if (
                now - recorded.last_call > SESSION_IDLE_SECONDS
                or recorded.unrecorded_calls >= MAX_UNRECORDED_CALLS
            ):
                self.end_session(session_id)
        if session not in self._sessions:
            task = self.brain.task(f"A session of {self._name}", agent=self._name)
            self._sessions[session] = _RecordedSession(task, Toolbox(self.brain, task))
        current = self._sessions[session]
        current.last_call = now
        current.unrecorded_calls += 1
        result = current.tools.call(name, arguments)
        if result.changed:
            current.unrecorded_calls = 0
        return result

    def end_session(self, session: str) -> None:
        """Close the record of a session, if there is one."""
        recorded = self._sessions.pop(session, None)
        try:
            if recorded is not None:
                recorded.task.abandon("the session ended")
        except BrainError as error:  # such as a lock held elsewhere: the record stays open
            logger.info("the end of a session is not recorded: %s", error.message)

    def close(self) -> None:
        """Close the records of all sessions, and the brain."""
        for session in list(self._sessions):
            self.end_session(session)
        self.brain.close()


class _RecordedSession:
    """An open session: the time of its last call, and its calls since it last wrote."""

    def __init__(self, task: Task, tools: Toolbox) -> None:
        self.task = task
        self.tools = tools
        self.last_call = 0.0
        self.unrecorded_calls = 0
