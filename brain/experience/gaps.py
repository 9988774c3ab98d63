"""Goals that fail: reported, scored, counted in a row, queued to learn from, and audited.

    score = 0.6 * min(1, failures / 3) + 0.2 * [error keyword] + 0.2 * [reflection keyword]

All of it is in percent, in whole numbers, so that the comparison with the threshold is exact. A
report counts the failure, and queues the gap if it is due, in one transaction; a success ends the
row. The audit has one event for each attempt and for each gap that was left alone.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from ..errors import printable_text
from ..receipts.budget import shorten_without_secrets
from ..results import FailedGoal, GapEvent, OpenGaps, RateUse
from ..util.utc_time import utc_time
from .store import AuditEvent, RateLimit, Store, Work

# What agents report


class GapReport(NamedTuple):
    """A goal that failed at `at` (ms since 1970), as its agent reports it; or that succeeded.

    `tool` tells goals with the same text apart, such as those of several tools. `reflections` are
    what the agent said of its work.
    """

    goal: str
    at: int = 0
    error: str = ""
    tool: str = ""
    reflections: tuple[str, ...] = ()
    succeeded: bool = False


# The score

THRESHOLD_PERCENT = 50
"""A gap is attempted above this score; not at it."""
FULL_FAILURES = 3
"""Consecutive failures that give the whole weight of the first signal."""
_FAILURE_PERCENT = 20
"""The weight of one failure: 60 % divided by `FULL_FAILURES`."""
_SIGNAL_PERCENT = 20
MAX_SCANNED_CHARS = 4_000
"""Characters of an error or a reflection that are looked at."""

ERROR_KEYWORDS = (
    "importerror",
    "modulenotfounderror",
    "attributeerror",
    "nameerror",
    "notimplementederror",
    "not found",
    "no skill registered",
    "not registered",
    "disabled",
    "not enabled",
)
"""Words of an error that an agent gets which lacks something; in any case, as whole words."""
_ERROR_KEYWORD = re.compile(
    rf"(?<![^\W_])(?:{'|'.join(map(re.escape, ERROR_KEYWORDS))})(?![^\W_])", re.IGNORECASE
)

_NOUN = r"(?:tools?|skills?|capabilit(?:y|ies))"
_LACK = re.compile(
    rf"\b(?:no|missing|lack|lacks|lacking)(?: an?| the)? {_NOUN}\b"
    r"(?! (?:(?:was|were|is|are) )?(?:needed|required|necessary|used))",
    re.IGNORECASE,
)
"""Such as "no tool" and "missing skill", but not "no tool was needed"."""
_NEGATED = re.compile(
    r"(?:^|[.;:!?\n]\s*|\b(?:i|we|agent|assistant)\b(?: \w+){0,2}? )"
    r"(?:cannot|can't|can not|unable to|not able to)(?= (\w+))",
    re.IGNORECASE,
)
"""The agent says of itself, or without a subject, that it is not able to do something."""
_IDIOMS = frozenset(
    """
    agree be believe complain deny emphasise emphasize exaggerate fault guarantee help imagine
    overstate promise recommend rule say stress thank think wait
    """.split()
)
"""Verbs behind "cannot" by which an agent praises, hedges or waits, and lacks nothing."""
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|(?<!\w)'[^'\n]*'(?!\w)"
    r"|^[ \t]*>[^\n]*|^(?: {4}|\t)[^\n]*",
    re.DOTALL | re.MULTILINE,
)


def has_error_keyword(error: str) -> bool:
    """Tell whether an error says that something is missing or turned off."""
    return _ERROR_KEYWORD.search(error[:MAX_SCANNED_CHARS]) is not None


def has_reflection_keyword(reflection: str) -> bool:
    """Tell whether an agent says that it lacks a tool or is not able to do something.

    What it only quotes does not count: text in quotation marks, code, and quoted lines.
    """
    said = _QUOTED.sub(" … ", reflection[:MAX_SCANNED_CHARS])
    if _LACK.search(said):
        return True
    return any(found[1].lower() not in _IDIOMS for found in _NEGATED.finditer(said))


# Goals that fail in a row

GAPS = "gaps"
"""The name of this evolver; also the kind of its work."""
MAX_OPEN_GAPS = 1_000
"""Gaps that are counted; those that failed last."""
MAX_GOAL_BYTES = 600
MAX_ERROR_BYTES = 1_000
MAX_REFLECTION_BYTES = 600
MAX_REFLECTIONS = 4
MAX_REPORTED_CHARS = 8_000
"""Characters of each text of a report that are looked at."""
_FACT = "gap/"
_DIGEST_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenGap:
    """A goal that failed `failures` times in a row, `since` and `last` being ms since 1970.

    Texts are cut, and without secrets. The error is the last one; reflections are those of all
    failures.
    """

    key: str
    goal: str
    tool: str
    failures: int
    since: int
    last: int
    error: str
    reflections: tuple[str, ...]
    has_error_keyword: bool
    has_reflection_keyword: bool

    @property
    def percent(self) -> int:
        """The score by which the gap is attempted or not."""
        signals = self.has_error_keyword + self.has_reflection_keyword
        return _FAILURE_PERCENT * min(self.failures, FULL_FAILURES) + _SIGNAL_PERCENT * signals

    @property
    def score(self) -> str:
        """The score as a decimal number, such as 0.60."""
        return f"{self.percent // 100}.{self.percent % 100:02d}"

    @property
    def is_due(self) -> bool:
        """Whether the gap is worth an attempt."""
        return self.percent > THRESHOLD_PERCENT

    @property
    def episode(self) -> str:
        """The key of what there is to learn from: this gap, with this many failures."""
        return f"{self.key}:{self.since}:{self.failures}"


def gap_key(goal: str, tool: str) -> str:
    """Return the key of a goal: equal for texts that differ in case, spaces and a final dot."""
    return f"{_digest(goal)}-{_digest(tool)}"


def _digest(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text[:MAX_REPORTED_CHARS]).casefold()
    normal = " ".join(folded.split()).rstrip(".!? ")
    return hashlib.blake2b(normal.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).hexdigest()


def note_report(store: Store, report: GapReport) -> bool:
    """Note a report; queue the gap if it is due, and return whether it is.

    Raises `StoreError`.
    """
    if report.succeeded:
        record_success(store, report.goal, report.tool)
        return False
    with store.transaction():
        gap = record_failure(store, report)
        if gap.is_due:
            add_gap_work(store, gap, report.at)
        else:
            reason = "below the threshold"
            store.log(build_gap_event(gap, report.at, SCORE_PHASE, SKIPPED, reason=reason))
        return gap.is_due


def record_failure(store: Store, report: GapReport) -> OpenGap:
    """Count a failure of a goal; return the gap. Raises `StoreError`."""
    key = gap_key(report.goal, report.tool)
    with store.transaction():
        fields = store.change(f"{_FACT}{key}", lambda old: _with_failure(old, key, report))
        gaps = store.facts(_FACT)
        if len(gaps) > MAX_OPEN_GAPS:
            oldest = min(gaps.keys() - {key}, key=lambda one: (gaps[one]["last"], one))
            store.change(f"{_FACT}{oldest}", lambda _: {})
        return read_gap(fields)


def record_success(store: Store, goal: str, tool: str = "") -> None:
    """Forget the failures of a goal; with `tool` only those at that tool. Raises `StoreError`."""
    key = gap_key(goal, tool)
    prefix = _FACT + (key if tool else key.partition("-")[0])
    for rest in store.facts(prefix):
        store.change(prefix + rest, lambda _: {})


def list_open_gaps(store: Store) -> list[OpenGap]:
    """Return all open gaps, those that failed last first. Raises `StoreError`."""
    gaps = map(read_gap, store.facts(_FACT).values())
    return sorted(gaps, key=lambda gap: (-gap.last, gap.key))


def find_open_gap(store: Store, key: str) -> OpenGap | None:
    """Return a gap by its key, None if it is not open. Raises `StoreError`."""
    fields = store.fact(f"{_FACT}{key}")
    return read_gap(fields) if fields else None


def add_gap_work(store: Store, gap: OpenGap, at: int) -> bool:
    """Queue an attempt at a gap; return False if there is or was one at these failures."""
    return store.add(GAPS, gap.episode, at, asdict(gap))


def read_gap(fields: Mapping[str, Any]) -> OpenGap:
    """Return the gap of a queued attempt."""
    return OpenGap(**{**fields, "reflections": tuple(fields["reflections"])})


def _with_failure(known: dict[str, Any], key: str, report: GapReport) -> dict[str, Any]:
    said = tuple(text[:MAX_REPORTED_CHARS] for text in report.reflections[-MAX_REFLECTIONS:])
    stored = tuple(_shorten(text, MAX_REFLECTION_BYTES) for text in said)
    error = report.error[:MAX_REPORTED_CHARS]
    gap = OpenGap(
        key=key,
        goal=_shorten(report.goal[:MAX_REPORTED_CHARS], MAX_GOAL_BYTES),
        tool=_shorten(report.tool[:MAX_REPORTED_CHARS], MAX_GOAL_BYTES),
        failures=1,
        since=report.at,
        last=report.at,
        error=_shorten(error, MAX_ERROR_BYTES),
        reflections=stored,
        has_error_keyword=has_error_keyword(error),
        has_reflection_keyword=any(map(has_reflection_keyword, said)),
    )
    if known:
        gap = replace(
            gap,
            failures=known["failures"] + 1,
            since=known["since"],
            reflections=tuple(dict.fromkeys((*known["reflections"], *stored)))[-MAX_REFLECTIONS:],
            has_reflection_keyword=gap.has_reflection_keyword or known["has_reflection_keyword"],
        )
    return asdict(gap)


def _shorten(text: str, max_bytes: int) -> str:
    return shorten_without_secrets(text.strip(), max_bytes)


# The audit

SUCCESS, SKIPPED, REJECTED, FAILED = GAP_RESULTS = ("success", "skipped", "rejected", "failed")
"""Skipped: nothing was tried, or a proposal waits. Rejected: by a check or by the gate."""
SCORE_PHASE, RATE_PHASE, MODEL_PHASE = "score", "rate_limit", "model"
VALIDATION_PHASE, GATE_PHASE, PROPOSED_PHASE = "validation", "gate", "proposed"
INTERRUPTED_PHASE, COMPLETE_PHASE = "interrupted", "complete"
MAX_REASON_CHARS = 400
_SHORT_KEY = 8


def build_gap_event(
    gap: OpenGap, at: int, phase: str, result: str, *, name: str = "", reason: str = ""
) -> AuditEvent:
    """Return an event about a gap. `name` is that of the capability, "" before there is one."""
    trigger = f"gap_score={gap.score},goal={gap.key[:_SHORT_KEY]}"
    if reason:
        trigger += f",reason={printable_text(reason, MAX_REASON_CHARS)}"
    return AuditEvent(at, GAPS, name, trigger, phase, result)


def describe_event(event: AuditEvent) -> GapEvent:
    """Return an event with the fields of the seed's log."""
    return GapEvent(format_time(event.at), *event[2:])


