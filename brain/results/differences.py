"""What differs between two states."""

from __future__ import annotations

from typing import NamedTuple

Version = int | str


class Change(NamedTuple):
    """A changed path; `before` and `after` are blob ids, `from_path` is set for a rename.

    `change` is added, removed, modified or renamed.
    """

    path: str
    section: str
    change: str
    before: str | None
    after: str | None
    from_path: str | None


class SkillChange(NamedTuple):
    """A changed skill; `change` is added, removed, upgraded or changed."""

    slug: str
    change: str
    from_version: Version | None
    to_version: Version | None
    name: str


class Diff(NamedTuple):
    """Bundle against bundle, or the head against the folder (`to` is then "")."""

    from_: str
    to: str
    changes: list[Change]
    skills: list[SkillChange]


class Stat(NamedTuple):
    """Lines of one changed file; -1 and -1 for a binary file."""

    path: str
    added: int
    removed: int


class Content(NamedTuple):
    """What a path holds: `type` is file, executable or link, `size` is in bytes."""

    type: str
    size: int
    blob: str


class Unshown(NamedTuple):
    """A changed file whose content a patch leaves out; a side is None where there is no file.

    `reason` is binary, too_large or redacted.
    """

    path: str
    from_path: str | None
    reason: str
    before: Content | None
    after: Content | None
