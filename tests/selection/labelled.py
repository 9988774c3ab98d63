"""The labelled set: skills, and tasks of which each needs one of them.

A line of `skills_*.txt` is a skill: slug, description, body, and its tasks, each with the
letter of its kind. `tasks.txt` has more of them. Some tasks are once more there with
mistakes of typing, which a seeded generator made.
"""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from brain.digest import blob_id
from brain.selection.protocol import Document

KINDS = {
    "t": "as one gives work to an agent",
    "s": "a situation, in other words than the skill has",
    "m": "misspelled",
}
HERE = Path(__file__).parent
MISTYPED = 60
"""Tasks of kind t that are there again with mistakes."""
_LONG = re.compile(r"[a-z]{5,}")


class Task(NamedTuple):
    """What somebody asks, the kind of it, and the slug of the skill it needs."""

    kind: str
    text: str
    slug: str


class Labelled(NamedTuple):
    """Skills, each with its body, and tasks."""

    skills: list[tuple[Document, str]]
    tasks: list[Task]

    @property
    def documents(self) -> list[Document]:
        """The skills without their bodies."""
        return [document for document, _ in self.skills]


@cache
def load() -> Labelled:
    """Return the whole set."""
    made = Labelled([], [])
    for file in sorted(HERE.glob("skills_*.txt")):
        for line in file.read_text("utf-8").splitlines():
            slug, description, body, *tasks = line.split(" | ")
            blob = blob_id(f"{slug}\n{description}\n{body}".encode())
            document = Document(f"{slug}/SKILL.md", slug, slug, description, blob)
            made.skills.append((document, body))
            made.tasks.extend(_task(task, slug) for task in tasks)
    for line in (HERE / "tasks.txt").read_text("utf-8").splitlines():
        slug, text = line.split(" | ")
        made.tasks.append(Task("t", text, slug))
    made.tasks.extend(_mistyped([task for task in made.tasks if task.kind == "t"]))
    return made


def _task(text: str, slug: str) -> Task:
    kind, _, asked = text.partition(":")
    return Task(kind, asked, slug)


def _mistyped(tasks: list[Task]) -> list[Task]:
    rng = random.Random(20_261)
    some = rng.sample(tasks, MISTYPED)
    made = [task._replace(kind="m", text=_with_mistakes(task.text, rng)) for task in some]
    return [new for new, old in zip(made, some, strict=True) if new.text != old.text]


def _with_mistakes(text: str, rng: random.Random) -> str:
    """Return a text with one mistake in half of its longer words."""

    def wrong(found: re.Match[str]) -> str:
        word = found[0]
        if rng.random() < 0.5:
            return word
        at = rng.randrange(1, len(word) - 1)
        kind = rng.choice(("drop", "double", "swap", "other"))
        if kind == "drop":
            return word[:at] + word[at + 1 :]
        if kind == "double":
            return word[:at] + word[at] + word[at:]
        if kind == "swap":
            return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        return word[:at] + rng.choice("aeiourstln") + word[at + 1 :]

    return _LONG.sub(wrong, text)
