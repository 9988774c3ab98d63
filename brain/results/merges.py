"""Results about branches, forks, merges and proposals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .named_tuple import NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from .common import Committed, NotCommitted, SnapshotInfo, Version
    from .history import PathChange, SkillChange


class Branch(NamedTuple):
    """A branch and its head."""

    name: str
    snapshot: str
    current: bool


class Branches(NamedTuple):
    """All branches by name, the head of the current one, and the conflicts of its merge."""

    snapshot: str
    branches: list[Branch]
    conflicts: list[MergeConflict]


class Tag(NamedTuple):
    """A tag and its snapshot, with the keys whose valid signatures the snapshot has."""

    name: str
    snapshot: str
    time: datetime
    message: str
    signed_by: list[str]


class Switched(NamedTuple):
    """The outcome of a switch; path lists are sorted.

    `redacted` are files that were not written, because their content was redacted.
    """

    branch: str
    snapshot: str
    written: list[str]
    removed: list[str]
    redacted: list[str]
    conflicts: list[MergeConflict]


class Forked(NamedTuple):
    """A new brain that starts from the snapshot `origin` of another one."""

    brain: str
    snapshot: str
    origin: str
    path: str
    conflicts: list[MergeConflict]


class Ancestry(NamedTuple):
    """Whether one snapshot descends from another, with a path, newest first.

    Each snapshot of `path` names the next as its parent, jump, or origin of the fork.
    """

    descends: bool
    ancestor: str
    descendant: str
    path: list[str]


class MergedSkill(NamedTuple):
    """A skill that both sides changed, with its versions; "" on a side that removed it."""

    slug: str
    ours: Version
    theirs: Version
    version: Version


class MergeConflict(NamedTuple):
    """A path that needs a decision; blob ids are None on a side without the file.

    `reason` is content, binary, unreadable_skill, broken_trust, deleted_by_ours, deleted_by_theirs,
    kind, too_large or collides. `choice` is the decision, None without one. `file` is the
    file with conflict markers, relative to the brain, if there is one.
    """

    path: str
    reason: str
    base: str | None
    ours: str | None
    theirs: str | None
    choice: str | None
    file: str | None


class Merged(NamedTuple):
    """The outcome of a merge; with `conflicts`, nothing was recorded.

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
    """Changes of an agent since the snapshot `base`, beside the current branch.

    `snapshot` is the head of the proposal, the id that accepts exactly these changes.
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
