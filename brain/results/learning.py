"""What learning answers: the gate, gaps, patterns, and the use of skills."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from .skills import Committed, NotCommitted, Version


class GateNumbers(NamedTuple):
    """What the gate counted over held-out cases; `e_value` as text with three decimals.

    `worse` are the paths of cases that got worse. `more_cases` is how many more it would take.
    `provisional` tells whether the change is shown to help these very cases, yes or no, with the
    E of the runs; both are "" of a gate that did not ask. `read_cases` is in how many cases a
    solver opened the changed skill, None if that is not known.
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
    provisional: str = ""
    e_of_runs: str = ""
    read_cases: int | None = None


class UnrunGuards(NamedTuple):
    """Cases of one skill that a change of another could touch, and that did not run."""

    slug: str
    cases: int
    reason: str


class GuardCounts(NamedTuple):
    """Held-out cases of other skills that a change could touch, and those that ran.

    `unrun` says why others did not: at most 100 skills, those with the most cases first.
    """

    found: int
    run: int
    unrun: Sequence[UnrunGuards]


class GateOutcome(NamedTuple):
    """What became of a proposed change.

    `gate` is what the numbers say: admit, reject, undecided, or "" if nothing was tried. `done` is
    what happened: admitted, provisional (live, since it helps these very cases), proposed,
    rejected, kept (undecided, on a ref), taken back (it was provisional), or nothing (an equal
    text, or no new case). `snapshot` is that of the
    change, `proposal` the name of its proposal and `attempt` of its rejected attempt, each ""
    without one. `guards` is None if no case was tried. `files` are the paths of what the change
    edits beside the text and the program of the skill.
    """

    gate: str
    done: str
    reason: str
    slug: str
    version: Version | None
    previous_version: Version | None
    snapshot: str = ""
    proposal: str = ""
    attempt: str = ""
    evolver: str = ""
    numbers: GateNumbers | None = None
    changed: bool = False
    commitment: Committed | NotCommitted | None = None
    guards: GuardCounts | None = None
    files: Sequence[str] = ()


class ScheduledStep(NamedTuple):
    """What the scheduler did, or why it did nothing.

    `evolver` is synthesis, patterns, gaps or provisional; `key` is the run that it was about, or
    "". `result` is done, failed, waiting or busy (another process does it). `outcome` is what the
    gate said.
    """

    evolver: str
    key: str
    result: str
    reason: str
    slug: str
    outcome: GateOutcome | None


class EvolverCost(NamedTuple):
    """What an evolver has cost so far: requests to the model, and tokens.

    Of `unreported` requests the endpoint did not report the tokens: their bytes count instead.
    """

    evolver: str
    requests: int
    tokens_in: int
    tokens_out: int
    unreported: int = 0


class BudgetUse(NamedTuple):
    """What counts today; `most` and what is `left` are None without a bound."""

    used: float
    most: float | None
    left: float | None


class BudgetStatus(NamedTuple):
    """What models cost today (UTC), tokens and money, until it is `renewed`.

    `reason` says why nothing is asked, "" if something may be.
    """

    tokens: BudgetUse
    cost: BudgetUse
    renewed: datetime
    reason: str


class RateStatus(NamedTuple):
    """Attempts that count in the present period of a limit, and how many are left.

    Both are None if the server does not answer. `renewed` is when the next period begins.
    """

    evolver: str
    limit: str
    attempts: int | None
    most: int
    left: int | None
    renewed: datetime


class EvolverStatus(NamedTuple):
    """What an evolver would do next.

    `waiting` counts what it has to learn from, queued or not yet; `since` is when the oldest of it
    came, of patterns that are not queued when they were looked for last. `names` are of some.
    `next` is when, None for never; `reason` says why it waits, "" if it is due.
    """

    evolver: str
    waiting: int
    next: datetime | None
    reason: str
    since: datetime | None = None
    names: Sequence[str] = ()


class EvolutionDecision(NamedTuple):
    """One line of the audit."""

    time: datetime
    evolver: str
    name: str
    trigger_reason: str
    phase: str
    result: str