def format_time(at: int) -> str:
    """Return a time in ms since 1970 as ISO 8601, such as 2026-03-11T20:00:00+00:00."""
    return utc_time(at).isoformat(timespec="seconds")


# The queue

GAP_LIMITS = (RateLimit("hourly", 3_600, 2), RateLimit("daily", 86_400, 5))
"""Attempts of one brain, whatever becomes of them."""
SUPERSEDED = "superseded"
"""The phase of an attempt at a goal that failed again, or succeeded, before it was made."""

IsProposed = Callable[[str], bool]
"""Tells whether a proposal waits for a person, by its name."""


class EndedAttempt(NamedTuple):
    """How an attempt ended, as the result of its item.

    `name` is that of the capability, "" without one. `attempt` is a rejected program that is
    stored, and `proposal` one that waits for a person.
    """

    phase: str
    result: str
    reason: str = ""
    name: str = ""
    attempt: str = ""
    proposal: str = ""

    @property
    def slug(self) -> str:
        """The slug of the skill, "" without one."""
        return self.name.replace("_", "-")


def list_unqueued(store: Store) -> list[OpenGap]:
    """Return the gaps that are due and of whose failures none was queued."""
    known = {item.key for item in store.items(GAPS)}
    return [gap for gap in list_open_gaps(store) if gap.is_due and gap.episode not in known]


