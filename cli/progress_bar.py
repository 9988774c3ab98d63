"""A progress bar on stderr for work that takes longer than a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from .terminal import is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY_SECONDS = 1.0
"""Seconds before a bar appears."""


class BarOwner(Protocol):
    """Where the bar that the terminal shows is registered; see `App`."""

    as_json: bool
    progress_bar: ProgressBar | None


class ProgressBar:
    """A callable `(what, done, total)` for the library; use it in a `with` block."""

    def __init__(self, app: BarOwner) -> None:
        self._app = app
        self._is_enabled = is_terminal(sys.stderr) and not app.as_json
        self._start = time.monotonic()
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show `done` of `total` (0: unknown) of the work named `what`."""
        if not self._is_enabled or time.monotonic() - self._start < DELAY_SECONDS:
            return
        progress = self._progress or self._start_progress()
        if what not in self._tasks:
            self._tasks[what] = progress.add_task(what, total=None)
        progress.update(self._tasks[what], completed=done, total=total or None)

    def __enter__(self) -> ProgressBar:
        """Start the clock; stop another bar, because a terminal shows one."""
        if self._app.progress_bar is not None:
            self._app.progress_bar.stop()
        self._app.progress_bar = self
        self._start = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the bar."""
        self.stop()

    def stop(self) -> None:
        """Remove the bar from the terminal."""
        self._app.progress_bar = None
        if self._progress is not None:
            self._progress.stop()

    def _start_progress(self) -> Progress:
        from rich.console import Console
        from rich.progress import Progress

        self._progress = Progress(console=Console(stderr=True), transient=True)
        self._progress.start()
        return self._progress
