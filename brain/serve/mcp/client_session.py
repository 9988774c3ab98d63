"""One client's view of the brain, with a run recorded for each session."""

from __future__ import annotations

import logging
import secrets
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
        self._open_calls = 0
        self._is_closing = False

    @property
    def is_busy(self) -> bool:
        """Whether a call that `open_toolbox` began has not ended."""
        return self._open_calls > 0

    def call(self, session: str, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool as a step of the session with the id `session`."""
        current = self._open_session(session)
        result = current.tools.call(name, arguments)
        if result.changed:
            current.unrecorded_calls = 0
        return result

    def open_toolbox(self, session: str) -> Toolbox:
        """Return the tools of a session, for a call in a thread of its own.

        The brain stays open until `close_toolbox` was called as often.
        """
        tools = self._open_session(session).tools
        self._open_calls += 1
        return tools

    def close_toolbox(self) -> None:
        """End a call that `open_toolbox` began."""
        self._open_calls -= 1
        if self._is_closing and not self._open_calls:
            self.brain.close()

    def _open_session(self, session: str) -> _RecordedSession:
        """Return a session for one more call; close those that are idle or hold too many."""
        now = time.monotonic()
        for session_id, recorded in list(self._sessions.items()):
            is_idle = now - recorded.last_call > SESSION_IDLE_SECONDS and not self.is_busy
            if is_idle or recorded.unrecorded_calls >= MAX_UNRECORDED_CALLS:
                self.end_session(session_id)
        if session not in self._sessions:
            run = secrets.token_hex(16)
            task = self.brain.task(
                f"A session of {self._name}", agent=self._name, run=run, chat=run
            )
            self._sessions[session] = _RecordedSession(task, Toolbox(self.brain, task))
        current = self._sessions[session]
        current.last_call = now
        current.unrecorded_calls += 1
        return current

    def end_session(self, session: str) -> None:
        """Close the record of a session, if there is one."""
        recorded = self._sessions.pop(session, None)
        try:
            if recorded is not None:
                recorded.task.abandon("the session ended")
        except BrainError as error:  # such as a lock held elsewhere: the record stays open
            logger.info("the end of a session is not recorded: %s", error.message)

    def close(self) -> None:
        """Close the records of all sessions, and the brain once no call uses it."""
        for session in list(self._sessions):
            self.end_session(session)
        self._is_closing = True
        if not self.is_busy:
            self.brain.close()


class _RecordedSession:
    """An open session: the time of its last call, and its calls since it last wrote."""

    def __init__(self, task: Task, tools: Toolbox) -> None:
        self.task = task
        self.tools = tools
        self.last_call = 0.0
        self.unrecorded_calls = 0
