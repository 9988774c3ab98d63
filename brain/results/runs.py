"""What runs and programs of skills answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from .learning import GateOutcome, HealthChange
    from .skills import (
        Committed,
        Finding,
        NotCommitted,
        Notice,
        ReceiptSource,
        ReceiptStep,
        VerdictFields,
        Version,
    )


class RunInfo(NamedTuple):
    """A run of an agent, with all parts recorded so far.

    `receipt` is the blob id of the last part, `snapshots` those that carry the parts,
    oldest first. Times are in ms since 1970, 0 if unknown; ids are "" if there is none.
    `outcome` is "" while the run is open. `tools` counts the calls of each. `source`
    describes the transcript of an imported receipt. `steps` are as in a receipt.
    """

    receipt: str
    run: str
    task: str
    agent: str
    model: str
    started: int
    ended: int
    outcome: str
    reason: str
    snapshot_before: str
    bundle_before: str
    bundle_after: str
    snapshots: list[str]
    skills_loaded: list[str]
    skills_created: list[str]
    tools: dict[str, int]
    tokens_in: int
    tokens_out: int
    source: ReceiptSource | None
    steps: list[ReceiptStep]


class ReceiptVerified(NamedTuple):
    """The verification of a receipt; `ok` means no finding of severity error.

    `snapshots` carry its parts, oldest first; `writes` counts the files whose changes its
    steps explain.
    """

    ok: bool
    receipt: str
    run: str
    snapshots: list[str]
    steps: int
    writes: int
    findings: list[Finding]


class RunSummary(NamedTuple):
    """The work behind a version: the steps of a run until then, and its final outcome.

    `steps` counts the steps by kind, `errors` those that failed. `end` is the snapshot
    that ends the run, "" if the receipt itself or no snapshot ends it.
    """

    run: str
    task: str
    agent: str
    model: str
    started: int
    outcome: str
    reason: str
    end: str
    steps: dict[str, int]
    errors: int
    tools: dict[str, int]
    skills_loaded: list[str]
    tokens_in: int
    tokens_out: int
    source: ReceiptSource | None


class VersionReason(NamedTuple):
    """The reason for a version of a skill.

    `receipt` is the blob id of its receipt, None without one; the `state` of the receipt is
    kept, none, missing, redacted, or foreign for one of another format. `name` is that of
    `SkillVersion`.
    """

    version: int | str
    snapshot: str
    time: datetime
    author: str
    change: str
    message: str
    receipt: str | None
    state: str
    work: RunSummary | None
    name: str


class SkillDecision(NamedTuple):
    """A decision about a skill: admit, reject, retire or reinstate, and the verdict behind it.

    `from_version` and `to_version` are those of the skill before and after, "" if it was or is
    not there. `blob` is the id of the verdict; its `state` is kept, missing, redacted, or foreign
    for a blob that is not a verdict, and only a kept one has a `verdict`. `summary` is one line.
    """

    decision: str
    from_version: str
    to_version: str
    snapshot: str
    time: datetime
    author: str
    blob: str
    state: str
    summary: str
    verdict: VerdictFields | None


class SkillReasons(NamedTuple):
    """The reason for each version of a skill, and the decisions about it, both newest first.

    A rejected attempt is no version of the skill.
    """

    slug: str
    versions: list[VersionReason]
    decisions: list[SkillDecision]


class Synthesized(NamedTuple):
    """The outcome of a synthesis: `decision` is created, improved, nothing or not_hard.

    `trigger` says why the run is hard: tool_calls or recovery; asked if the user forced it,
    "" for not_hard. `reason` is that of the model, which also wrote `slug`, `description`
    and `body` of the skill, "" without a skill. `outcome` is what the gate made of it, None
    without a skill and in a dry run; `version`, `previous_version`, `snapshot` and `commitment`
    are those of the outcome. `requests` and tokens are what it cost, with retries and the cases
    of the gate.
    """

    decision: str
    trigger: str
    reason: str
    slug: str
    description: str
    body: str
    version: Version | None
    previous_version: Version | None
    snapshot: str | None
    model: str
    requests: int
    tokens_in: int
    tokens_out: int
    commitment: Committed | NotCommitted | None
    outcome: GateOutcome | None


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
    verdict: VerdictFields
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
