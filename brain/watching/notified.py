"""Watching where there is no inotify: what watchfiles hears from the system.

It does not say which files are still open, so that only quiet tells when a change is over,
and it may lose changes when very many come at once: then all is looked at.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterable
from pathlib import Path

from ..errors import BrainError, InvalidInput, NoBrain, printable
from ..worktree.ignore import NAME, IgnoreRules
from .events import Seen

MANY = 1000
"""Changed paths at a time from which on all is looked at."""
_STEP = 50
"""Milliseconds in which what belongs together comes in."""


class Notified:
    """An `Events` of any system; see there."""

    def __init__(self, root: Path, rules: IgnoreRules) -> None:
        from watchfiles._rust_notify import RustNotify

        self._root = os.path.realpath(root)
        self._rules = rules
        self._news: queue.SimpleQueue[set[tuple[int, str]] | Exception | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        try:
            self._source = RustNotify([self._root], False, False, 0, True, True)
        except OSError as error:
            raise _refused(error) from error
        self._thread = threading.Thread(target=self._listen, name="brain-watch", daemon=True)
        self._thread.start()

    def wait(self, seconds: float | None) -> Seen:
        """Return what changed, as soon as something does; nothing after `seconds` or `wake`."""
        try:
            news = self._news.get(timeout=seconds)
        except queue.Empty:
            return Seen()
        if isinstance(news, Exception):
            raise _refused(news) from news
        return self._seen(path for _, path in news or ())

    def wake(self) -> None:
        """Let `wait` return."""
        self._news.put(None)

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()
        self._thread.join()
        self._source.close()

    def _listen(self) -> None:
        while True:
            try:
                found = self._source.watch(_STEP, _STEP, 0, self._stop)
            except Exception as error:  # noqa: BLE001  told where it is waited for
                self._news.put(error)
                return
            if isinstance(found, str):
                return
            self._news.put(found)

    def _seen(self, found: Iterable[str]) -> Seen:
        paths = {os.path.relpath(path, self._root).replace(os.sep, "/") for path in found}
        if "." in paths and not os.path.isdir(self._root):
            raise NoBrain(f"the brain is gone from {printable(self._root)}")
        paths = {path for path in paths if self._minds(path)}
        if NAME in paths:
            self._read_rules()
        everything = NAME in paths or len(paths) > MANY
        return Seen(frozenset() if everything else frozenset(paths), everything)

    def _minds(self, path: str) -> bool:
        """Tell whether the brain holds what is at `path`, which links may lead to."""
        if path == "." or path.startswith("../"):
            return False
        parts = path.split("/")
        for depth, name in enumerate(parts[:-1]):
            above = "/".join(parts[: depth + 1])
            if self._rules.ignored(above, name, True):
                return False
            if os.path.islink(os.path.join(self._root, above)):
                return False
        is_folder = os.path.isdir(os.path.join(self._root, path))
        return not self._rules.ignored(path, parts[-1], is_folder)

    def _read_rules(self) -> None:
        try:
            self._rules = IgnoreRules.load(self._root)
        except InvalidInput:
            return


def _refused(error: Exception) -> BrainError:
    return BrainError(
        f"the system cannot watch the folder: {printable(error)}", code="cannot_watch"
    )
