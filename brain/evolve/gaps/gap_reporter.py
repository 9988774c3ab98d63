"""Note failed goals in the store of experience, in a thread of its own.

The agent only appends to a queue: it waits for no lock, file or server, and nothing that fails
there reaches it. What could not be noted is kept as a notice. The thread ends when the queue is
empty; the interpreter waits for it at its end.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ...errors import BrainError
from ...results import Notice
from .gap_audit import SCORE_PHASE, SKIPPED, append_gap_event
from .open_gaps import GapReport, GoalSuccess, add_gap_work, record_failure, record_success

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore

MAX_WAITING_REPORTS = 1_000
"""Reports that wait to be noted; of more, the oldest are dropped, and a notice says so."""
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
        self._thread: threading.Thread | None = None
        self._notices: deque[Notice] = deque(maxlen=_MAX_NOTICES)

    def submit(self, report: GapReport | GoalSuccess) -> None:
        """Queue a report; return at once."""
        with self._changed:
            self._waiting.append(report)
            if len(self._waiting) > MAX_WAITING_REPORTS:
                self._waiting.popleft()
                self._add_notice("gap_dropped", "too many failed goals wait to be noted")
            if self._thread is None:
                self._thread = threading.Thread(target=self._note_all, name="brain-gaps")
                self._thread.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all reports are noted; return whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: self._thread is None, timeout)

    def take_notices(self) -> list[Notice]:
        """Return why reports could not be noted, and forget it."""
        with self._changed:
            found = list(self._notices)
            self._notices.clear()
        return found

    def _note_all(self) -> None:
        while batch := self._take_batch():
            due = [self._try_to_note(report) for report in batch]
            if any(due) and self.on_due is not None:
                threading.Thread(
                    target=self._act_on_due, name="brain-gaps-due", daemon=True
                ).start()

    def _act_on_due(self) -> None:
        on_due = self.on_due
        try:
            if on_due is not None:
                on_due()
        except Exception as error:  # noqa: BLE001  nothing that fails here may reach the agent
            self._add_notice_of("gap_not_attempted", "a gap was not attempted", error)

    def _try_to_note(self, report: GapReport | GoalSuccess) -> bool:
        try:
            with self._open_store() as store:
                return note_report(store, report)
        except Exception as error:  # noqa: BLE001  no fault of a store may reach the agent
            self._add_notice_of("gap_not_noted", "a failed goal was not noted", error)
            return False

    def _take_batch(self) -> list[GapReport | GoalSuccess]:
        """Return what waits; if that is nothing, the thread is over."""
        with self._changed:
            batch = list(self._waiting)
            self._waiting.clear()
            if not batch:
                self._thread = None
                self._changed.notify_all()
            return batch

    def _add_notice_of(self, code: str, what: str, error: Exception) -> None:
        message = error.message if isinstance(error, BrainError) else repr(error)
        with self._changed:
            self._add_notice(code, f"{what}: {message}")

    def _add_notice(self, code: str, message: str) -> None:
        self._notices.append(Notice(code, "", message))


def note_report(store: ExperienceStore, report: GapReport | GoalSuccess) -> bool:
    """Note a report; queue the gap if it is due, and return whether it is.

    Raises `StoreError`.
    """
    if isinstance(report, GoalSuccess):
        record_success(store, report.goal, report.tool)
        return False
    gap = record_failure(store, report)
    if gap.score.is_due:
        add_gap_work(store, gap, 0, report.at)
    else:
        append_gap_event(store, gap, report.at, SCORE_PHASE, SKIPPED, reason="below the threshold")
    return gap.score.is_due
