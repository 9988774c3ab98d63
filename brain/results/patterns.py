"""Results about patterns: sequences of skills that recur, and what was made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .evolution import GateOutcome


class SkillPattern(NamedTuple):
    """A sequence of skills, and in how many messages of the last days it occurs.

    `status` is new (a model will be asked), waiting (it is queued), unfit (it cannot be made
    into a skill), or what became of the skill made of it: admitted, proposed, rejected, kept,
    nothing or failed. `reason` says why. `slug` is that skill, "" without one.
    """

    skills: Sequence[str]
    occurrences: int
    status: str
    reason: str
    slug: str


class SkillPatterns(NamedTuple):
    """The patterns of a brain or of one `chat`, most frequent first.

    `messages` were counted; a pattern occurs in `threshold` of them or more. `has_longer`: longer
    sequences recur, too, which are left out. `unrecorded` messages of this process were lost
    because the store did not answer.
    """

    patterns: Sequence[SkillPattern]
    messages: int
    threshold: int
    has_longer: bool
    unrecorded: int
    chat: str


class PatternResult(NamedTuple):
    """What became of one pattern; `status`, `reason` and `slug` as for `SkillPattern`.

    Without a model the status is no_model. `outcome` is what the gate said, None if it was not
    asked.
    """

    skills: Sequence[str]
    occurrences: int
    status: str
    reason: str
    slug: str
    outcome: GateOutcome | None
