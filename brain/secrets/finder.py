"""Finds secrets in the content of a file.

Own rules, for speed: every search is a plain search for a few letters, after which an
expression of bounded length is tried at that place, so the time grows with the content
alone, whatever stands in it. The libraries that exist import for seconds and look at
one line at a time, and so miss what is cut in two or encoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ..digest import domain
from . import beside, disguised, lines, shapes
from .shapes import Hit

MAX_FINDINGS = 1000
"""Findings of one file after which it is not looked at any further."""

_TOGETHER = 64 << 10
"""Bytes of small contents that are looked through at once."""
_BETWEEN = b"\n\n\n"
"""Lines over which nothing goes on: what is found in one content is found beside others."""
_ID_DIGITS = 16
_finding_id = domain("brain v1 secret finding")


class Finding(NamedTuple):
    """Where something looks like a secret; it never holds the secret itself.

    `line` and `column` count from 1, the column in bytes. `id` is 16 hex digits of a hash
    over rule and secret, the same wherever that secret stands: who notes it down lets this
    one secret pass and no other. A weak password could be guessed from it.
    """

    rule: str
    line: int
    column: int
    id: str


def find(content: bytes) -> list[Finding]:
    """Return what looks like a secret in `content`, in the order of places.

    Never raises. Time and memory grow with the length of `content` alone.
    """
    out: list[Finding] = []
    line = 1
    counted = end = 0
    for rule, start, stop, secret in hits(content):
        if start < end:
            continue
        line += content.count(b"\n", counted, start)
        column = start - content.rfind(b"\n", 0, start)
        counted, end = start, stop
        name = _finding_id(b"%s\0%s" % (rule.encode(), secret)).hex()[:_ID_DIGITS]
        out.append(Finding(rule, line, column, name))
    return out


def find_each(contents: Sequence[bytes]) -> list[list[Finding]]:
    """Return what `find` returns for each of some contents, in less time for small clean ones."""
    out: list[list[Finding]] = []
    group: list[bytes] = []
    size = 0
    for content in contents:
        if group and size + len(content) > _TOGETHER:
            out += _found_in(group)
            group, size = [], 0
        group.append(content)
        size += len(content)
    return out + _found_in(group)


def _found_in(group: list[bytes]) -> list[list[Finding]]:
    """Look through all at once, and for each alone only if there is anything."""
    if len(group) > 1 and next(_hits(_BETWEEN.join(group)), None) is None:
        return [[] for _ in group]
    return list(map(find, group))


def hits(content: bytes) -> list[Hit]:
    """Return the first MAX_FINDINGS secrets with where they stand, in order; they may overlap."""
    return sorted(islice(_hits(content), MAX_FINDINGS), key=_place)


def _hits(content: bytes) -> Iterator[Hit]:
    """Yield what each way of looking finds; the surest names come first."""
    text = lines.split(content)
    long = text.long_words()
    yield from shapes.scan(content, long)
    yield from disguised.scan(content, text, long)
    yield from beside.scan(content)


def _place(hit: Hit) -> int:
    return hit.start
