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
from typing import TYPE_CHECKING

from ..errors import BrainError, InvalidInput, NoBrain, printable
from ..worktree.ignore import NAME, IgnoreRules
from .events import Seen

if TYPE_CHECKING:
    from watchfiles import Change

MANY = 1000
"""Changed paths at a time from which on all is looked at."""
_STEP = 50
"""Milliseconds in which what belongs together comes in."""


class _Stop:
    """What watchfiles asks for the end, again and again from when on it watches."""

    def __init__(self) -> None:
        self.watching = threading.Event()
        self.wanted = False

    def is_set(self) -> bool:
        """Tell whether to end."""
        self.watching.set()
        return self.wanted


class Notified:
    """An `Events` of any system; see there."""

    def __init__(self, root: Path, rules: IgnoreRules) -> None:
        self._root = os.path.realpath(root)
        self._rules = rules
        self._news: queue.SimpleQueue[set[tuple[Change, str]] | None] = queue.SimpleQueue()
        self._fault: Exception | None = None
        self._stop = _Stop()
        self._thread = threading.Thread(target=self._listen, name="brain-watch", daemon=True)
        self._thread.start()
        self._stop.watching.wait()
        self._check()

    def wait(self, seconds: float | None) -> Seen:
        """Return what changed, as soon as something does; nothing after `seconds` or `wake`."""
        try:
            news = self._news.get(timeout=seconds)
        except queue.Empty:
            return Seen()
        self._check()
        return self._seen(path for _, path in news or ())

    def wake(self) -> None:
        """Let `wait` return."""
        self._news.put(None)

    def close(self) -> None:
        """Stop watching."""
        self._stop.wanted = True
        self._thread.join()

    def _check(self) -> None:
        if self._fault is not None:
            raise _refused(self._fault) from self._fault

    def _listen(self) -> None:
        from watchfiles import watch

        try:
            for found in watch(
                self._root,
                watch_filter=None,
                debounce=_STEP,
                step=_STEP,
                stop_event=self._stop,
                rust_timeout=0,
                debug=False,
                force_polling=False,
                ignore_permission_denied=True,
            ):
                self._news.put(found)
        except Exception as error:  # noqa: BLE001  told where it is waited for
            self._fault = error
            self._stop.watching.set()
            self._news.put(None)

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
