"""Three-way merge of lines: diff3.

Lines of the base that both sides kept align the three texts. Each hunk between them was
changed by one side, by both sides alike, or is a conflict (Khanna, Kunal, Pierce: "A
Formal Investigation of Diff3", 2007). The result is symmetric in the two sides, except
for the order of the sides within a `ConflictHunk`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .line_matching import UNMATCHED, match_lines

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
