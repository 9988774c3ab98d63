"""Line differences of texts, as counts and as unified diff.

The common start and end of two texts are skipped, so that the cost of a record appended to a
large memory file depends on the record only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

DiffOpcode = tuple[str, int, int, int, int]

CONTEXT_LINES = 3
"""Unchanged lines shown around a change."""
_BINARY_PROBE_BYTES = 8192
"""Bytes that are searched for a NUL."""
_MAX_MATCHED_LINES = 20_000
"""Changed lines of both texts that are matched line by line."""


class LineCounts(NamedTuple):
    """Lines added and removed."""

    added: int
    removed: int


class ChangedRegion(NamedTuple):
    """The lines of two texts between their common first and last lines.

    `lead` and `tail` are up to CONTEXT_LINES common lines before and after; `start` is the
    number of all lines before.
    """

    start: int
    lead: list[str]
    old: list[str]
    new: list[str]
    tail: list[str]


def is_binary(content: bytes) -> bool:
    """Tell whether content is not text: it has a NUL near its start, or is not UTF-8."""
    if b"\0" in content[:_BINARY_PROBE_BYTES]:
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return True
    return False


def count_changed_lines(old: bytes, new: bytes) -> LineCounts:
    """Count the lines that were added and removed."""
    region = _find_changed_region(old, new)
    common = sum(i2 - i1 for tag, i1, i2, _, _ in _match_lines(region) if tag == "equal")
    return LineCounts(len(region.new) - common, len(region.old) - common)


def unified_diff(old: bytes, new: bytes, old_name: str, new_name: str) -> Iterator[str]:
    """Yield the lines of a unified diff, without line ends; none if the texts are equal.

    A last line without a line end is marked as in `diff` and git.
    """
    if old == new:
        return
    region = _find_changed_region(old, new)
    yield f"--- {old_name}"
    yield f"+++ {new_name}"
    for hunk in _build_hunks(region):
        yield from hunk


def _find_changed_region(old: bytes, new: bytes) -> ChangedRegion:
    prefix = _common_prefix_length(old, new)
    suffix = _common_suffix_length(old, new, min(len(old), len(new)) - prefix)
    lines_before = old.count(b"\n", 0, prefix)
    lead_at = _context_start(old, prefix)
    tail_to = _context_end(old, len(old) - suffix)
    return ChangedRegion(
        lines_before,
        _split_lines(old[lead_at:prefix]),
        _split_lines(old[prefix : len(old) - suffix]),
        _split_lines(new[prefix : len(new) - suffix]),
        _split_lines(old[len(old) - suffix : tail_to]),
    )


def _common_prefix_length(old: bytes, new: bytes) -> int:
    """Return the length of the common start, up to the end of a line."""
    low, high = 0, min(len(old), len(new))
    if old[:high] == new[:high]:
        low = high
    while high - low > 1:
        half = (low + high) // 2
        if old[low:half] == new[low:half]:
            low = half
        else:
            high = half
    return old.rfind(b"\n", 0, low) + 1


def _common_suffix_length(old: bytes, new: bytes, limit: int) -> int:
    """Return the length of the common end, at most `limit`, from the start of a line."""
    low, high = 0, limit
    if limit and old[-limit:] == new[-limit:]:
        low = high
    while high - low > 1:
        half = (low + high) // 2
        if old[len(old) - half : len(old) - low] == new[len(new) - half : len(new) - low]:
            low = half
        else:
            high = half
    if low == limit and _is_line_start(old, len(old) - low) and _is_line_start(new, len(new) - low):
        return low
    at = old.find(b"\n", len(old) - low)
    return len(old) - at - 1 if at >= 0 else 0


def _is_line_start(text: bytes, at: int) -> bool:
    return at == 0 or text[at - 1 : at] == b"\n"


def _context_start(text: bytes, at: int) -> int:
    for _ in range(CONTEXT_LINES + 1):
        at = text.rfind(b"\n", 0, max(at, 0))
        if at < 0:
            return 0
    return at + 1


def _context_end(text: bytes, at: int) -> int:
    for _ in range(CONTEXT_LINES):
        end = text.find(b"\n", at)
        if end < 0:
            return len(text)
        at = end + 1
    return at


def _split_lines(text: bytes) -> list[str]:
    """Split at line feeds only, unlike `str.splitlines`."""
    *complete, last = text.decode("utf-8", "surrogateescape").split("\n")
    lines = [line + "\n" for line in complete]
    return [*lines, last] if last else lines


def _match_lines(region: ChangedRegion) -> list[DiffOpcode]:
    """Return difflib's opcodes between the changed lines."""
    if len(region.old) + len(region.new) > _MAX_MATCHED_LINES:
        return [("replace", 0, len(region.old), 0, len(region.new))]
    from difflib import SequenceMatcher

    return list(SequenceMatcher(None, region.old, region.new, autojunk=False).get_opcodes())


def _build_hunks(region: ChangedRegion) -> Iterator[list[str]]:
    from difflib import SequenceMatcher

    old = region.lead + region.old + region.tail
    new = region.lead + region.new + region.tail
    first = region.start - len(region.lead)
    matcher: SequenceMatcher[str] = SequenceMatcher(None, [], [], autojunk=False)
    # So the common lines on both sides always match each other.
    matcher.opcodes = _add_context(region)  # type: ignore[attr-defined]  # difflib's cache
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        a1, a2, b1, b2 = group[0][1], group[-1][2], group[0][3], group[-1][4]
        hunk = [f"@@ -{_hunk_range(first, a1, a2)} +{_hunk_range(first, b1, b2)} @@"]
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                hunk += _prefix_lines(" ", old[i1:i2])
            else:
                hunk += _prefix_lines("-", old[i1:i2]) + _prefix_lines("+", new[j1:j2])
        yield hunk


def _add_context(region: ChangedRegion) -> list[DiffOpcode]:
    lead, tail = len(region.lead), len(region.tail)
    old, new = len(region.old), len(region.new)
    inner = [
        ("equal", -lead, 0, -lead, 0),
        *_match_lines(region),
        ("equal", old, old + tail, new, new + tail),
    ]
    opcodes: list[DiffOpcode] = []
    for tag, *offsets in inner:
        i1, i2, j1, j2 = (offset + lead for offset in offsets)
        if opcodes and tag == "equal" == opcodes[-1][0]:
            opcodes[-1] = ("equal", opcodes[-1][1], i2, opcodes[-1][3], j2)
        elif i2 > i1 or j2 > j1:
            opcodes.append((tag, i1, i2, j1, j2))
    return opcodes


def _hunk_range(first: int, start: int, stop: int) -> str:
    length = stop - start
    at = first + start + (1 if length else 0)
    return str(at) if length == 1 else f"{at},{length}"


def _prefix_lines(mark: str, lines: list[str]) -> list[str]:
    out = []
    for line in lines:
        if line.endswith("\n"):
            out.append(mark + line[:-1])
        else:
            out += [mark + line, "\\ No newline at end of file"]
    return out
