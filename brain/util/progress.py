"""Progress of long work, as callers receive it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with the kind of work, how much of it is done, and the total (0 if unknown)."""


def no_progress(work: str, done: int, total: int) -> None:
    """Report nothing."""
