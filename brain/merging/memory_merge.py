"""Union of what two sides appended to a memory file: no unit is lost or duplicated.

A unit is a line of JSON Lines, or a section, list item or paragraph of notes. The units of
each side keep their order. If all of them carry a time, they are interleaved by time;
otherwise one side follows the other, in an order that depends on the bytes only.

Notes with entries as agents write them are merged entry by entry, so that none joins another.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from .lines import (
    FENCE,
    HEADING,
    LIST_ITEM,
    ConflictHunk,
    ContentSides,
    SettleConflict,
    TextLines,
    join_if_clean,
    merge_lines,
    split_lines,
)
from .memory_entries import ParsedMemory, begins_with_block, parse_memory

_JSON_TIME_KEYS = ("timestamp", "time", "ts", "created_at", "created", "date", "at")
_WRITTEN_TIME_PATTERN = re.compile(
    rb"[#*+\-\s\[(]*((?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?|\d{4}-\d\d-\d\d)"
)

_SEPARATOR_SIGN = "§"
ENTRY_SEPARATOR = _SEPARATOR_SIGN.encode()
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


def merge_entries(sides: ContentSides, *, keep_both: bool = False) -> bytes | None:
    """Merge notes entry by entry; with `keep_both`, an entry in conflict stays as on both sides.

    Returns None for a conflict, and for notes that are only headings, lists and paragraphs: they
    are merged by lines.
    """
    base, ours, theirs = (parse_memory((side or b"").decode(), ".md") for side in sides)
    ours, theirs = sorted((ours, theirs), key=lambda side: side.text())  # in either order
    if not keep_both and not (_has_plain_entries(ours) or _has_plain_entries(theirs)):
        return None

    def settle(hunk: ConflictHunk) -> list[bytes] | None:
        size = len(hunk.base)
        if min(len(hunk.ours), len(hunk.theirs)) < size:
            return unite_units(hunk.ours, hunk.theirs, _written_time_key) if keep_both else None
        out: list[bytes] = []
        for was, a, b in zip(*hunk, strict=False):
            text = join_if_clean(merge_lines(split_lines(was), split_lines(a), split_lines(b)))
            if text is None and not keep_both:
                return None
            out += (a, b) if text is None else (text,)
        return out + unite_units(hunk.ours[size:], hunk.theirs[size:], _written_time_key)

    was, a, b = ([one.text.encode() for one in side.entries] for side in (base, ours, theirs))
    texts: list[str] = []
    for piece in merge_lines(was, a, b, settle):
        if isinstance(piece, ConflictHunk):
            return None
        texts += [text.decode() for text in piece]
    merged = _join_entries(texts, base, ours, theirs)
    found = [entry.text for entry in parse_memory(merged, ".md").entries]
    return merged.encode() if found == texts else None


def _has_plain_entries(memory: ParsedMemory) -> bool:
    """Tell whether notes have entries that only a separator keeps apart."""
    return any(
        _SEPARATOR_SIGN in separator or not (number or begins_with_block(text))
        for number, (separator, text) in enumerate(memory.entries)
    )


def _join_entries(
    texts: list[str], base: ParsedMemory, ours: ParsedMemory, theirs: ParsedMemory
) -> str:
    """Return entries as text, with the blanks between and around them as they were."""
    known = {text: separator for side in (theirs, ours) for separator, text in side.entries}
    line_end = max(ours.line_end, theirs.line_end)
    between = f"{line_end}{_SEPARATOR_SIGN}{line_end}"
    leading, trailing = (
        b if a == was else a
        for was, a, b in (
            (base.leading, ours.leading, theirs.leading),
            (base.trailing, ours.trailing, theirs.trailing),
        )
    )
    out = [leading]
    is_separated = bool(texts) and not begins_with_block(texts[0])
    for number, text in enumerate(texts):
        separator = known.get(text, "") if number else ""
        blanks, sign, _ = separator.partition(_SEPARATOR_SIGN)
        if number and ("\n" not in blanks or (is_separated and not sign)):
            separator = between
        is_separated = is_separated or _SEPARATOR_SIGN in separator
        out += [separator, text]
    return "".join([*out, (trailing or line_end) if texts else ""])


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
