"""Three-way merge of lines, in the manner of diff3.

The lines of the base that both sides kept hold the texts together; each stretch
between them was changed by one side, by both alike, or is contested (Khanna,
Kunal, Pierce: "A Formal Investigation of Diff3", 2007). Nothing here depends on
which side is called first, but for the order within a `Stretch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .match import NONE, partners

Lines = list[bytes]


class Stretch(NamedTuple):
    """Lines that stand at one place in the base and on either side."""

    base: Lines
    ours: Lines
    theirs: Lines


Piece = Lines | Stretch
"""Merged lines, or a stretch that is contested."""

Settle = Callable[[Stretch], Lines | None]
"""Decides a contested stretch, or returns None."""


def split(content: bytes) -> Lines:
    """Return the lines of `content`, each with its line feed; the last may have none."""
    whole = content.split(b"\n")
    lines = [line + b"\n" for line in whole[:-1]]
    return [*lines, whole[-1]] if whole[-1] else lines


def contest(stretch: Stretch) -> Lines | None:
    """Settle nothing."""
    return None


def merge(base: Lines, ours: Lines, theirs: Lines, settle: Settle = contest) -> list[Piece]:
    """Return the merged text in pieces."""
    out: list[Piece] = []
    for stretch in _stretches(base, ours, theirs):
        settled = _plain(stretch)
        if settled is None:
            settled = settle(stretch)
        out.append(stretch if settled is None else settled)
    return out


def joined(pieces: Iterable[Piece]) -> bytes | None:
    """Return the merged text, or None if some of it is contested."""
    lines: Lines = []
    for piece in pieces:
        if isinstance(piece, Stretch):
            return None
        lines += piece
    return b"".join(lines)


def settled(pieces: Iterable[Piece], settle: Callable[[Stretch], Lines]) -> bytes:
    """Return the merged text with each contested stretch decided by `settle`."""
    lines: Lines = []
    for piece in pieces:
        lines += settle(piece) if isinstance(piece, Stretch) else piece
    return b"".join(lines)


def _plain(stretch: Stretch) -> Lines | None:
    base, ours, theirs = stretch
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else None


def _stretches(base: Lines, ours: Lines, theirs: Lines) -> Iterator[Stretch]:
    a, b = partners(base, ours), partners(base, theirs)
    i = at_a = at_b = 0
    while i < len(base) or at_a < len(ours) or at_b < len(theirs):
        k = i
        while k < len(base) and a[k] == at_a + k - i and b[k] == at_b + k - i:
            k += 1
        if k > i:
            kept = base[i:k]
            yield Stretch(kept, kept, kept)
            i, at_a, at_b = k, at_a + k - i, at_b + k - i
            continue
        k = _next_common(a, b, i)
        stop_a, stop_b = (a[k], b[k]) if k < len(base) else (len(ours), len(theirs))
        yield Stretch(base[i:k], ours[at_a:stop_a], theirs[at_b:stop_b])
        i, at_a, at_b = k, stop_a, stop_b


def _next_common(a: Sequence[int], b: Sequence[int], start: int) -> int:
    k = start
    while k < len(a) and (a[k] == NONE or b[k] == NONE):
        k += 1
    return k
