"""The answers of a model that are kept with a work item, so that none is paid for twice.

A process that is killed leaves the answers so far with its work item. The next attempt gets them
again, for equal requests, and asks the model only for what is missing.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

from ..errors import BrainError, ModelError

if TYPE_CHECKING:
    from ..experience.experience_protocol import ClaimedWork, ExperienceStore


class SavedAnswers:
    """The answers of one work item since it was begun anew the last time, by name of their step.

    `start` counts how often it was: earlier answers are not used again.
    """

    def __init__(self, store: ExperienceStore, work: ClaimedWork, *, start: int = 0) -> None:
        self._store = store
        self._work = work
        self._start = start
        self._lock = threading.Lock()
        self._kept: dict[str, bytes] = {}
        for text in store.read_answers(work):
            try:
                fields = json.loads(text)
                if fields["start"] == start:
                    self._kept.setdefault(str(fields["step"]), fields["value"].encode())
            except (ValueError, TypeError, KeyError, AttributeError):
                continue  # what another release wrote
        self.is_empty = not self._kept

    def find(self, name: str) -> bytes | None:
        """Return the answer that was kept of a step, None if none was."""
        return self._kept.get(name)

    def keep(self, name: str, value: bytes) -> None:
        """Keep the answer of a step. Raises `StoreError`, or `Conflict` (`work_lost`)."""
        text = json.dumps({"start": self._start, "step": name, "value": value.decode()})
        with self._lock:
            self._store.add_answer(self._work, text)
            self._kept[name] = value


class Interrupted(BrainError):
    """An attempt cannot go on now; its answers so far are kept for the next one.

    `cause` is the failure of the model that ended it, None if its time was over or it was asked to
    stop.
    """

    code = "interrupted"

    def __init__(self, message: str, cause: ModelError | None = None) -> None:
        super().__init__(message, hint="the next attempt goes on with the answers so far")
        self.cause = cause
