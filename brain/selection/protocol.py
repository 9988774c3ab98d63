"""What a selector is, and what it chooses among."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Protocol
else:  # nothing checks protocols at run time, where making them takes 3 ms
    Protocol = object


class Document(NamedTuple):
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


class Ranked(NamedTuple):
    """A skill, and how well it fits: the greater the score the better.

    Scores of different selectors have nothing to do with each other. `path` tells skills
    of one slug apart.
    """

    slug: str
    score: float
    path: str


class Selector(Protocol):
    """One way to rank skills by how much a task needs them."""

    def rank(self, task: str, limit: int) -> list[Ranked]:
        """Return at most `limit` skills that fit the task, the best first.

        From 0 down, `limit` takes all skills there are, those that do not fit at the end
        with a score of 0.
        """


class Follower(Protocol):
    """Whoever keeps something for each skill, and wants to know of changes."""

    def follow(self, gone: Iterable[Document], came: Iterable[Document]) -> None:
        """Take the change in: first `gone` goes, then `came` comes."""
