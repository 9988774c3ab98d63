"""Goals that failed since they last succeeded, counted in the store of experience.

They lie in sixteen notes, by the first digit of the key of the goal, so that processes seldom
meet. Each change replaces one note if it is still what was read, so no failure is lost or counted
twice. The oldest gap of a full note is forgotten.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import StoreError
from ...experience.experience_protocol import WorkItem
from ...receipts.budget import shorten_without_secrets
from .gap_score import GapScore, has_error_keyword, has_reflection_keyword, score_signals

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore
    from .gap_report import GapReport

GAPS = "gaps"
"""The name of this evolver; also the kind of its work."""
MAX_GAPS_PER_NOTE = 64
MAX_GOAL_BYTES = 600
MAX_ERROR_BYTES = 1_000
MAX_REFLECTION_BYTES = 600
MAX_REFLECTIONS = 4
MAX_REPORTED_CHARS = 8_000
"""Characters of each text of a report that are looked at."""
_NOTES = tuple(f"gaps/{digit:x}" for digit in range(16))
_MAX_TRIES = 10_000
_DIGEST_BYTES = 8

Gaps = dict[str, "OpenGap"]


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
    def score(self) -> GapScore:
        """The score by which the gap is attempted or not."""
        return score_signals(self.failures, self.has_error_keyword, self.has_reflection_keyword)

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


def record_failure(store: ExperienceStore, report: GapReport) -> OpenGap:
    """Count a failure of a goal; return the gap. Raises `StoreError`."""
    key = gap_key(report.goal, report.tool)
    return _change_note(store, key, partial(_with_failure, key=key, report=report))[key]


def record_success(store: ExperienceStore, goal: str, tool: str = "") -> None:
    """Forget the failures of a goal; with `tool` only those at that tool. Raises `StoreError`."""
    key = gap_key(goal, tool)
    prefix = key if tool else key.partition("-")[0]
    _change_note(
        store,
        key,
        lambda gaps: {name: gap for name, gap in gaps.items() if not name.startswith(prefix)},
    )


def list_open_gaps(store: ExperienceStore) -> list[OpenGap]:
    """Return all open gaps, those that failed last first. Raises `StoreError`."""
    gaps = [gap for note in _NOTES for gap in _parse_note(store.read_note(note)).values()]
    return sorted(gaps, key=lambda gap: (-gap.last, gap.key))


def find_open_gap(store: ExperienceStore, key: str) -> OpenGap | None:
    """Return a gap by its key, None if it is not open. Raises `StoreError`."""
    return _parse_note(store.read_note(_note_of(key))).get(key)


def add_gap_work(store: ExperienceStore, gap: OpenGap, at: int) -> bool:
    """Queue an attempt at a gap; return False if there is or was one at these failures."""
    data = json.dumps(_encode_gap(gap))
    return store.add_work(WorkItem(kind=GAPS, key=gap.episode, at=at, data=data))


def parse_gap_work(item: WorkItem) -> OpenGap | None:
    """Return the gap of a queued attempt, None if it is malformed."""
    return _parse_gap(_load_json(item.data))


def _with_failure(gaps: Gaps, key: str, report: GapReport) -> Gaps:
    known = gaps.get(key)
    said = tuple(text[:MAX_REPORTED_CHARS] for text in report.reflections[-MAX_REFLECTIONS:])
    kept = tuple(_shorten(text, MAX_REFLECTION_BYTES) for text in said)
    error = report.error[:MAX_REPORTED_CHARS]
    gap = OpenGap(
        key=key,
        goal=_shorten(report.goal[:MAX_REPORTED_CHARS], MAX_GOAL_BYTES),
        tool=_shorten(report.tool[:MAX_REPORTED_CHARS], MAX_GOAL_BYTES),
        failures=1,
        since=report.at,
        last=report.at,
        error=_shorten(error, MAX_ERROR_BYTES),
        reflections=kept,
        has_error_keyword=has_error_keyword(error),
        has_reflection_keyword=any(map(has_reflection_keyword, said)),
    )
    if known is not None:
        gap = replace(
            gap,
            failures=known.failures + 1,
            since=known.since,
            reflections=tuple(dict.fromkeys((*known.reflections, *kept)))[-MAX_REFLECTIONS:],
            has_reflection_keyword=gap.has_reflection_keyword or known.has_reflection_keyword,
        )
    changed = {**gaps, key: gap}
    if len(changed) > MAX_GAPS_PER_NOTE:
        others = (one for one in changed.values() if one.key != key)
        del changed[min(others, key=lambda one: (one.last, one.key)).key]
    return changed


def _shorten(text: str, max_bytes: int) -> str:
    return shorten_without_secrets(text.strip(), max_bytes)


def _note_of(key: str) -> str:
    return _NOTES[int(key[0], 16)]


def _change_note(store: ExperienceStore, key: str, change: Callable[[Gaps], Gaps]) -> Gaps:
    """Replace the note with a key until nobody changed it meanwhile; return its new gaps."""
    name = _note_of(key)
    for _ in range(_MAX_TRIES):
        old = store.read_note(name)
        before = _parse_note(old)
        after = change(before)
        if after == before or store.write_note(name, old, _encode_note(after)):
            return after
    raise StoreError(
        "the failures of a goal cannot be counted: others change them all the time",
        code="busy",
        hint="try again later",
    )


def _encode_note(gaps: Gaps) -> str:
    return json.dumps([_encode_gap(gap) for gap in gaps.values()])


def _encode_gap(gap: OpenGap) -> dict[str, Any]:
    return asdict(gap)


def _parse_note(text: str | None) -> Gaps:
    """Return the gaps of a note; what is malformed in it is dropped, as it only holds counts."""
    rows = _load_json(text or "[]")
    return {gap.key: gap for gap in _parse_rows(rows if isinstance(rows, list) else [])}


def _parse_rows(rows: list[Any]) -> Iterator[OpenGap]:
    for row in rows:
        gap = _parse_gap(row)
        if gap is not None:
            yield gap


def _parse_gap(row: Any) -> OpenGap | None:
    try:
        gap = OpenGap(**{**row, "reflections": tuple(row["reflections"])})
        has_types = all(
            isinstance(getattr(gap, name), kind) for name, kind in _FIELD_TYPES.items()
        ) and all(isinstance(text, str) for text in gap.reflections)
    except (TypeError, KeyError):
        return None
    return gap if has_types and gap.key[:1] in "0123456789abcdef" else None


_FIELD_TYPES: dict[str, type] = {
    "key": str,
    "goal": str,
    "tool": str,
    "failures": int,
    "since": int,
    "last": int,
    "error": str,
    "has_error_keyword": bool,
    "has_reflection_keyword": bool,
}


def _load_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
