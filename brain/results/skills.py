"""Skills: listed, viewed, checked."""

from __future__ import annotations

from typing import Any, NamedTuple

Version = int | str


class Skill(NamedTuple):
    """One line of the list of skills."""

    slug: str
    name: str
    description: str
    version: Version
    path: str


class SkillView(NamedTuple):
    """One skill with its text."""

    slug: str
    name: str
    description: str
    version: Version
    path: str
    snapshot: str
    front_matter: dict[str, Any]
    body: str
    files: list[str]


class SkillFile(NamedTuple):
    """One file of a skill as it stands at a snapshot; `file` is relative, "" for its own text.

    `files` are the others that the skill has.
    """

    slug: str
    name: str
    description: str
    version: Version
    path: str
    snapshot: str
    file: str
    content: bytes
    files: list[str]


class SkillVersion(NamedTuple):
    """A snapshot in which a skill changed.

    `change` is added, renamed (so it came to `path`), upgraded, changed or removed.
    """

    version: Version
    snapshot: str
    time: int
    author: str
    change: str
    path: str
    message: str


class SkillProblem(NamedTuple):
    """A rule of agentskills.io, or of the clients, that a skill breaks."""

    slug: str
    path: str
    code: str
    severity: str
    line: int
    message: str
