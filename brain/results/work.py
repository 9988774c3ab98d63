"""Results about runs: receipts, the reasons for skill versions, and synthesized skills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .named_tuple import NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from .common import Committed, Finding, NotCommitted
    from .evolution import GateOutcome


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
    source: dict[str, Any] | None
    steps: list[dict[str, Any]]


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
    source: dict[str, Any] | None


class VersionReason(NamedTuple):
    """The reason for a version of a skill.

    `receipt` is the blob id of its receipt, None without one; the `state` of the receipt is
    kept, none, missing, redacted, or foreign for one of another format.
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
    verdict: dict[str, Any] | None


class SkillReasons(NamedTuple):
    """The reason for each version of a skill, and the decisions about it, both newest first.

    A rejected attempt is no version of the skill.
    """

    slug: str
    versions: list[VersionReason]
    decisions: list[SkillDecision]


Version = int | str


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
