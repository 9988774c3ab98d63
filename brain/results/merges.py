"""What a merge returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .ledgers import Committed, NotCommitted
    from .skills import Version


class MergedSkill(NamedTuple):
    """A skill both sides had changed, and its versions; "" on a side that had removed it."""

    slug: str
    ours: Version
    theirs: Version
    version: Version


class MergeConflict(NamedTuple):
    """A path that needs a decision; blob ids are None where the file is not there.

    `reason` is content, binary, unreadable_skill, broken_trust, deleted_by_ours, deleted_by_theirs,
    kind, too_large or collides. `choice` is what was decided so far. `file` is the
    text with markers, relative to the brain, where there is one.
    """

    path: str
    reason: str
    base: str | None
    ours: str | None
    theirs: str | None
    choice: str | None
    file: str | None


class Merged(NamedTuple):
    """The outcome of a merge; with `conflicts` left, nothing has been recorded.

    `bases` are the best common ancestors; counts are files changed on our side.
    """

    snapshot: str
    bundle: str
    parents: list[str]
    bases: list[str]
    changed: bool
    fast_forward: bool
    added: int
    modified: int
    removed: int
    skills: list[MergedSkill]
    conflicts: list[MergeConflict]
    commitment: Committed | NotCommitted | None
