"""What became of what other programs keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .merges import MergeConflict
    from .notices import Notice


class Imported(NamedTuple):
    """States of a source, recorded: where its branch stands now, and how many were new.

    `left` is what a brain cannot hold.
    """

    snapshot: str
    branch: str
    steps: int
    left: list[Notice]


class Placed(NamedTuple):
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
    taken: list[Placed]
    left_out: list[Notice]
    conflicts: list[MergeConflict]
    notices: Sequence[Notice] = ()


class FileInfo(NamedTuple):
    """A file of a revision: `kind` is file, executable or link, `size` in bytes."""

    path: str
    kind: str
    blob: str
    size: int


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
