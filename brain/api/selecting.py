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

        See `selection`, which tells also how they were found.
        """
        return self.selection(task, limit, by=by, rev=rev).skills

    def selection(
        self, task: str, limit: int = 10, *, by: str = "", rev: str = "@"
    ) -> results.Selection:
        """Return at most `limit` skills that `task` needs, and what found them.

        `by` is "keyword", "bm25", "embedding", "hybrid" (the last two together), or "" for
        the best there is: "embedding" with an embedder, else "bm25". Where the embedder
        fails it is "bm25", and `fallback` says why; "embedding" asked for by name raises
        `ModelError` or `InvalidInput` (`bad_embedder`, `no_key`, `key_readable`) then. What is
        read of the head is kept, so only the first call takes long. Raises `InvalidInput`
        (`bad_selector`) or `NotFound` (`no_embedder`).
        """
        from ..repo.search import select

        return self._do(select.select_skills, select.SelectionRequest(task, limit, by), rev)

    def similar_skills(
        self,
        name: str,
        description: str | None = None,
        body: str | bytes | None = None,
        limit: int = 5,
    ) -> list[results.Similar]:
        """Return what a skill that is to be made would nearly duplicate, the likest first.

        Nothing is found where a skill has that name: writing to it improves it. Raises
        `InvalidInput` for a name that none can have.
        """
        from ..repo.skills import similar_new

        content = body.encode() if isinstance(body, str) else body
        return self._do(similar_new.find_similar_if_new, name, description, content, limit)

    def similar_to(self, slug: str, limit: int = 5) -> list[results.Similar]:
        """Return the skills that one is much like, the likest first. Raises `NotFound`."""
        from ..repo.skills import similar

        return self._do(similar.find_similar_to_skill, slug, limit)
