"""What an agent reads first: the index of its skills, and the system prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .opened import Opened

if TYPE_CHECKING:
    from .. import results
    from ..repo.index.skill_index import IndexRequest
    from ..skills.index_lines import TokenCounter


class Reading(Opened):
    """The Level-0 index and the system prompt.

    `limit` is in characters a description, `budget` in tokens of the whole index, which
    `count` counts; without it they are estimated as bytes / 4. With `task` there are only
    the `top` skills that the task needs; `by` is as for `select`.
    """

    def index(
        self,
        rev: str = "@",
        limit: int | None = None,
        budget: int | None = None,
        *,
        task: str | None = None,
        top: int = 10,
        by: str = "",
        count: TokenCounter | None = None,
    ) -> results.Index:
        """Return the Level-0 index: one line per skill, by name.

        Where the budget does not allow that, descriptions are cut, then left out, then
        skills are; each author has a share of it. Raises `InvalidInput` (`bad_limit`,
        `bad_selector`).
        """
        from ..repo.index import skill_index

        return self._do(skill_index.read_index, rev, _measure(limit, budget, task, top, by, count))

    def index_pages(
        self,
        rev: str = "@",
        limit: int | None = None,
        budget: int | None = None,
        *,
        task: str | None = None,
        top: int = 10,
        by: str = "",
        count: TokenCounter | None = None,
    ) -> list[bytes]:
        """Return the text of `index` and a newline, in pieces of UTF-8 to be written one by one.

        For a hundred thousand skills this is faster than making one text of them.
        """
        from ..repo.index import skill_index

        return self._do(
            skill_index.read_index_pages, rev, _measure(limit, budget, task, top, by, count)
        )

    def framed_index(
        self,
        rev: str = "@",
        limit: int | None = None,
        budget: int | None = None,
        *,
        task: str | None = None,
        top: int = 10,
        by: str = "",
        count: TokenCounter | None = None,
    ) -> str:
        """Return the text of `index` in the frame it has in the prompt.

        The frame says that this is data and whose, and nothing inside can close it.
        """
        from ..repo.index import system_prompt

        return self._do(
            system_prompt.build_framed_index, rev, _measure(limit, budget, task, top, by, count)
        )

    def prompt(
        self,
        rev: str = "@",
        limit: int | None = None,
        budget: int | None = None,
        *,
        task: str | None = None,
        top: int = 10,
        by: str = "",
        count: TokenCounter | None = None,
    ) -> results.Prompt:
        """Return the system prompt: system.md, fragments, index, memory.

        All but `rev` is about the index, and as there.
        """
        from ..repo.index import system_prompt

        return self._do(
            system_prompt.build_prompt, rev, _measure(limit, budget, task, top, by, count)
        )


def _measure(
    limit: int | None,
    budget: int | None,
    task: str | None,
    top: int,
    by: str,
    count: TokenCounter | None,
) -> IndexRequest:
    from ..repo.index.skill_index import IndexRequest

    made = IndexRequest(limit, budget)
    if task is not None:
        from ..repo.search.select import SelectionRequest

        made = made._replace(selection_request=SelectionRequest(task, top, by))
    return made._replace(count_tokens=count) if count else made
