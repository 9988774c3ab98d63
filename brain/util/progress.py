"""Report the progress of long work."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and of how many (0 if unknown)."""


def no_progress(what: str, done: int, total: int) -> None:
    """Report nothing."""
