"""The labelled set: skills, and tasks of which each needs one of them.

A line of `skills_*.txt` is a skill: slug, description, body, and its tasks, each with the
letter of its kind. `tasks.txt` has more of them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from brain.digest import blob_id
from brain.selection.protocol import Document

KINDS = {
    "t": "as one gives work to an agent",
    "p": "a question in usual words",
    "s": "a situation, in other words than the skill has",
    "m": "misspelled",
}


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
    for file in sorted(Path(__file__).parent.glob("skills_*.txt")):
        for line in file.read_text("utf-8").splitlines():
            slug, description, body, *tasks = line.split(" | ")
            path = f"{slug}/SKILL.md"
            blob = blob_id(f"{slug}\n{description}\n{body}".encode())
            made.skills.append((Document(path, slug, slug, description, blob), body))
            made.tasks.extend(Task(*task.split(":", 1), slug) for task in tasks)
    known = {document.slug for document, _ in made.skills}
    for line in (Path(__file__).parent / "tasks.txt").read_text("utf-8").splitlines():
        slug, task = line.split(" | ")
        assert slug in known, slug
        made.tasks.append(Task("t", task, slug))
    return made
