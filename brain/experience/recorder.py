"""Note what runs leave to learn from, in a thread of its own.

The agent only appends to a queue: it waits for no lock, file, server or import, and nothing that
fails there reaches it. What could not be noted is a notice, and after a store did not answer
nothing is tried for a while. The thread ends when the queue is empty. At its end, the interpreter
waits a little for what is still being noted.
"""

from __future__ import annotations

import _thread
import atexit
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from ..errors import BrainError, StoreError

if TYPE_CHECKING:
    from .. import results
    from .store import Store

MAX_WAITING = 1_000
"""Notes that wait; of more, the oldest are dropped, and a notice says so."""
PAUSE_SECONDS = 60.0
"""How long nothing is noted after the store did not answer."""
EXIT_SECONDS = 10.0
"""How long the end of the interpreter waits for one brain."""
_MAX_NOTICES = 20


class Note(NamedTuple):
    """A thing to note; `write` tells whether a gap is due.

    `has_goal` says that it reports a goal. `fail` gets the error if it cannot be noted.
    """

    write: Callable[[Store], bool]
    has_goal: bool = True
    fail: Callable[[BrainError], object] = lambda error: None


class Recorder:
    """Writes notes of one brain in order. `open_store` opens the store, for each batch of them.

    `on_due` is called, in a thread that nothing waits for, after a gap became due. `lost` counts
    the notes that could not be written.
    """

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self.on_due: Callable[[], object] | None = None
        self.lost = 0
        self._open_store = open_store
        self._changed = threading.Condition()
        self._waiting: deque[Note] = deque()
        self._is_running = False
        self._paused_until = 0.0
        self._notices: deque[tuple[str, str]] = deque(maxlen=_MAX_NOTICES)
        _recorders.add(self)

    def put(self, note: Note) -> None:
        """Queue a note; return at once."""
        with self._changed:
            self._waiting.append(note)
            if len(self._waiting) > MAX_WAITING:
                self._waiting.popleft()
                self.lost += 1
                self._notices.append(("gap_dropped", "too many failed goals wait to be noted"))
            if self._is_running:
                return
            self._is_running = True
        _thread.start_new_thread(self._write_all, ())  # `Thread.start` would wait for the thread

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all is noted; return whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._is_running, timeout)

    def take_notices(self) -> list[results.Notice]:
        """Return why goals could not be noted, and forget it."""
        from ..results import Notice

        with self._changed:
            found = [Notice(code, "", message) for code, message in self._notices]
            self._notices.clear()
        return found

    def _write_all(self) -> None:
        while batch := self._take_batch():
            due = [self._try_to_write(note) for note in batch]
            if any(due) and self.on_due is not None:
                _thread.start_new_thread(self._act_on_due, (self.on_due,))

    def _take_batch(self) -> list[Note]:
        """Return what waits; if that is nothing, the thread is over."""
        with self._changed:
            batch = list(self._waiting)
            self._waiting.clear()
            if not batch:
                self._is_running = False
                self._changed.notify_all()
            return batch

    def _try_to_write(self, note: Note) -> bool:
        if time.monotonic() < self._paused_until:
            self.lost += 1
            return False
        try:
            with closing(self._open_store()) as store:
                return note.write(store)
        except Exception as error:  # noqa: BLE001  no fault of a store may reach the agent
            self.lost += 1
            if isinstance(error, StoreError):
                self._paused_until = time.monotonic() + PAUSE_SECONDS
            if isinstance(error, BrainError):
                note.fail(error)
            if note.has_goal:
                self._add_notice("gap_not_noted", "a failed goal was not noted", error)
            return False

    def _act_on_due(self, on_due: Callable[[], object]) -> None:
        try:
            on_due()
        except Exception as error:  # noqa: BLE001  nothing that fails here may reach the agent
            self._add_notice("gap_not_attempted", "a gap was not attempted", error)

    def _add_notice(self, code: str, what: str, error: Exception) -> None:
        message = getattr(error, "message", "") or repr(error)
        with self._changed:
            self._notices.append((code, f"{what}: {message}"))


_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()


@atexit.register
def _finish() -> None:
    for recorder in list(_recorders):
        recorder.wait(EXIT_SECONDS)
