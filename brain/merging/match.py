"""Which lines of two texts belong together.

Lines that occur once in both are matched first, as in patience diff; what lies
between them, if it is short, by difflib. So the cost stays near the length of the
texts, which for a memory of many thousand records is what counts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

_MOST = 4000
"""Lines of two sides together that are still matched with each other one by one."""

NONE = -1


def partners(base: Sequence[bytes], other: Sequence[bytes]) -> list[int]:
    """Return for each line of `base` the index of its line in `other`, or NONE; ascending."""
    out = [NONE] * len(base)
    _match(base, other, (0, len(base)), (0, len(other)), out)
    return out


def _match(
    base: Sequence[bytes],
    other: Sequence[bytes],
    ours: tuple[int, int],
    theirs: tuple[int, int],
    out: list[int],
) -> None:
    """Fill `out` for the lines `ours` of `base` and `theirs` of `other`, as ranges."""
    (i, stop_i), (j, stop_j) = ours, theirs
    while i < stop_i and j < stop_j and base[i] == other[j]:
        out[i] = j
        i, j = i + 1, j + 1
    while i < stop_i and j < stop_j and base[stop_i - 1] == other[stop_j - 1]:
        stop_i, stop_j = stop_i - 1, stop_j - 1
        out[stop_i] = stop_j
    if i == stop_i or j == stop_j:
        return
    if stop_i - i + stop_j - j <= _MOST:
        _match_closely(base, other, (i, stop_i), (j, stop_j), out)
        return
    last_i, last_j = i, j
    anchors = _anchors(base, other, (i, stop_i), (j, stop_j))
    for at_i, at_j in anchors:
        out[at_i] = at_j
        _match(base, other, (last_i, at_i), (last_j, at_j), out)
        last_i, last_j = at_i + 1, at_j + 1
    if anchors:
        _match(base, other, (last_i, stop_i), (last_j, stop_j), out)


def _match_closely(
    base: Sequence[bytes],
    other: Sequence[bytes],
    ours: tuple[int, int],
    theirs: tuple[int, int],
    out: list[int],
) -> None:
    from difflib import SequenceMatcher

    a, b = base[slice(*ours)], other[slice(*theirs)]
    for block in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
        for k in range(block.size):
            out[ours[0] + block.a + k] = theirs[0] + block.b + k


def _anchors(
    base: Sequence[bytes],
    other: Sequence[bytes],
    ours: tuple[int, int],
    theirs: tuple[int, int],
) -> list[tuple[int, int]]:
    """Return pairs of lines that occur once on either side, ascending in both."""
    there = _once(other, theirs)
    pairs = [(i, there[line]) for line, i in _once(base, ours).items() if line in there]
    return _rising(sorted(pairs))


def _once(lines: Sequence[bytes], span: tuple[int, int]) -> dict[bytes, int]:
    counts = Counter(lines[i] for i in range(*span))
    return {lines[i]: i for i in range(*span) if counts[lines[i]] == 1}


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of `pairs` that rises in its second items."""
    ends: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for place, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(at[length - 1] if length else NONE)
        ends[length : length + 1] = [j]
        at[length : length + 1] = [place]
    out = []
    place = at[-1] if at else NONE
    while place != NONE:
        out.append(pairs[place])
        place = before[place]
    return out[::-1]
