"""Lines of texts: matching, three-way merge (diff3) and unified differences.

Lines that are unique in both texts are matched first (patience diff), then the spans between
them in the same way; a short span without unique lines is matched by difflib. So the cost is
nearly linear, also for memory files of many thousand records.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..named_tuple import NamedTuple

_MAX_DIFFLIB_LINES = 4000
"""The most lines, of both sides together, that difflib matches."""

UNMATCHED = -1

TextLines = list[bytes]


def match_lines(base: Sequence[bytes], other: Sequence[bytes]) -> list[int]:
    """Return the index in `other` of each line of `base`, or UNMATCHED; indexes ascend."""
    out = [UNMATCHED] * len(base)
    queue = [(0, len(base), 0, len(other))]
    while queue:
        i, stop_i, j, stop_j = queue.pop()
        while i < stop_i and j < stop_j and base[i] == other[j]:
            out[i] = j
            i, j = i + 1, j + 1
        while i < stop_i and j < stop_j and base[stop_i - 1] == other[stop_j - 1]:
            stop_i, stop_j = stop_i - 1, stop_j - 1
            out[stop_i] = stop_j
        if anchors := _find_anchors(base, other, i, stop_i, j, stop_j):
            for at_i, at_j in [*anchors, (stop_i, stop_j)]:
                if i < at_i and j < at_j:
                    queue.append((i, at_i, j, at_j))
                if at_i < stop_i:
                    out[at_i] = at_j
                i, j = at_i + 1, at_j + 1
        elif stop_i - i + stop_j - j <= _MAX_DIFFLIB_LINES:
            from difflib import SequenceMatcher

            matcher = SequenceMatcher(None, base[i:stop_i], other[j:stop_j], autojunk=False)
            for block in matcher.get_matching_blocks():
                for k in range(block.size):
                    out[i + block.a + k] = j + block.b + k
    return out


def _find_anchors(
    base: Sequence[bytes], other: Sequence[bytes], i: int, stop_i: int, j: int, stop_j: int
) -> list[tuple[int, int]]:
    """Return the pairs of lines that are unique on both sides, ascending in both."""
    a_counts, b_counts = Counter(base[i:stop_i]), Counter(other[j:stop_j])
    places = {line: at for at, line in enumerate(other[j:stop_j], j) if b_counts[line] == 1}
    return _longest_increasing(
        [
            (at, places[line])
            for at, line in enumerate(base[i:stop_i], i)
            if a_counts[line] == 1 and line in places
        ]
    )


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
    index = end_indexes[-1]
    while index != UNMATCHED:
        out.append(pairs[index])
        index = predecessors[index]
    return out[::-1]


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


def end_with_newline(lines: TextLines, like: bytes = b"") -> TextLines:
    """Return `lines` with an end of the last one, as in the first or `like` another text has it."""
    if lines and not lines[-1].endswith(b"\n"):
        first = lines[0] if lines[0].endswith(b"\n") else like
        return [*lines[:-1], lines[-1] + (b"\r\n" if first.endswith(b"\r\n") else b"\n")]
    return lines


LF, CRLF, MIXED = "LF", "CRLF", "mixed"
"""How the lines of a text end."""


class ContentSides(NamedTuple):
    """The texts of a merge: of the base, None if it was absent there, and of both sides."""

    base: bytes | None
    ours: bytes
    theirs: bytes


def align_line_ends(sides: ContentSides) -> tuple[ContentSides, str]:
    """Give all sides the line ends of the one that changed them: alone they are no change.

    Also returns these line ends, "" if no side changed them.
    """
    was, ours, theirs = (find_line_ends(side or b"") for side in sides)
    ours, theirs = ours or was, theirs or was  # a side without a line that ends changed none
    if not ours or not theirs or (ours == theirs and (ours in (was, MIXED) or not was)):
        return sides, ""
    if was in (ours, theirs):
        changed = ours if theirs == was else theirs
    else:  # both sides changed them, or there was none
        changed = min(ours, theirs, key=(LF, CRLF, MIXED).index)
    if changed == MIXED:
        leader = sides.ours if changed == ours else sides.theirs
        ends = {line.rstrip(b"\r\n"): line for line in split_lines(leader) if line[-1:] == b"\n"}
    else:
        leader, ends = None, {}

    def convert(text: bytes) -> bytes:
        if text is leader:
            return text
        if changed == MIXED:  # a line that the side has ends as it does there
            return b"".join(ends.get(line.rstrip(b"\r\n"), line) for line in split_lines(text))
        text = text.replace(b"\r\n", b"\n")
        return text if changed == LF else text.replace(b"\n", b"\r\n")

    base = None if sides.base is None else convert(sides.base)
    return ContentSides(base, convert(sides.ours), convert(sides.theirs)), changed


def find_line_ends(text: bytes) -> str:
    """Return LF, CRLF or MIXED, "" for a text without a line that ends."""
    windows = text.count(b"\r\n")
    if windows == text.count(b"\n"):
        return CRLF if windows else ""
    return MIXED if windows else LF


def leave_conflict(hunk: ConflictHunk) -> TextLines | None:
    """Leave every conflict."""
    return None


def merge_lines(
    base: TextLines, ours: TextLines, theirs: TextLines, settle: SettleConflict = leave_conflict
) -> list[MergePiece]:
    """Return the merged text in pieces; `settle` is asked about each conflict."""
    out: list[MergePiece] = []
    for hunk in _align_hunks(base, ours, theirs):
        merged = merge_unambiguous(hunk)
        if isinstance(merged, ConflictHunk) and (settled := settle(hunk)) is not None:
            merged = settled
        out.append(merged)
    return out


def merge_unambiguous(hunk: ConflictHunk) -> MergePiece:
    """Return the lines of the side that changed them; the hunk if both sides did."""
    base, ours, theirs = hunk
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else hunk


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
        k = next((n for n in range(i, len(base)) if UNMATCHED not in (a[n], b[n])), len(base))
        stop_a, stop_b = (a[k], b[k]) if k < len(base) else (len(ours), len(theirs))
        yield ConflictHunk(base[i:k], ours[at_a:stop_a], theirs[at_b:stop_b])
        i, at_a, at_b = k, stop_a, stop_b


MARKER_CODE = "conflict_marker"
MARKER_MESSAGE = "line {}: a conflict marker of an unfinished merge"
"""The notice about what `find_conflict_marker` finds."""
_CONFLICT_MARKER = re.compile(rb"^(?:<{7}|>{7}) ", re.MULTILINE)


def find_conflict_marker(text: bytes) -> int:
    """Return the number of the first line that marks an unfinished merge, 0 without one."""
    if b"<<<<<<< " not in text and b">>>>>>> " not in text:
        return 0
    found = _CONFLICT_MARKER.search(text)
    return text.count(b"\n", 0, found.start()) + 1 if found else 0


CONTEXT_LINES = 3
"""Unchanged lines shown around a change."""
_BINARY_PROBE_BYTES = 8192
"""Bytes that are searched for a NUL."""


class LineCounts(NamedTuple):
    """Lines added and removed."""

    added: int
    removed: int


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
    _, old_lines, new_lines = _drop_common_start(old, new)
    removed = match_lines(old_lines, new_lines).count(UNMATCHED)
    return LineCounts(len(new_lines) - len(old_lines) + removed, removed)


class LineHunk(NamedTuple):
    """Lines near each other that changed, with what stays around them.

    `old` and `new` are the numbers of its first line and of the one behind its last, from 0;
    `lines` are those of a unified diff.
    """

    old: tuple[int, int]
    new: tuple[int, int]
    lines: list[str]


def unified_diff(
    old: bytes, new: bytes, old_name: str, new_name: str, context: int = CONTEXT_LINES
) -> Iterator[str]:
    """Yield the lines of a unified diff, without line ends; none if the texts are equal.

    A last line without a line end is marked as in `diff` and git.
    """
    for number, hunk in enumerate(iter_hunks(old, new, context)):
        if not number:
            yield f"--- {old_name}"
            yield f"+++ {new_name}"
        yield f"@@ -{_hunk_range(*hunk.old)} +{_hunk_range(*hunk.new)} @@"
        yield from hunk.lines


def iter_hunks(old: bytes, new: bytes, context: int = CONTEXT_LINES) -> Iterator[LineHunk]:
    """Yield the hunks of a unified diff with so many unchanged lines around each change."""
    if old == new:
        return
    from difflib import Match, SequenceMatcher

    start, old_lines, new_lines = _drop_common_start(old, new)
    matches = match_lines(old_lines, new_lines)
    blocks: list[Match] = []
    for i, j in enumerate([*matches, len(new_lines)]):
        if j == UNMATCHED:
            continue
        a, b, size = blocks[-1] if blocks else (-1, -1, 0)
        if (a + size, b + size) == (i, j) and i < len(matches):
            blocks[-1] = Match(a, b, size + 1)
        else:
            blocks.append(Match(i, j, int(i < len(matches))))
    matcher: SequenceMatcher[str] = SequenceMatcher(None, [], [], autojunk=False)
    matcher.matching_blocks = blocks  # type: ignore[attr-defined]  # what difflib would find
    for group in matcher.get_grouped_opcodes(context):
        text: list[str] = []
        for tag, i1, i2, j1, j2 in group:
            text += _prefix_lines(" " if tag == "equal" else "-", old_lines[i1:i2])
            if tag != "equal":
                text += _prefix_lines("+", new_lines[j1:j2])
        a1, a2, b1, b2 = (start + n for n in (group[0][1], group[-1][2], group[0][3], group[-1][4]))
        yield LineHunk((a1, a2), (b1, b2), text)


def apply_hunks(old: bytes, new: bytes, chosen: Sequence[bool], context: int) -> bytes:
    """Return the old text with those of its hunks that are chosen, in their order."""
    before, after = split_lines(old), split_lines(new)
    out: TextLines = []
    at = 0
    for hunk, is_chosen in zip(iter_hunks(old, new, context), chosen, strict=True):
        if is_chosen:
            out += before[at : hunk.old[0]] + after[slice(*hunk.new)]
            at = hunk.old[1]
    return b"".join(out + before[at:])


def _drop_common_start(old: bytes, new: bytes) -> tuple[int, TextLines, TextLines]:
    """Return the lines from a few before the first difference on, and the number of those before.

    The common start is skipped as bytes: the cost of a record appended to a large memory file
    depends on the record only.
    """
    start = old.rfind(b"\n", 0, _common_length(old, new)) + 1
    for _ in range(CONTEXT_LINES):
        start = old.rfind(b"\n", 0, max(start - 1, 0)) + 1
    return old.count(b"\n", 0, start), split_lines(old[start:]), split_lines(new[start:])


def _common_length(one: bytes, other: bytes) -> int:
    """Return the length of the common start of two texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        half = (low + high + 1) // 2
        if one[low:half] == other[low:half]:
            low = half
        else:
            high = half - 1
    return low


def _hunk_range(start: int, stop: int) -> str:
    length = stop - start
    at = start + (1 if length else 0)
    return str(at) if length == 1 else f"{at},{length}"


def _prefix_lines(mark: str, lines: TextLines) -> Iterator[str]:
    for line in lines:
        text = mark + line.decode("utf-8", "surrogateescape")
        if text.endswith("\n"):
            yield text[:-1]
        else:
            yield text
            yield "\\ No newline at end of file"


HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
"""A heading: its marks and its text."""
LIST_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)")
"""A list item: its indentation and its text."""
FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
"""A line that opens a block of code: its marks. In a list, it may be indented by any width."""
