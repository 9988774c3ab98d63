"""Matches the lines of two texts: patience diff, with difflib for short rests.

Lines that occur once in both are matched first, as in patience diff; what lies
between them, by the lines that occur once there, and so on; a short rest without
such lines, by difflib. So the cost stays near the length of the texts, which counts
for a memory of many thousand records as for a skill of many versions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence

_MAX_DIFFLIB_LINES = 4000
"""Lines of two sides together that are still matched with each other one by one."""

UNMATCHED = -1

LineSpan = tuple[int, int]
"""Some lines of a text: the first one, and the one after the last."""


def match_lines(base: Sequence[bytes], other: Sequence[bytes]) -> list[int]:
    """Return for each line of `base` the index of its line in `other`, or NONE; ascending."""
    out = [UNMATCHED] * len(base)
    left = [((0, len(base)), (0, len(other)))]
    while left:
        ours, theirs = _match_common_ends(base, other, *left.pop(), out)
        if set(base[slice(*ours)]).isdisjoint(other[slice(*theirs)]):
            continue
        anchors = _find_anchors(base, other, ours, theirs)
        if anchors:
            left += _match_from_anchors(base, other, ours, theirs, anchors, out)
        elif ours[1] - ours[0] + theirs[1] - theirs[0] <= _MAX_DIFFLIB_LINES:
            _match_with_difflib(base, other, ours, theirs, out)
    return out


def _match_common_ends(
    base: Sequence[bytes], other: Sequence[bytes], ours: LineSpan, theirs: LineSpan, out: list[int]
) -> tuple[LineSpan, LineSpan]:
    """Match what two spans begin and end with; return the rest of them."""
    (i, stop_i), (j, stop_j) = ours, theirs
    while i < stop_i and j < stop_j and base[i] == other[j]:
        out[i] = j
        i, j = i + 1, j + 1
    while i < stop_i and j < stop_j and base[stop_i - 1] == other[stop_j - 1]:
        stop_i, stop_j = stop_i - 1, stop_j - 1
        out[stop_i] = stop_j
    return (i, stop_i), (j, stop_j)


def _match_from_anchors(
    base: Sequence[bytes],
    other: Sequence[bytes],
    ours: LineSpan,
    theirs: LineSpan,
    anchors: Iterable[tuple[int, int]],
    out: list[int],
) -> list[tuple[LineSpan, LineSpan]]:
    """Match lines that belong together, and what is equal after each; return what lies between."""
    between = []
    (i, stop_i), (j, stop_j) = ours, theirs
    for at_i, at_j in anchors:
        if at_i < i:  # one of those that were equal after an earlier one
            continue
        if i < at_i and j < at_j:
            between.append(((i, at_i), (j, at_j)))
        i, j = at_i, at_j
        while i < stop_i and j < stop_j and base[i] == other[j]:
            out[i] = j
            i, j = i + 1, j + 1
    if i < stop_i and j < stop_j:
        between.append(((i, stop_i), (j, stop_j)))
    return between


def _match_with_difflib(
    base: Sequence[bytes], other: Sequence[bytes], ours: LineSpan, theirs: LineSpan, out: list[int]
) -> None:
    from difflib import SequenceMatcher

    a, b = base[slice(*ours)], other[slice(*theirs)]
    for block in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
        for k in range(block.size):
            out[ours[0] + block.a + k] = theirs[0] + block.b + k


def _find_anchors(
    base: Sequence[bytes], other: Sequence[bytes], ours: LineSpan, theirs: LineSpan
) -> list[tuple[int, int]]:
    """Return pairs of lines that occur once on either side, ascending in both."""
    there = _find_unique_lines(other, theirs)
    pairs = [
        (i, there[line]) for line, i in _find_unique_lines(base, ours).items() if line in there
    ]
    return _longest_increasing(sorted(pairs))


def _find_unique_lines(lines: Sequence[bytes], span: LineSpan) -> dict[bytes, int]:
    some = lines[slice(*span)]
    counts = Counter(some)
    return {line: i for i, line in enumerate(some, span[0]) if counts[line] == 1}


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of `pairs` that rises in its second items."""
    there = [j for _, j in pairs]
    if there == sorted(there):  # nothing was moved: the usual case
        return pairs
    ends: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for place, j in enumerate(there):
        length = bisect_left(ends, j)
        before.append(at[length - 1] if length else UNMATCHED)
        ends[length : length + 1] = [j]
        at[length : length + 1] = [place]
    out = []
    place = at[-1] if at else UNMATCHED
    while place != UNMATCHED:
        out.append(pairs[place])
        place = before[place]
    return out[::-1]
