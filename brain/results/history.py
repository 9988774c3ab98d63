"""Results about history: the log, diffs, blame and the operation log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .named_tuple import NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from .common import SnapshotInfo, Version
    from .trust import Signature


class SectionInfo(NamedTuple):
    """A section of a bundle: the id of its tree, its files and bytes."""

    root: str
    files: int
    bytes: int


class SnapshotDetails(NamedTuple):
    """A snapshot, its sections and signatures, and what it changed in its first parent.

    Only valid signatures are listed; verification also reports invalid ones and the rights
    of the keys. `verdict` is that of a decision about a skill, None for any other snapshot and
    for a verdict that cannot be read.
    """

    info: SnapshotInfo
    counts: dict[str, int]
    sections: dict[str, SectionInfo]
    signatures: list[Signature]
    changes: list[PathChange]
    skills: list[SkillChange]
    verdict: dict[str, Any] | None


class Operation(NamedTuple):
    """An entry of the operation log; `refs` maps a ref to its [old, new] snapshot."""

    operation: str
    number: int
    time: datetime
    author: str
    kind: str
    description: str
    refs: dict[str, list[str]]


class PathChange(NamedTuple):
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
    """A changed skill; `change` is added, removed, renamed, upgraded or changed.

    `from_slug` is set for a rename. `path` is that of its SKILL.md or flat file, before if it was
    removed.
    """

    slug: str
    change: str
    from_version: Version | None
    to_version: Version | None
    name: str
    from_slug: str | None = None
    path: str = ""


class Diff(NamedTuple):
    """The differences of two bundles; `to` is "" for the folder, `from_` "" for no snapshot."""

    from_: str
    to: str
    changes: list[PathChange]
    skills: list[SkillChange]


class DiffStat(NamedTuple):
    """Lines of one changed file; -1 and -1 for a binary file."""

    path: str
    added: int
    removed: int


class FileState(NamedTuple):
    """The content of a path: `type` is file, executable or link, `size` is in bytes."""

    type: str
    size: int
    blob: str


class UndiffableFile(NamedTuple):
    """A changed file whose content a patch leaves out; a side is None for an added or removed file.

    `reason` is binary, too_large or redacted.
    """

    path: str
    from_path: str | None
    reason: str
    before: FileState | None
    after: FileState | None


class BlameLine(NamedTuple):
    """A line of a skill and the snapshot that wrote it; `line` counts from 1."""

    line: int
    text: str
    snapshot: str
    author: str
    time: datetime
    message: str
    receipt: str | None


class GrepMatch(NamedTuple):
    """A line that matches a pattern; `line` counts from 1."""

    path: str
    line: int
    text: str
