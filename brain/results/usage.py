"""Results about how skills do in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .named_tuple import NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from .common import Version


class HealthChange(NamedTuple):
    """What followed from failures of a skill.

    `action` is roll_back, retire, or degraded: the skill fails too often, but nothing
    was done, since it is protected. `from_version` failed; `restored_version` did better and
    came back, as `version`. `snapshot` recorded the change, "" without one; `reason` says why.
    """

    action: str
    slug: str
    path: str
    from_version: Version
    restored_version: Version | None
    version: Version
    snapshot: str
    reason: str


class RunCounted(NamedTuple):
    """Whether the uses of an imported run were new, the paths of its skills, and what followed."""

    run: str
    counted: bool
    paths: list[str]
    changes: list[HealthChange]


class Pinned(NamedTuple):
    """The pinned skills after one of them, `skill`, was pinned or unpinned."""

    skill: str
    pinned: list[str]
    snapshot: str
    changed: bool


class VersionUses(NamedTuple):
    """The uses of one version of a skill, with one program, or as a text without one.

    Durations are in ms, 0 if none was measured. `low` and `high` are the bounds of the share of
    inputs that succeed, at the level 95 %, from those it was used with last.
    """

    version: Version
    program: str
    uses: int
    successes: int
    failures: int
    consecutive_failures: int
    low: float
    high: float
    mean_ms: int
    max_ms: int
    first_use: datetime
    last_use: datetime
    last_failure: datetime | None
    failure: str


class SkillUsage(NamedTuple):
    """How a skill does in use.

    `state` is ok, degraded or retired; or, for a program that does not run here, as the `status`
    of `SkillProgram`. `program` is its id, "" without one.
    `uses`, `successes` and `failures` are of all versions; `consecutive_failures`, `mean_ms`
    and `failure` are those of the present one. `tokens` is what its line costs the index.
    `protection` says why no rule changes the skill: pinned, "written by a person", or "". The
    second is only found out for a degraded skill. `versions` are those that were used, in the
    order of their first use.
    """

    slug: str
    name: str
    path: str
    version: Version
    state: str
    program: str
    uses: int
    successes: int
    failures: int
    consecutive_failures: int
    mean_ms: int
    last_use: datetime | None
    failure: str
    tokens: int
    protection: str
    versions: list[VersionUses]


class UsageStats(NamedTuple):
    """How all skills do in use: those used most first, and then by slug.

    `never_used` counts skills without a use; `tokens` is what the index of all costs.
    """

    skills: list[SkillUsage]
    never_used: int
    tokens: int
