"""The skills that matter now, of all there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .opened import Opened

if TYPE_CHECKING:
    from .. import results


class Selecting(Opened):
    """Selection for a task."""

    def select(
        self, task: str, limit: int = 10, *, by: str = "", rev: str = "@"
    ) -> list[results.Selected]:
        """Return at most `limit` skills that `task` needs, the best first; from 0 down, all.

        `by` is "keyword", "bm25", "embedding" or "hybrid", by default the best that works
        here. What is read of the head is kept, so only the first call takes long. Raises
        `InvalidInput` (`bad_selector`).
        """
        from ..actions import selecting

        return self._do(selecting.select, selecting.Wanted(task, limit, by), rev)
