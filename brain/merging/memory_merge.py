"""Merges what two sides appended to one memory: nothing lost, nothing twice.

A unit is a line of JSON Lines; in notes it is a section, a list item or a
paragraph. Each side's units keep their order. Where all of them carry a time,
they are put in the order of time; else one side follows the other, and which
one comes first is decided by the bytes, not by who merges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from .diff3 import ConflictHunk, SettleConflict, TextLines

_JSON_TIME_KEYS = ("timestamp", "time", "ts", "created_at", "created", "date", "at")
_WRITTEN_TIME_PATTERN = re.compile(
    rb"[#*+\-\s\[(]*((?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?|\d{4}-\d\d-\d\d)"
)
_HEADING_START = re.compile(rb"#{1,6}[ \t]")
_LIST_ITEM_START = re.compile(rb"(?:[-*+]|\d+[.)])[ \t]")
_FENCE_START = re.compile(rb"[ \t]*(```|~~~)")

ENTRY_SEPARATOR = "§".encode()
"""What stands on a line of its own between two entries of a memory."""

MemoryUnit = bytes
TimeKey = tuple[str, Any]


def settle_json_lines(hunk: ConflictHunk) -> TextLines | None:
    """Settle a stretch of JSON Lines."""
    return _settle_units(
        hunk, lambda lines: [line for line in lines if line.strip()], _json_time_key
    )


def settle_notes(hunk: ConflictHunk) -> TextLines | None:
    """Settle a stretch of notes in Markdown."""
    return _settle_units(hunk, _split_notes, _written_time_key)


SETTLE_RULES: dict[str, SettleConflict] = {
    ".jsonl": settle_json_lines,
    ".ndjson": settle_json_lines,
    ".md": settle_notes,
}
"""How files of the section `memory` are settled, by the end of their names."""


def end_with_newline(lines: TextLines) -> TextLines:
    """Return `lines` with a line feed at the end of the last one, so that more can follow."""
    if lines and not lines[-1].endswith(b"\n"):
        return [*lines[:-1], lines[-1] + b"\n"]
    return lines


def _settle_units(
    hunk: ConflictHunk,
    split_units: Callable[[TextLines], list[MemoryUnit]],
    time_of: Callable[[MemoryUnit], TimeKey | None],
) -> TextLines | None:
    """Merge what replaces the lines of the base one by one, and unite what follows them."""
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
    """Return all units of both sides; one that both have, the fewest times it is needed."""
    a, b = sorted((list(ours), list(theirs)))
    same = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    return a[:same] + _interleave_by_time(a[same:], _subtract_units(b[same:], a[same:]), time_of)


def _interleave_by_time(
    a: list[MemoryUnit], b: list[MemoryUnit], time_of: Callable[[MemoryUnit], TimeKey | None]
) -> list[MemoryUnit]:
    """Return the units of both sides, by time if all have one, else `a` first."""
    moments = {unit: time_of(unit) for unit in (*a, *b)}
    kinds = {moment[0] if moment else "" for moment in moments.values()}
    if len(kinds) != 1 or "" in kinds:
        return a + b
    out: list[MemoryUnit] = []
    i = j = 0
    while i < len(a) and j < len(b):
        if moments[b[j]][1] < moments[a[i]][1]:  # type: ignore[index]  # none is missing here
            out.append(b[j])
            j += 1
        else:
            out.append(a[i])
            i += 1
    return out + a[i:] + b[j:]


def _subtract_units(units: list[MemoryUnit], others: list[MemoryUnit]) -> list[MemoryUnit]:
    """Return `units` less those that `others` has too, counted."""
    from collections import Counter

    there = Counter(others)
    out = []
    for unit in units:
        if there[unit] > 0:
            there[unit] -= 1
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
    """Cut before entries that agents set apart by lines with a § alone, if there are any.

    Else cut at headings if there are any, else at list items and after blank lines.
    """
    fenced, starts, headings = False, [0], []
    apart = [place for place, line in enumerate(lines) if line.strip() == ENTRY_SEPARATOR]
    for place, line in enumerate(lines):
        if _FENCE_START.match(line):
            fenced = not fenced
        elif not fenced and _HEADING_START.match(line):
            headings.append(place)
        elif not fenced and (
            _LIST_ITEM_START.match(line) or (place and not lines[place - 1].strip())
        ):
            starts.append(place)
    cuts = sorted({0, *(apart or headings or starts), len(lines)})
    return [b"".join(lines[i:j]) for i, j in pairwise(cuts)]
