"""What became of what other programs keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .folder import Notice
    from .merges import MergeConflict


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
    With `conflicts` what is new waits on the branch until they are resolved.
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
