"""Hold a claimed work item while an attempt goes on, also if that takes longer than its lease."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import BrainError, Conflict
from ..repo.learning.rounds import DEFAULT_LIMITS
from ..running.trial import MAX_TRIAL_SECONDS
from .saved_answers import Interrupted

if TYPE_CHECKING:
    from ..experience.experience_protocol import ClaimedWork, ExperienceStore

MAX_HELD_SECONDS = 600 + 2 * (MAX_TRIAL_SECONDS + DEFAULT_LIMITS.seconds)
"""How long a lease is renewed: the time of a conversation, and of a change that is tried twice.

An attempt takes no longer; a process that hangs loses its item one lease later.
"""
_RENEWALS = 3
"""Renewals in the time of one lease, so that it outlasts a store that fails to answer once."""

Wait = Callable[[threading.Event, float], bool]


def wait_for_event(event: threading.Event, seconds: float) -> bool:
    """Wait until an event is set, or some seconds; tell whether it is set."""
    return event.wait(seconds)


def clock_since(now: int) -> Callable[[], int]:
    """Return a clock in ms that shows `now`, and goes on from there by seconds, without jumps."""
    start = time.monotonic()
    return lambda: now + int(time.monotonic() - start) * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldWork:
    """An item that this process has claimed for `lease` ms; `now` tells ms since 1970."""

    store: ExperienceStore
    work: ClaimedWork
    lease: int
    now: Callable[[], int]
    wait: Wait = field(default=wait_for_event)

    def confirm(self) -> None:
        """Renew the lease, before something is recorded that the item leads to.

        Raises `Conflict` (`work_lost`) if another process took the item over.
        """
        self.store.renew_work(self.work, self.now(), self.lease)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Renew the lease until the block ends.

        A block that is interrupted releases the item, so that the next process goes on at once.
        """
        try:
            with self._renewing():
                yield
        except (Interrupted, KeyboardInterrupt, GeneratorExit):
            with suppress(BrainError):  # the item is then free after its lease
                self.store.release_work(self.work)
            raise

    @contextmanager
    def _renewing(self) -> Iterator[None]:
        ended = threading.Event()
        thread = threading.Thread(target=self._renew, args=(ended,), name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _renew(self, ended: threading.Event) -> None:
        """Renew the lease again and again, for a bounded time."""
        seconds = self.lease / 1000 / _RENEWALS
        for _ in range(int(MAX_HELD_SECONDS / seconds)):
            if self.wait(ended, seconds):
                return
            try:
                self.confirm()
            except Conflict:
                return
            except BrainError:  # the store may answer the next time
                continue
