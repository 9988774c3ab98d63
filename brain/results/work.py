"""Results about runs: receipts, the reasons for skill versions, and synthesized skills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .common import Committed, Finding, NotCommitted


class RunInfo(NamedTuple):
    """A run of an agent, all its parts joined, up to the last one recorded.

    `receipt` is the blob id of the last part, `snapshots` those that carry the parts,
    oldest first. Times are in ms since 1970, 0 if unknown; ids are "" if there is none.
    `outcome` is "" while the run is open. `tools` says how often each was called. `source`
    is what an imported receipt was read from. `steps` are as in a receipt.
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
    """Whether a receipt holds; `ok` means no finding of severity error.

    `snapshots` are those that carry its parts, oldest first; `writes` are the files whose
    change it accounts for.
    """

    ok: bool
    receipt: str
    run: str
    snapshots: list[str]
    steps: int
    writes: int
    findings: list[Finding]


class RunSummary(NamedTuple):
    """The work behind a version: what a run did until then, and how it ended in the end.

    `steps` counts the steps by kind, `errors` those that failed. `end` is the snapshot
    that closes the run, "" if the receipt closes it itself or nothing does.
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
    """Why a version of a skill is there.

    `receipt` is the blob id of its receipt, None if it has none; `state` says what came of
    that: kept, none, missing, redacted, or foreign for one of another format.
    """

    version: int | str
    snapshot: str
    time: int
    author: str
    change: str
    message: str
    receipt: str | None
    state: str
    work: RunSummary | None


class SkillReasons(NamedTuple):
    """Why a skill is as it is, version by version, newest first."""

    slug: str
    versions: list[VersionReason]


Version = int | str


class Synthesized(NamedTuple):
    """What became of a run: `decision` is created, improved, nothing or not_hard.

    `trigger` says why the run was judged hard: tool_calls, recovery, or asked where it was
    not; "" for not_hard. `reason` is the model's own. Of the skill, `slug`, `description`
    and `body` are what the model wrote, "" if it wrote none; `version` and what follows are
    None as long as nothing is recorded, as in a dry run. `requests` counts calls of the model.
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
