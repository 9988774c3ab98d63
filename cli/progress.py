"""A bar on stderr for work that takes longer than a second, where a person looks."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from .context import App
from .terminal import is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

WAIT = 1.0
"""Seconds before a bar appears."""


class Bar:
    """A callable `(what, done, total)` for the library; use it in a `with` block."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._shown = is_terminal(sys.stderr) and not app.json
        self._start = time.monotonic()
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show `done` of `total` (0: unknown) of the work named `what`."""
        if not self._shown or time.monotonic() - self._start < WAIT:
            return
        progress = self._progress or self._open()
        if what not in self._tasks:
            self._tasks[what] = progress.add_task(what, total=None)
        progress.update(self._tasks[what], completed=done, total=total or None)

    def __enter__(self) -> Bar:
        """Start the clock; a bar that is there gives way, for a terminal shows one."""
        if self._app.bar is not None:
            self._app.bar.stop()
        self._app.bar = self
        self._start = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self.stop()

    def stop(self) -> None:
        """Take the bar away; the next one is another."""
        self._app.bar = None
        if self._progress is not None:
            self._progress.stop()

    def _open(self) -> Progress:
        from rich.console import Console
        from rich.progress import Progress

        self._progress = Progress(console=Console(stderr=True), transient=True)
        self._progress.start()
        return self._progress
