"""The `Selector` protocol, and the catalogue of skills that selectors rank."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Protocol
else:  # nothing checks protocols at run time, where making them takes 3 ms
    Protocol = object


class SearchDocument(NamedTuple):
    """What is known of a skill without reading its body.

    `path` is that of its SKILL.md below skills/, `blob` the id of its content.
    """

    path: str
    slug: str
    name: str
    description: str
    blob: bytes

    @property
    def category(self) -> str:
        """The folders above the skill's own, "" if there are none."""
        parts = self.path.split("/")
        return "/".join(parts[:-2] if parts[-1].lower() == "skill.md" else parts[:-1])


class RankedSkill(NamedTuple):
    """A skill, and how well it fits: the greater the score the better.

    Scores of different selectors have nothing to do with each other. `path` tells skills
    of one slug apart.
    """

    slug: str
    score: float
    path: str


class Selector(Protocol):
    """One way to rank skills by how much a task needs them."""

    def rank(self, task: str, limit: int) -> list[RankedSkill]:
        """Return at most `limit` skills that fit the task, the best first.

        From 0 down, `limit` takes all skills there are, those that do not fit at the end
        with a score of 0.
        """


class CatalogueListener(Protocol):
    """Whoever keeps something for each skill, and wants to know of changes."""

    def apply_change(self, gone: Iterable[SearchDocument], came: Iterable[SearchDocument]) -> None:
        """Take the change in: first `gone` goes, then `came` comes."""


class SkillCatalogue:
    """The skills of one state of a brain, by path."""

    def __init__(self) -> None:
        self.documents: dict[str, SearchDocument] = {}
        self._listeners: list[CatalogueListener] = []

    def subscribe(self, listener: CatalogueListener) -> None:
        """Tell `follower` of all skills, and of every change from now on."""
        listener.apply_change((), self.documents.values())
        self._listeners.append(listener)

    def update(self, removed: Iterable[str], added: Iterable[SearchDocument]) -> None:
        """Take skills out by their paths, and put others in; the same path may do both."""
        new = {document.path: document for document in added}
        paths = {*removed, *new}
        old = [self.documents.pop(path) for path in paths if path in self.documents]
        self.documents.update(new)
        for listener in self._listeners:
            listener.apply_change(old, new.values())
