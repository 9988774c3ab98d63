"""What branches and forks return."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .merges import MergeConflict


class Branch(NamedTuple):
    """A branch and the snapshot it stands at."""

    name: str
    snapshot: str
    current: bool


class Branches(NamedTuple):
    """All branches by name, the snapshot of the current one, and the conflicts it waits for."""

    snapshot: str
    branches: list[Branch]
    conflicts: list[MergeConflict]


class Switched(NamedTuple):
    """The outcome of a switch; path lists are sorted.

    `redacted` are files of the branch that cannot be written, for their content is gone.
    """

    branch: str
    snapshot: str
    written: list[str]
    removed: list[str]
    redacted: list[str]
    conflicts: list[MergeConflict]


class Forked(NamedTuple):
    """A new brain that begins where another one stood, at the snapshot `origin`."""

    brain: str
    snapshot: str
    origin: str
    path: str
    conflicts: list[MergeConflict]


class Ancestry(NamedTuple):
    """Whether one snapshot descends from another, and a way down, newest first.

    Each step of `path` is named in the snapshot before it: as a parent, as its
    jump, or as what a fork came from.
    """

    descends: bool
    ancestor: str
    descendant: str
    path: list[str]
