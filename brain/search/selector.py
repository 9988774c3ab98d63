"""The `Selector` protocol, and the catalogue of skills that selectors rank."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..skills import skill_layout

if TYPE_CHECKING:
    from typing import Protocol
else:  # protocols are for type checkers only; creating them takes 3 ms
    Protocol = object


class SearchDocument(NamedTuple):
    """The metadata of a skill that selectors rank by.

    `path` is the full one of its SKILL.md, `blob` the id of its content.
    """

    path: str
    slug: str
    name: str
    description: str
    blob: bytes

    @property
    def category(self) -> str:
        """The folders above the skill's own, "" if there are none."""
        return skill_layout.category_from_path(self.path)


class RankedSkill(NamedTuple):
    """A skill and its score; a greater score is a better fit.

    Scores of different selectors are not comparable. `path` distinguishes skills of one
    slug.
    """

    slug: str
    score: float
    path: str


class Selector(Protocol):
    """One way to rank skills by how much a task needs them."""

    def rank(self, task: str, limit: int) -> list[RankedSkill]:
        """Return at most `limit` skills that fit the task, the best first.

        A `limit` of 0 or less means all skills; those that do not fit come last, with a
        score of 0.
        """


class CatalogueListener(Protocol):
    """A selector with data for each skill, which is notified of changes."""

    def apply_change(
        self, removed: Iterable[SearchDocument], added: Iterable[SearchDocument]
    ) -> None:
        """Remove the data of `removed` skills, then add that of `added` ones."""


class SkillCatalogue:
    """The skills of one state of a brain, by path."""

    def __init__(self) -> None:
        self.documents: dict[str, SearchDocument] = {}
        self._listeners: list[CatalogueListener] = []

    def subscribe(self, listener: CatalogueListener) -> None:
        """Notify `listener` of all skills now, and of every later change."""
        listener.apply_change((), self.documents.values())
        self._listeners.append(listener)

    def update(self, removed: Iterable[str], added: Iterable[SearchDocument]) -> None:
        """Remove skills by path and add others; a path may be in both."""
        new = {document.path: document for document in added}
        paths = {*removed, *new}
        old = [self.documents.pop(path) for path in paths if path in self.documents]
        self.documents.update(new)
        for listener in self._listeners:
            listener.apply_change(old, new.values())
