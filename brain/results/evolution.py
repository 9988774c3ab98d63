"""Results about learning: cases, what the gate decided, patterns, gaps and the scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from .common import Committed, NotCommitted, Version


class GateNumbers(NamedTuple):
    """What the gate counted over held-out cases; `e_value` as text with three decimals.

    `worse` are the paths of cases that got worse. `more_cases` is how many more it would take.
    """

    cases: int
    rounds: int
    wins: int
    losses: int
    ties: int
    e_value: str
    worse: Sequence[str]
    more_cases: int
    runner: str


class GateOutcome(NamedTuple):
    """What became of a proposed change.

    `gate` is what the numbers say: admit, reject, undecided, or "" if nothing was tried. `done` is
    what happened: admitted, proposed, rejected, kept (undecided, on a ref), or nothing (an equal
    text). `snapshot` is that of the change, `proposal` the name of its proposal and `attempt` of
    its rejected attempt, each "" without one.
    """

    gate: str
    done: str
    reason: str
    slug: str
    version: Version | None
    previous_version: Version | None
    snapshot: str
    proposal: str
    attempt: str
    evolver: str
    numbers: GateNumbers | None
    changed: bool
    commitment: Committed | NotCommitted | None = None


class EarlierAttempt(NamedTuple):
    """An attempt at a skill that was not admitted, as evolvers may see it.

    `edit` is a unified diff. `gate` is what the numbers said, "" if only the tests of a program
    failed. `numbers` names no case; `cases_worse` counts those that got worse.
    """

    attempt: str
    slug: str
    time: datetime
    evolver: str
    gate: str
    reason: str
    numbers: GateNumbers | None
    cases_worse: int
    edit: str


class SkillCase(NamedTuple):
    """A case of a skill, for people; `split` is held-out or practice.

    `input` is a JSON object or a text, `expect` what its document expects. `problem` says why
    the document is no case, "" if it is one; the other fields are then empty.
    """

    slug: str
    name: str
    path: str
    split: str
    input: Any
    expect: dict[str, Any]
    source: str
    problem: str = ""


class CaseAdded(NamedTuple):
    """A case that was added, or was there already if not `changed`."""

    slug: str
    name: str
    path: str
    split: str
    snapshot: str
    changed: bool
