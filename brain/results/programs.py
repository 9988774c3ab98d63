"""Results about programs of skills: what was decided about them, and how they ran."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from .common import Committed, NotCommitted, Notice, Version
    from .usage import HealthChange
    from .work import SkillDecision


class Decided(NamedTuple):
    """A decision about a skill: `decision` is admit, reject, retire or reinstate.

    `changed` says whether the branch has a new snapshot: a rejected attempt has one of its own,
    `snapshot`, which `attempt` names. `reason` says why, "" for an admission; `cases` counts
    what was tried.
    """

    decision: str
    slug: str
    name: str
    version: Version
    previous_version: Version | None
    path: str
    snapshot: str
    changed: bool
    reason: str
    cases: int
    attempt: str
    commitment: Committed | NotCommitted | None
    notices: Sequence[Notice] = ()


class SkillProgram(NamedTuple):
    """The program of a skill: `program` is its id, "" if it cannot be read.

    `status` is runnable, not_admitted, proposed (and not accepted), not_tried (on this machine),
    changed (in the folder), or unusable.
    """

    slug: str
    name: str
    description: str
    version: Version
    path: str
    program: str
    status: str


class ProposedProgram(NamedTuple):
    """A program that a proposal adds or changes, with the decision that admits it, if one does.

    `status` says what it is once the proposal is accepted as it is: runnable, not_admitted,
    changed (here, too, so that the merged program needs a trial), not_tried (on this machine), or
    unusable.
    """

    slug: str
    version: Version
    path: str
    program: str
    status: str
    decision: SkillDecision | None


class ProgramCall(NamedTuple):
    """What a running program asked for: `kind` is call or fetch, `target` the tool or the URL.

    `version` is that of the called skill, `error` "" if it was answered.
    """

    kind: str
    caller: str
    target: str
    version: str
    error: str
    wall_ms: int


class ProgramRun(NamedTuple):
    """How the program of a skill ran: with `output`, a JSON value, or with `error`.

    `refused` says whether it refused its arguments with a message, as a program should; `calls`
    are what it asked for, in the order in which they ended.
    `health` says what followed from its failures, if anything did. `uncounted` says why the run
    could not be counted, or why a failing skill could not be changed, "" if all went well.
    """

    slug: str
    version: Version
    program: str
    ok: bool
    output: Any
    error: str
    wall_ms: int
    refused: bool = False
    calls: Sequence[ProgramCall] = ()
    health: HealthChange | None = None
    uncounted: str = ""


class Attempt(NamedTuple):
    """A rejected attempt at a skill; `attempt` names it, as in `rag-search/1f00c2d4`."""

    attempt: str
    slug: str
    snapshot: str
    time: datetime
    author: str
    reason: str
    failed: list[str]


class AttemptView(NamedTuple):
    """A rejected attempt with its `files`, by path in the folder of the skill, and its verdict."""

    attempt: str
    slug: str
    snapshot: str
    time: datetime
    author: str
    reason: str
    verdict: dict[str, Any]
    files: dict[str, bytes]


class ImportedSkill(NamedTuple):
    """A skill of an imported registry, not admitted; `next_step` says what its tests lack.

    `changed` says whether it was written: the same text again is not.
    """

    slug: str
    name: str
    version: Version
    changed: bool
    next_step: str


class RefusedSkill(NamedTuple):
    """A skill of a registry that was left out, and why."""

    name: str
    reason: str


class ImportedRegistry(NamedTuple):
    """The skills of an imported registry, and those that were left out."""

    skills: list[ImportedSkill]
    refused: list[RefusedSkill]
