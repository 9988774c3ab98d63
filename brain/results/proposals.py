"""What proposals are told as."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .differences import Change, SkillChange
    from .lineage import SnapshotInfo


class Proposal(NamedTuple):
    """What an agent changed beside the current branch, since the snapshot `base`.

    `snapshot` is where it stands: what is merged if this is what was looked at.
    `made` are its snapshots, newest first.
    """

    name: str
    snapshot: str
    base: str
    made: list[SnapshotInfo]
    changes: list[Change]
    skills: list[SkillChange]


class Proposals(NamedTuple):
    """All open proposals, by name."""

    proposals: list[Proposal]
