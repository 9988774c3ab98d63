"""What a family of tasks is, and the words that its instances are made of."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

Files = dict[str, str]
"""Texts by their path in the folder of a task."""
Answer = dict[str, Any]

WORDS = (
    "amber birch cedar delta ember fjord grove heron inlet jetty knoll larch maple north".split()
)
PEOPLE = "ada ben cho dee eli fay".split()


class Family(NamedTuple):
    """One kind of task: what is asked, how an instance is made, and how it is solved.

    `solve` is given the files, the place that the instruction names, and whether it knows the
    `lesson`. If it does it is the oracle; if not it does what anybody would, and falls into the
    trap. It stands alone, with its own imports, since its source goes into the tasks and into
    the scripted learner. Each key of its answer is a test.
    """

    category: str
    place: str
    """A file or folder; `{tag}` in it differs from instance to instance."""
    instruction: str
    """With `{place}` in it, where an instance has its own."""
    lesson: str
    make: Callable[[Random, str], Files]
    """Make the files of an instance, given its place."""
    solve: Callable[[Files, str, bool], Answer]

    @property
    def name(self) -> str:
        """The name of the family, as in `decimal-comma`."""
        return self.solve.__name__.strip("_").replace("_", "-")


def join_lines(rows: list[str]) -> str:
    """Return rows as a text file."""
    return "\n".join(rows) + "\n"
