"""What became of the folder and the brain as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .ledgers import Committed, NotCommitted
    from .merges import MergeConflict
    from .notices import Notice


class Init(NamedTuple):
    """A new brain."""

    brain: str
    snapshot: str
    path: str


class Status(NamedTuple):
    """The folder against the head; path lists are sorted.

    `merging` is what a merge that waits was called, None if there is none, and
    `conflicts` what it waits for.
    """

    brain: str
    head: str
    branch: str
    clean: bool
    added: list[str]
    modified: list[str]
    removed: list[str]
    notices: list[Notice]
    merging: str | None
    conflicts: list[MergeConflict]


class Recorded(NamedTuple):
    """The outcome of a snapshot; counts are files.

    `commitment` is there if the manifest asks for one.
    """

    snapshot: str
    bundle: str
    parents: list[str]
    changed: bool
    added: int
    modified: int
    removed: int
    notices: list[Notice]
    commitment: Committed | NotCommitted | None


class Watched(NamedTuple):
    """A snapshot of what a watcher saw change, which `message` says; the rest as in `Recorded`."""

    snapshot: str
    bundle: str
    parents: list[str]
    time: int
    message: str
    added: int
    modified: int
    removed: int
    notices: list[Notice]
    commitment: Committed | NotCommitted | None


class Restored(NamedTuple):
    """The outcome of a restore, an undo or a redo; path lists are sorted.

    `redacted` are files that were left alone, for their earlier content is gone.
    """

    snapshot: str
    written: list[str]
    removed: list[str]
    redacted: list[str]
