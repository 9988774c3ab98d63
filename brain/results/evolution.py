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