class StreamStatus(NamedTuple):
    """All attempts at a brain as one stream, by what its verdicts say.

    Of the `attempts`, a rule `admitted` so many; so many skills are `provisional` now.
    `upheld` are admitted and hold for the whole stream: of these at most 5 % are useless in the
    mean. `not_upheld` names the others, as SKILL@VERSION; they hold each by itself. The next
    attempt is upheld with an E of `next_e`.
    """

    attempts: int
    admitted: int
    upheld: int
    provisional: int
    not_upheld: Sequence[str]
    next_e: int


class EvolutionStatus(NamedTuple):
    """What learning would do next, what it has cost, and what it decided last.

    `model` is "" without one. `problems` are servers that do not answer, and the pause after
    failures of the model. `budget` is None if the store of experience does not answer.
    """

    mode: str
    model: str
    evolvers: Sequence[EvolverStatus]
    costs: Sequence[EvolverCost]
    rates: Sequence[RateStatus]
    decisions: Sequence[EvolutionDecision]
    stream: StreamStatus
    problems: Sequence[str]
    budget: BudgetStatus | None


class EarlierAttempt(NamedTuple):
    """An attempt at a skill that was not admitted, as evolvers may see it.

    `attempt` is its name, "" while it waits as a proposal. `edit` is a unified diff. `gate` is what
    the numbers said, "" if only the tests of a program failed. `numbers` names no case;
    `cases_worse` counts those that got worse.
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


class RecheckedCase(NamedTuple):
    """A case of a verdict that was checked again; `kind` is held_out or guard.

    `before` and `after` are the outcomes that the verdict says, a letter a round: p passed, f
    failed, e error. `found_before` and `found_after` are those by what came out then, `ran_before`
    and `ran_after` those of running it again, "" if it was not; ? is what is not known.
    `state` is same, differs or unknown; `problem` says why, "" if there is nothing to say.
    """

    path: str
    kind: str
    state: str
    before: str
    after: str
    found_before: str
    found_after: str
    ran_before: str
    ran_after: str
    problem: str


class RecheckedNumber(NamedTuple):
    """A number of a gate: as the verdict says, None if it does not, and as its cases say."""

    name: str
    said: int | None
    found: int


class Recheck(NamedTuple):
    """A verdict of a gate, and what was found when it was derived again.

    `gate` is what it says, and `found_gate` what its cases say now, "" if they say nothing.
    `provisional` and `found_provisional` are the same about these very cases, yes or no, "" of a
    gate that did not ask. It holds if there are no `differences`, which are sentences. `unknown`
    are cases that could not be checked, each with the reason.
    """

    verdict: str
    snapshot: str
    slug: str
    decision: str
    decider: str
    decided_by: str
    runner: str
    gate: str
    found_gate: str
    provisional: str
    found_provisional: str
    numbers: list[RecheckedNumber]
    cases: list[RecheckedCase]
    differences: list[str]
    unknown: list[str]


class FailedGoal(NamedTuple):
    """A goal that failed since it last succeeded; `score` is a text such as 0.60.

    `next` says what would happen to it now. Texts are cut, and without secrets.
    """

    key: str
    goal: str
    tool: str
    failures: int
    score: str
    since: datetime
    last: datetime
    error: str
    next: str


class RateUse(NamedTuple):
    """How many attempts count in the present hour or day, of how many."""

    name: str
    used: int
    most: int


class OpenGaps(NamedTuple):
    """The goals that fail, and how many attempts count.

    `mode` is that of the evolution of the brain. `periodic` says whether gaps are looked for
    every hour.
    """

    gaps: Sequence[FailedGoal]
    rates: Sequence[RateUse]
    mode: str
    periodic: bool


class GapEvent(NamedTuple):
    """One line of the audit, with the fields of the seed; `ts` is ISO 8601 in UTC."""

    ts: str
    capability_name: str
    trigger_reason: str
    phase: str
    result: str


class GapResult(NamedTuple):
    """What became of a gap; `result` is success, skipped, rejected or failed.

    `outcome` is that of the gate, None if the gate was not reached. `requests` and tokens are
    what this attempt cost here, with its retries and the cases of the gate.
    """

    key: str
    goal: str
    score: str
    capability_name: str
    slug: str
    phase: str
    result: str
    reason: str
    outcome: GateOutcome | None = None
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


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
