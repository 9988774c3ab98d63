"""The watching backend on systems without inotify: watchfiles.

It does not report which files are still open, so a change is over after a quiet time. It
may lose changes if very many arrive at once; the whole folder is then scanned.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BrainError, InvalidInput, NoBrain
from ..folder.ignore import IGNORE_FILE_NAME, IgnoreRules
from .change_events import ObservedChanges

if TYPE_CHECKING:
    from watchfiles import Change

MAX_CHANGED_PATHS = 1000
"""Above so many changed paths at a time, the whole folder is scanned."""
_BATCH_MILLISECONDS = 50
"""Milliseconds in which changes are reported together."""


class _StopEvent:
    """The stop event for watchfiles, which polls it from the moment on that it watches."""

    def __init__(self) -> None:
        self.is_watching = threading.Event()
        self.is_requested = False

    def is_set(self) -> bool:
        """Tell whether watchfiles must end."""
        self.is_watching.set()
        return self.is_requested


class WatchfilesBackend:
    """The `WatchBackend` of any system."""

    def __init__(self, root: Path, rules: IgnoreRules) -> None:
        self._root = os.path.realpath(root)
        self._rules = rules
        self._change_queue: queue.SimpleQueue[set[tuple[Change, str]] | None] = queue.SimpleQueue()
        self._listener_error: Exception | None = None
        self._stop = _StopEvent()
        self._thread = threading.Thread(target=self._listen, name="brain-watch", daemon=True)
        self._thread.start()
        self._stop.is_watching.wait()
        self._raise_listener_error()

    def wait(self, seconds: float | None) -> ObservedChanges:
        """See `WatchBackend.wait`."""
        try:
            changes = self._change_queue.get(timeout=seconds)
        except queue.Empty:
            return ObservedChanges()
        self._raise_listener_error()
        return self._to_changes(path for _, path in changes or ())

    def wake(self) -> None:
        """See `WatchBackend.wake`."""
        self._change_queue.put(None)

    def close(self) -> None:
        """Stop watching."""
        self._stop.is_requested = True
        self._thread.join()

    def _raise_listener_error(self) -> None:
        error = self._listener_error
        if error is not None:
            raise BrainError(
                f"the system cannot watch {self._root}: {error}",
                code="cannot_watch",
                hint="end other watchers, or record with `brain snapshot`",
            ) from error

    def _listen(self) -> None:
        try:
            from watchfiles import watch

            for changes in watch(
                self._root,
                watch_filter=None,
                debounce=_BATCH_MILLISECONDS,
                step=_BATCH_MILLISECONDS,
                stop_event=self._stop,
                rust_timeout=0,
                debug=False,
                force_polling=False,
                ignore_permission_denied=True,
            ):
                self._change_queue.put(changes)
        except Exception as error:  # noqa: BLE001 (`wait` raises it)
            self._listener_error = error
            self._stop.is_watching.set()
            self._change_queue.put(None)

    def _to_changes(self, changed_paths: Iterable[str]) -> ObservedChanges:
        paths = {os.path.relpath(path, self._root).replace(os.sep, "/") for path in changed_paths}
        if "." in paths and not os.path.isdir(self._root):
            raise NoBrain(
                f"the brain is gone from {self._root}",
                hint="if the folder was moved, start `brain watch` there",
            )
        paths = {path for path in paths if self._is_relevant(path)}
        if IGNORE_FILE_NAME in paths:
            with suppress(InvalidInput):  # recording reports invalid rules
                self._rules = IgnoreRules.load(self._root)
        if IGNORE_FILE_NAME in paths or len(paths) > MAX_CHANGED_PATHS:
            return ObservedChanges(rescan_needed=True)
        return ObservedChanges(frozenset(paths))

    def _is_relevant(self, path: str) -> bool:
        """Tell whether a brain can hold a file at `path`: not ignored, not behind a link."""
        if path == "." or path.startswith("../"):
            return False
        parts = path.split("/")
        for depth, name in enumerate(parts[:-1]):
            folder = "/".join(parts[: depth + 1])
            if self._rules.is_ignored(folder, name, True):
                return False
            if os.path.islink(os.path.join(self._root, folder)):
                return False
        is_folder = os.path.isdir(os.path.join(self._root, path))
        return not self._rules.is_ignored(path, parts[-1], is_folder)
