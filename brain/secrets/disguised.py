"""Secrets of a known shape that are cut over lines, or written in base64."""

from __future__ import annotations

import binascii
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from . import shapes
from .expression import expression
from .lines import SHORTEST, Lines
from .shapes import Hit

_EDGES = b" \t\r\"'`\\+>#|*,;(){}[]"
"""What stands around the pieces of a text that was cut: quotes, signs of joining, margins."""
_LEAST = 24
_BASE64 = expression(rb"[A-Za-z0-9+/_-]{24,}")
_STANDARD = bytes.maketrans(b"-_", b"+/")
_NOT_CAPITALS = bytes(set(range(256)) - set(range(ord("A"), ord("Z") + 1)))
_FEWEST_CAPITALS = 4
_SHIFTED = 64 << 10
"""Up to so many bytes are also read from the second, third and fourth letter on."""


class _Joined:
    """Pieces at the ends of lines, put together with what the next line begins with."""

    def __init__(self) -> None:
        self.text = bytearray()
        self.starts: list[int] = []
        self.origins: list[int] = []

    def add(self, pieces: list[tuple[int, bytes]]) -> None:
        """Add a run of pieces, each with its place in the content."""
        for origin, piece in pieces:
            self.starts.append(len(self.text))
            self.origins.append(origin)
            self.text += piece
        self.text += b"\n"

    def piece_at(self, place: int) -> int:
        return bisect_right(self.starts, place) - 1


def scan(text: bytes, cut: Lines, long: list[bytes]) -> Iterator[Hit]:
    """Yield the secrets that stand over several lines, or in base64.

    `cut` are the lines of `text`, and `long` their long words.
    """
    joined = _join(cut)
    whole = bytes(joined.text)
    for rule, start, stop, secret in [*_cut(whole), *_encoded(whole, whole.split())]:
        first, last = joined.piece_at(start), joined.piece_at(stop - 1)
        if first != last:
            origin = joined.origins[first] + start - joined.starts[first]
            end = joined.origins[last] + stop - joined.starts[last]
            yield Hit(rule, origin, end, secret)
    yield from _encoded(text, long)


def _cut(joined: bytes) -> Iterator[Hit]:
    if shapes.any_in(joined):
        yield from shapes.named(joined)


def _join(cut: Lines) -> _Joined:
    """Put together the last word of a line and the first of the next, where one tells."""
    joined = _Joined()
    starts = list(accumulate(map(len, cut.lines), initial=0))
    near = {*cut.telling, *(number - 1 for number in cut.telling if number)}
    run: list[tuple[int, bytes]] = []
    number = length = 0
    for begin in sorted(near):
        number = max(number, begin)
        while number < len(cut.lines) and (number in near or run):
            line, at, tells = cut.lines[number], starts[number] + number, number in near
            number += 1
            core = line.strip(_EDGES)
            offset = at + line.find(core)
            first, space, rest = core.partition(b" ")
            if first:
                run.append((offset, first))
                length += len(first)
            if first and not space:
                continue
            if len(run) > 1 and length >= SHORTEST:
                joined.add(run)
            last = rest.rpartition(b" ")[2] if tells else b""
            run, length = [(offset + len(core) - len(last), last)] if last else [], len(last)
    if len(run) > 1 and length >= SHORTEST:
        joined.add(run)
    return joined


def _encoded(text: bytes, words: list[bytes]) -> Iterator[Hit]:
    """Yield base64 that holds a secret of a known shape; `words` are of `text`, in order."""
    at = 0
    for word in words:
        if len(word) < _LEAST:
            continue
        at = text.find(word, at)
        for match in _BASE64().finditer(word):
            rule = _rule_inside(match[0])
            if rule:
                yield Hit(f"{rule}-base64", at + match.start(), at + match.end(), match[0])
        at += len(word)


def _rule_inside(run: bytes) -> str:
    if len(run.translate(None, _NOT_CAPITALS)) < _FEWEST_CAPITALS:
        return ""  # words with hyphens, a path
    standard = run.translate(_STANDARD)
    for shift in range(4 if len(run) <= _SHIFTED else 1):
        stop = shift + (len(run) - shift) // 4 * 4
        left = standard[stop:]
        tail = left + b"=" * (-len(left) % 4) if len(left) > 1 else b""
        inside = binascii.a2b_base64(standard[shift:stop] + tail)
        for hit in shapes.scan(inside, inside.split()):
            return hit.rule
    return ""
