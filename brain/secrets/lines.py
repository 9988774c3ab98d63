"""A text by its lines, and which of them may hold a key: those with a digit, `_` or `=`."""

from __future__ import annotations

from typing import NamedTuple

SHORTEST = 16
"""Bytes of the shortest secret of a known shape, but for those in PEM."""

_SILENT = bytes(set(range(256)) - set(b"0123456789_="))


class Lines(NamedTuple):
    """Lines, and of each whether it holds a digit, `_` or `=`, as nearly every key does."""

    lines: list[bytes]
    telling: list[bool]

    def long_words(self) -> list[bytes]:
        """Return the words of telling lines that have room for a secret, in order."""
        return [
            word
            for line, tells in zip(self.lines, self.telling, strict=True)
            if tells
            for word in line.split()
            if len(word) >= SHORTEST
        ]


def split(text: bytes) -> Lines:
    """Return the lines of a text."""
    lines = text.split(b"\n")
    return Lines(lines, [bool(line.translate(None, _SILENT)) for line in lines])
