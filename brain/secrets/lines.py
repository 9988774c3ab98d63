"""A text by its lines, and which of them may hold a key: those with a digit, `_` or `=`."""

from __future__ import annotations

from itertools import compress, count
from typing import NamedTuple

SHORTEST = 16
"""Bytes of the shortest secret of a known shape, but for those in PEM."""

_SILENT = bytes(set(range(256)) - set(b"0123456789_=\n"))


class Lines(NamedTuple):
    """Lines, and the numbers of those with a digit, `_` or `=`, as nearly every key has one."""

    lines: list[bytes]
    telling: list[int]

    def long_words(self) -> list[bytes]:
        """Return the words of telling lines that have room for a secret, in order."""
        lines = self.lines
        return [
            word
            for number in self.telling
            for word in lines[number].split()
            if len(word) >= SHORTEST
        ]


def split(text: bytes) -> Lines:
    """Return the lines of a text."""
    signs = text.translate(None, _SILENT).split(b"\n")
    return Lines(text.split(b"\n"), list(compress(count(), signs)))
