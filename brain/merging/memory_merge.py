"""Union of what two sides appended to a memory file: no unit is lost or duplicated.

A unit is a line of JSON Lines, or a section, list item or paragraph of notes. The units of
each side keep their order. If all of them carry a time, they are interleaved by time;
otherwise one side follows the other, in an order that depends on the bytes only.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from .lines import FENCE, HEADING, LIST_ITEM, ConflictHunk, SettleConflict, TextLines

_JSON_TIME_KEYS = ("timestamp", "time", "ts", "created_at", "created", "date", "at")
_WRITTEN_TIME_PATTERN = re.compile(
    rb"[#*+\-\s\[(]*((?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?|\d{4}-\d\d-\d\d)"
)

ENTRY_SEPARATOR = "§".encode()
"""The line between two entries that an agent wrote to a memory file."""

MemoryUnit = bytes
TimeKey = tuple[str, Any]


def settle_json_lines(hunk: ConflictHunk) -> TextLines | None:
    """Settle a conflict in JSON Lines."""
    return _settle_units(
        hunk, lambda lines: [line for line in lines if line.strip()], _json_time_key
    )


def settle_notes(hunk: ConflictHunk) -> TextLines | None:
    """Settle a conflict in notes in Markdown."""
    return _settle_units(hunk, _split_notes, _written_time_key)


SETTLE_RULES: dict[str, SettleConflict] = {
    ".jsonl": settle_json_lines,
    ".ndjson": settle_json_lines,
    ".md": settle_notes,
}
"""The rule for files of the section `memory`, by file suffix."""


def _settle_units(
    hunk: ConflictHunk,
    split_units: Callable[[TextLines], list[MemoryUnit]],
    time_of: Callable[[MemoryUnit], TimeKey | None],
) -> TextLines | None:
    """Merge the lines of the base one by one, and unite the lines added after them.

    Returns None if a side removed lines, or both sides changed the same one.
    """
    base, ours, theirs = hunk
    size = len(base)
    if min(len(ours), len(theirs)) < size:
        return None
    out: TextLines = []
    for was, a, b in zip(base, ours, theirs, strict=False):
        if a != b and was not in (a, b):
            return None
        out.append(b if a == was else a)
    return out + unite_units(split_units(ours[size:]), split_units(theirs[size:]), time_of)


def unite_units(
    ours: Sequence[MemoryUnit],
    theirs: Sequence[MemoryUnit],
    time_of: Callable[[MemoryUnit], TimeKey | None],
) -> list[MemoryUnit]:
    """Return the units of both sides; a common unit as often as the side that has it most."""
    a, b = sorted((list(ours), list(theirs)))
    common = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    new_units = _subtract_units(b[common:], a[common:])
    return a[:common] + _interleave_by_time(a[common:], new_units, time_of)


def _interleave_by_time(
    a: list[MemoryUnit], b: list[MemoryUnit], time_of: Callable[[MemoryUnit], TimeKey | None]
) -> list[MemoryUnit]:
    """Return the units of both sides: by time if all have a comparable one, else `a` first."""
    times = {unit: time for unit in (*a, *b) if (time := time_of(unit)) is not None}
    if not all(unit in times for unit in (*a, *b)) or len({kind for kind, _ in times.values()}) > 1:
        return a + b
    return list(heapq.merge(a, b, key=lambda unit: times[unit][1]))


def _subtract_units(units: list[MemoryUnit], others: list[MemoryUnit]) -> list[MemoryUnit]:
    """Return the multiset difference of two lists, in the order of `units`."""
    from collections import Counter

    remaining = Counter(others)
    out = []
    for unit in units:
        if remaining[unit] > 0:
            remaining[unit] -= 1
        else:
            out.append(unit)
    return out


def _json_time_key(line: MemoryUnit) -> TimeKey | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    for key in _JSON_TIME_KEYS:
        value = record.get(key)
        if isinstance(value, str) and value:
            return f"{key} text", value
        if isinstance(value, int | float) and value == value and not isinstance(value, bool):
            return f"{key} number", value
    return None


def _written_time_key(unit: MemoryUnit) -> TimeKey | None:
    match = _WRITTEN_TIME_PATTERN.match(unit)
    return (f"{len(match[1])}", match[1]) if match else None


def _split_notes(lines: TextLines) -> list[MemoryUnit]:
    """Split at ENTRY_SEPARATOR lines if there are any, else before headings if there are any.

    Otherwise split before list items and after blank lines.
    """
    fenced = False
    separators: list[int] = []
    headings: list[int] = []
    blocks: list[int] = []
    for index, line in enumerate(lines):
        if line.strip() == ENTRY_SEPARATOR:
            separators.append(index)
        text = line.decode("latin-1")  # the patterns match ASCII only
        if FENCE.match(text):
            fenced = not fenced
        elif fenced:
            continue
        elif HEADING.match(text):
            headings.append(index)
        elif _is_top_level_item(text) or (index and not lines[index - 1].strip()):
            blocks.append(index)
    cuts = sorted({0, *(separators or headings or blocks), len(lines)})
    return [b"".join(lines[i:j]) for i, j in pairwise(cuts)]


def _is_top_level_item(line: str) -> bool:
    match = LIST_ITEM.match(line)
    return match is not None and not match[1]
