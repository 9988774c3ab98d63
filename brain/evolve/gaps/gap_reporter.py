"""Note failed goals in the store of experience, in a thread of its own.

The agent only appends to a queue: it waits for no lock, file, server or import, and nothing that
fails there reaches it. What could not be noted is kept as a notice. The thread ends when the queue
is empty. At its end, the interpreter waits a little for reports that are still being noted.
"""

from __future__ import annotations

import _thread
import atexit
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from .gap_report import GapReport, GoalSuccess

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore
    from ...results import Notice

MAX_WAITING_REPORTS = 1_000
"""Reports that wait to be noted; of more, the oldest are dropped, and a notice says so."""
EXIT_SECONDS = 10.0
"""How long the end of the interpreter waits for one brain's reports."""
_MAX_NOTICES = 20

OpenExperience = Callable[[], AbstractContextManager["ExperienceStore"]]


class GapReporter:
    """Notes reports of one brain in order.

    `on_due` is called, in a thread that nothing waits for, after a gap became due.
    """

    def __init__(self, open_store: OpenExperience) -> None:
        self.on_due: Callable[[], object] | None = None
        self._open_store = open_store
        self._changed = threading.Condition()
        self._waiting: deque[GapReport | GoalSuccess] = deque()
        self._is_running = False
        self._notices: deque[tuple[str, str]] = deque(maxlen=_MAX_NOTICES)
        _reporters.add(self)

    def submit(self, report: GapReport | GoalSuccess) -> None:
        """Queue a report; return at once."""
        with self._changed:
            self._waiting.append(report)
            if len(self._waiting) > MAX_WAITING_REPORTS:
                self._waiting.popleft()
                self._notices.append(("gap_dropped", "too many failed goals wait to be noted"))
            if self._is_running:
                return
            self._is_running = True
        _thread.start_new_thread(self._note_all, ())  # `Thread.start` would wait for the thread

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all reports are noted; return whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._is_running, timeout)

    def take_notices(self) -> list[Notice]:
        """Return why reports could not be noted, and forget it."""
        from ...results import Notice

        with self._changed:
            found = [Notice(code, "", message) for code, message in self._notices]
            self._notices.clear()
        return found

    def _note_all(self) -> None:
        while batch := self._take_batch():
            due = [self._try_to_note(report) for report in batch]
            if any(due) and self.on_due is not None:
                _thread.start_new_thread(self._act_on_due, (self.on_due,))

    def _act_on_due(self, on_due: Callable[[], object]) -> None:
        try:
            on_due()
        except Exception as error:  # noqa: BLE001  nothing that fails here may reach the agent
            self._add_notice("gap_not_attempted", "a gap was not attempted", error)

    def _try_to_note(self, report: GapReport | GoalSuccess) -> bool:
        try:
            from .note_report import note_report

            with self._open_store() as store:
                return note_report(store, report)
        except Exception as error:  # noqa: BLE001  no fault of a store may reach the agent
            self._add_notice("gap_not_noted", "a failed goal was not noted", error)
            return False

    def _take_batch(self) -> list[GapReport | GoalSuccess]:
        """Return what waits; if that is nothing, the thread is over."""
        with self._changed:
            batch = list(self._waiting)
            self._waiting.clear()
            if not batch:
                self._is_running = False
                self._changed.notify_all()
            return batch

    def _add_notice(self, code: str, what: str, error: Exception) -> None:
        message = getattr(error, "message", "") or repr(error)
        with self._changed:
            self._notices.append((code, f"{what}: {message}"))


_reporters: weakref.WeakSet[GapReporter] = weakref.WeakSet()


@atexit.register
def _finish_reports() -> None:
    for reporter in list(_reporters):
        reporter.wait(EXIT_SECONDS)
