"""Results about branches, forks, merges and proposals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .common import Committed, NotCommitted, SnapshotInfo, Version
    from .history import PathChange, SkillChange


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


class Proposal(NamedTuple):
    """What an agent changed beside the current branch, since the snapshot `base`.

    `snapshot` is where it stands: what is merged if this is what was looked at.
    `made` are its snapshots, newest first.
    """

    name: str
    snapshot: str
    base: str
    made: list[SnapshotInfo]
    changes: list[PathChange]
    skills: list[SkillChange]


class Proposals(NamedTuple):
    """All open proposals, by name."""

    proposals: list[Proposal]
