"""`brain.prompt`: the index of skills and the system prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from ..repo.part import Part

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from .. import results
    from ..ops.prompt import IndexRequest
    from ..skills.index_lines import TokenCounter


class IndexOptions(TypedDict, total=False):
    """Keywords of all methods of `PromptPart`: which skills the index shows, and how long it is."""

    max_chars: int | None
    """Characters of one description."""
    budget: int | None
    """Tokens of the whole index."""
    count: TokenCounter | None
    """Counts tokens; by default bytes / 4."""
    task: str | None
    """Include only the skills that fit this task."""
    top: int
    """Number of skills for `task`; by default 10."""
    by: str
    """Selector for `task`, as for `brain.skills.rank`."""


class PromptPart(Part):
    """Build the index and the system prompt; the keywords are those of `IndexOptions`."""

    def build_index(self, rev: str = "@", **options: Unpack[IndexOptions]) -> results.Index:
        """Return the Level-0 index: one line per skill, by name.

        To fit the budget, descriptions are cut, then dropped, then skills are dropped.
        Raises `InvalidInput` (`bad_limit`, `bad_selector`).
        """
        from ..ops import prompt

        return self._locked.run(prompt.read_index, rev, _index_request(options))

    def build_framed_index(self, rev: str = "@", **options: Unpack[IndexOptions]) -> str:
        """Return the text of `build_index` between the delimiters it has in the prompt.

        They mark it as data of this brain; no text inside can close them. A last line names
        the snapshot and its signers.
        """
        from ..ops import prompt

        return self._locked.run(prompt.build_framed_index, rev, _index_request(options))

    def build_framed_memory(
        self,
        rev: str = "@",
        *,
        max_size: int,
        measure: Callable[[str], int] = len,
        how: str = "the tool memory",
    ) -> str:
        """Return the newest entries of memory, a line each, between delimiters; "" for none.

        They take at most `max_size` by `measure`. `how` says what shows the others.
        """
        from ..ops import prompt

        return self._locked.run(prompt.build_framed_memory, rev, max_size, measure, how)

    def build_framed_page(
        self, rev: str = "@", *, after: str = "", page_chars: int = 16_000
    ) -> results.IndexPage:
        """Return as many framed lines of the index as fit, behind the skill `after`.

        `after` is the address of a skill, "" for the first page.
        """
        from ..ops import prompt

        return self._locked.run(prompt.build_framed_page, rev, after, page_chars)

    def build_pages(
        self, rev: str = "@", *, page_chars: int = 32_000, **options: Unpack[IndexOptions]
    ) -> list[str]:
        """Return the text of `build` in pages of at most `page_chars` characters.

        Each frame is whole on one page. The budget must limit the index to a page.
        """
        from ..ops import prompt

        request = _index_request(options)
        return self._locked.run(prompt.build_prompt_pages, rev, request, page_chars)

    def build(self, rev: str = "@", **options: Unpack[IndexOptions]) -> results.Prompt:
        """Return the system prompt: system.md, fragments, index, memory."""
        from ..ops import prompt

        return self._locked.run(prompt.build_prompt, rev, _index_request(options))


def _index_request(options: IndexOptions) -> IndexRequest:
    from ..ops.prompt import IndexRequest

    request = IndexRequest(limit=options.get("max_chars"), budget=options.get("budget"))
    task, count = options.get("task"), options.get("count")
    if task is not None:
        from ..repo.select import SelectionRequest

        selection = SelectionRequest(task, options.get("top", 10), options.get("by", ""))
        request = request._replace(selection_request=selection)
    return request._replace(count_tokens=count) if count else request
