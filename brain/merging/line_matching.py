"""Line matching: patience diff, with difflib for short spans.

Lines that are unique in both texts are matched first (patience diff), then the spans between
them in the same way; a short span without unique lines is matched by difflib. So the cost
is nearly linear, also for memory files of many thousand records.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence

_MAX_DIFFLIB_LINES = 4000
"""The most lines, of both sides together, that difflib matches."""

UNMATCHED = -1

LineSpan = tuple[int, int]
"""The index of the first line, and the index after the last."""


def match_lines(base: Sequence[bytes], other: Sequence[bytes]) -> list[int]:
    """Return the index in `other` of each line of `base`, or UNMATCHED; indexes ascend."""
    out = [UNMATCHED] * len(base)
    queue = [((0, len(base)), (0, len(other)))]
    while queue:
        ours, theirs = _match_common_ends(base, other, *queue.pop(), out)
        if set(base[slice(*ours)]).isdisjoint(other[slice(*theirs)]):
            continue
        anchors = _find_anchors(base, other, ours, theirs)
        if anchors:
            queue += _match_from_anchors(base, other, ours, theirs, anchors, out)
        elif ours[1] - ours[0] + theirs[1] - theirs[0] <= _MAX_DIFFLIB_LINES:
            _match_with_difflib(base, other, ours, theirs, out)
    return out


def _match_common_ends(
    base: Sequence[bytes], other: Sequence[bytes], ours: LineSpan, theirs: LineSpan, out: list[int]
) -> tuple[LineSpan, LineSpan]:
    """Match the common first and last lines of two spans; return the remaining spans."""
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
    """Match the anchors and the equal lines after each; return the spans between them."""
    between = []
    (i, stop_i), (j, stop_j) = ours, theirs
    for at_i, at_j in anchors:
        if at_i < i:  # matched already, after an earlier anchor
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
    """Return the pairs of lines that are unique on both sides, ascending in both."""
    ours_unique, unique = _find_unique_lines(base, ours), _find_unique_lines(other, theirs)
    pairs = [(i, unique[line]) for line, i in ours_unique.items() if line in unique]
    return _longest_increasing(sorted(pairs))


def _find_unique_lines(lines: Sequence[bytes], span: LineSpan) -> dict[bytes, int]:
    spanned = lines[slice(*span)]
    counts = Counter(spanned)
    return {line: i for i, line in enumerate(spanned, span[0]) if counts[line] == 1}


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of `pairs` that rises in its second items."""
    seconds = [j for _, j in pairs]
    if seconds == sorted(seconds):  # the usual case: no line was moved
        return pairs
    ends: list[int] = []  # the least last item of a subsequence, by its length
    end_indexes: list[int] = []
    predecessors: list[int] = []
    for index, j in enumerate(seconds):
        length = bisect_left(ends, j)
        predecessors.append(end_indexes[length - 1] if length else UNMATCHED)
        ends[length : length + 1] = [j]
        end_indexes[length : length + 1] = [index]
    out = []
    index = end_indexes[-1] if end_indexes else UNMATCHED
    while index != UNMATCHED:
        out.append(pairs[index])
        index = predecessors[index]
    return out[::-1]
