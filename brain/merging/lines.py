"""Lines of texts: matching, three-way merge (diff3) and unified differences."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

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


TextLines = list[bytes]


class ConflictHunk(NamedTuple):
    """The lines of one aligned place: in the base and on both sides."""

    base: TextLines
    ours: TextLines
    theirs: TextLines


MergePiece = TextLines | ConflictHunk
"""Merged lines, or a conflict."""

SettleConflict = Callable[[ConflictHunk], TextLines | None]
"""Returns the lines that settle a conflict, or None to leave it."""


def split_lines(content: bytes) -> TextLines:
    """Return the lines of `content`, each with its line feed; the last may lack one."""
    *complete, last = content.split(b"\n")
    lines = [line + b"\n" for line in complete]
    return [*lines, last] if last else lines


def end_with_newline(lines: TextLines) -> TextLines:
    """Return `lines` with a line feed after the last one, so that more lines can follow."""
    if lines and not lines[-1].endswith(b"\n"):
        return [*lines[:-1], lines[-1] + b"\n"]
    return lines


def leave_conflict(hunk: ConflictHunk) -> TextLines | None:
    """Leave every conflict."""
    return None


def merge_lines(
    base: TextLines, ours: TextLines, theirs: TextLines, settle: SettleConflict = leave_conflict
) -> list[MergePiece]:
    """Return the merged text in pieces; `settle` is asked about each conflict."""
    out: list[MergePiece] = []
    for hunk in _align_hunks(base, ours, theirs):
        settled = _merge_unambiguous(hunk)
        if settled is None:
            settled = settle(hunk)
        out.append(hunk if settled is None else settled)
    return out


def join_if_clean(pieces: Iterable[MergePiece]) -> bytes | None:
    """Return the merged text, or None if a conflict remains."""
    lines: TextLines = []
    for piece in pieces:
        if isinstance(piece, ConflictHunk):
            return None
        lines += piece
    return b"".join(lines)


def join_settled(
    pieces: Iterable[MergePiece], settle: Callable[[ConflictHunk], TextLines]
) -> bytes:
    """Return the merged text with each conflict replaced by the lines of `settle`."""
    lines: TextLines = []
    for piece in pieces:
        lines += settle(piece) if isinstance(piece, ConflictHunk) else piece
    return b"".join(lines)


def _merge_unambiguous(hunk: ConflictHunk) -> TextLines | None:
    base, ours, theirs = hunk
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else None


def _align_hunks(base: TextLines, ours: TextLines, theirs: TextLines) -> Iterator[ConflictHunk]:
    a, b = match_lines(base, ours), match_lines(base, theirs)
    i = at_a = at_b = 0
    while i < len(base) or at_a < len(ours) or at_b < len(theirs):
        k = i
        while k < len(base) and a[k] == at_a + k - i and b[k] == at_b + k - i:
            k += 1
        if k > i:
            common = base[i:k]
            yield ConflictHunk(common, common, common)
            i, at_a, at_b = k, at_a + k - i, at_b + k - i
            continue
        k = _next_common_line(a, b, i)
        stop_a, stop_b = (a[k], b[k]) if k < len(base) else (len(ours), len(theirs))
        yield ConflictHunk(base[i:k], ours[at_a:stop_a], theirs[at_b:stop_b])
        i, at_a, at_b = k, stop_a, stop_b


def _next_common_line(a: Sequence[int], b: Sequence[int], start: int) -> int:
    k = start
    while k < len(a) and (a[k] == UNMATCHED or b[k] == UNMATCHED):
        k += 1
    return k


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


HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
"""A heading: its marks and its text."""
LIST_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)")
"""A list item: its indentation and its text."""
FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
"""A line that opens a block of code: its marks. In a list, it may be indented by any width."""
