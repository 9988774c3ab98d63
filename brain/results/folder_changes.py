"""Results of changes to the folder: recorded, restored, redacted, collected, adopted, published."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .common import Committed, NotCommitted, Notice
    from .merges import MergeConflict


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


class Redacted(NamedTuple):
    """The outcome of a redaction; `removed` are the files of the head that held it, sorted.

    `branches` are other branches whose heads still list it. `scrubbed` is False if old
    pages of the store, in which it may still be found, could not be given back yet.
    """

    snapshot: str
    path: str
    blobs: list[str]
    removed: list[str]
    branches: list[str]
    scrubbed: bool


class Collected(NamedTuple):
    """The outcome of a collection; sizes are in bytes on disk, counts are objects.

    `compacted` is False if the space could not be given back yet.
    """

    snapshot: str
    removed: int
    kept: int
    bytes: int
    before: int
    after: int
    compacted: bool


class Imported(NamedTuple):
    """States of a source, recorded: where its branch stands now, and how many were new.

    `left` is what a brain cannot hold.
    """

    snapshot: str
    branch: str
    steps: int
    left: list[Notice]


class AdoptedFile(NamedTuple):
    """A file that was taken: where it is in the brain, and where it came from in the source."""

    path: str
    source: str


class Adopted(NamedTuple):
    """The outcome of an adoption.

    `path` is the folder of the brain, `source` what was adopted. `branch` is where the
    states of the source are recorded, None where the brain is the source itself. `steps` is
    how many states were new. `brain` and `snapshot` are None where nothing was to be written.
    With `conflicts` what is new waits on the branch until they are resolved. `notices` name
    skills among what was taken whose names deceive.
    """

    brain: str | None
    snapshot: str | None
    path: str
    kind: str
    source: str
    in_place: bool
    branch: str | None
    steps: int
    changed: bool
    taken: list[AdoptedFile]
    left_out: list[Notice]
    conflicts: list[MergeConflict]
    notices: Sequence[Notice] = ()


class Published(NamedTuple):
    """The outcome of publishing; paths are those below `path`, the folder of the client.

    `written`, `removed` and `unchanged` are files of this brain there. With `conflicts`,
    files that somebody else wrote or changed, nothing was written. `left_out` are files of
    the brain that have no place there, or cannot be as that client wants them.
    """

    brain: str
    snapshot: str
    path: str
    kind: str
    written: list[str]
    removed: list[str]
    unchanged: int
    conflicts: list[Notice]
    left_out: list[Notice]


class MemoryRead(NamedTuple):
    """A memory: its file, text, and entries; their size and the limit in characters."""

    path: str
    text: str
    entries: list[str]
    characters: int
    limit: int


class MemoryChanged(NamedTuple):
    """The outcome of changes to a memory; `entries` is their number, sizes are in characters.

    `commitment` is there if the manifest asks for one.
    """

    path: str
    entries: int
    characters: int
    limit: int
    snapshot: str
    changed: bool
    commitment: Committed | NotCommitted | None = None