def list_gaps(
    store: Store, *, mode: str, periodic: bool, is_proposed: IsProposed, now: int
) -> OpenGaps:
    """Return the open gaps of a brain, those that failed last first. Raises `StoreError`."""
    items = store.items(GAPS)
    counts = store.counts(GAPS, GAP_LIMITS, now)
    rates = [RateUse(limit.name, counts[limit.name], limit.most) for limit in GAP_LIMITS]
    limit = next((rate.name for rate in rates if rate.used >= rate.most), "")

    def describe_next(gap: OpenGap) -> str:
        """Return what would happen to a gap now."""
        if not gap.is_due:
            return "nothing: its score is not above 0.50"
        if proposal := find_waiting_proposal(gap, items, is_proposed):
            return f"wait for a person: proposal {proposal.proposal}"
        found = [item for item in items if item.key == gap.episode]
        if not found or found[0].result is None:
            queued = "it is queued" if found else "it is queued by the next run"
            return f"attempt: it waits for the {limit} limit" if limit else f"attempt: {queued}"
        ended = EndedAttempt(**found[0].result)
        if ended.phase == PROPOSED_PHASE:
            return "nothing until it fails again: its proposal was accepted or rejected"
        return f"nothing until it fails again: {' '.join(filter(None, ended[:2]))}"

    gaps = [
        FailedGoal(
            *(gap.key, gap.goal, gap.tool, gap.failures, gap.score),
            *(utc_time(gap.since), utc_time(gap.last), gap.error, describe_next(gap)),
        )
        for gap in list_open_gaps(store)
    ]
    return OpenGaps(gaps, rates, mode, periodic)


def find_waiting_proposal(
    gap: OpenGap, items: Iterable[Work], is_proposed: IsProposed
) -> EndedAttempt | None:
    """Return the attempt at a gap whose proposal waits for a person, None without one."""
    ended = (one for one in _list_ended(gap, items) if one.phase == PROPOSED_PHASE)
    return next((one for one in ended if is_proposed(one.proposal)), None)


def list_proposed(items: Iterable[Work]) -> dict[str, dict[str, Any]]:
    """Return the gaps whose skill was proposed to a person, by its slug."""
    ended = [(item.data, EndedAttempt(**item.result)) for item in items if item.result]
    return {one.slug: data for data, one in ended if one.phase == PROPOSED_PHASE}


def list_refused(gap: OpenGap, items: Iterable[Work]) -> list[EndedAttempt]:
    """Return the attempts at a gap that were rejected, newest first."""
    return [one for one in _list_ended(gap, items) if one.result == REJECTED]


def _list_ended(gap: OpenGap, items: Iterable[Work]) -> list[EndedAttempt]:
    """Return how the attempts at a gap ended, also at earlier failures, newest first."""
    found = [item.result for item in items if item.key.startswith(f"{gap.key}:") and item.result]
    return [EndedAttempt(**result) for result in reversed(found)]
