"""Reads the very plainest front matter straight from the bytes, with one expression.

A first snapshot reads every skill there is. Most heads are a name, a description
and a few more lines of `key: value`; those are taken here in a few microseconds.
The values hold neither `#` nor `: `, so every line has one reading. Anything else
is None, and `fast` or the full loader decides; a property test holds them together.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from .scalar import WORDS

_REST = rb'[ -"$-9;-~\x80-\xff]*'
_TEXT = rb"[A-Za-z]" + _REST
_QUOTED = rb"\"[ !#-\[\]-~\x80-\xff]*\"|'[ -&(-~\x80-\xff]*'"
_OTHER = rb"[A-Za-z0-9.]" + _REST
_LINES = rb"(?:[a-z][a-z-]{2,40}: (?:%b|%b)(?<! )\n)*" % (_OTHER, _QUOTED)
_PAIR = re.compile(rb"^([a-z-]+): (.*)$", re.MULTILINE)
_NOT_YAML = "[\x80-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
"""Compiled when it is first met: that takes half a millisecond, and most heads are ASCII."""
_WORDS = frozenset(word.encode() for word in WORDS)


@cache
def _head() -> re.Pattern[bytes]:
    """Return the expression, made when the first document is read."""
    return re.compile(
        rb"---\nname: (%b|%b)(?<! )\ndescription: (%b|%b)(?<! )\n(%b)---\n"
        % (_TEXT, _QUOTED, _TEXT, _QUOTED, _LINES)
    )


class Plain(NamedTuple):
    """Name and description as YAML reads them, and the version as it is written or ""."""

    name: str
    description: str
    version: str


def read(content: bytes) -> Plain | None:
    """Return what a document declares, or None where this reader cannot tell."""
    match = _head().match(content)
    if match is None:
        return None
    name, description, others = match.groups()
    version = b""
    if others:
        pairs = _PAIR.findall(others)
        fields = dict(pairs)
        if len(fields) != len(pairs) or b"name" in fields or b"description" in fields:
            return None
        if not _WORDS.isdisjoint(fields):
            return None
        version = fields.get(b"version", b"")
    if name in _WORDS or description in _WORDS:
        return None
    try:
        plain = Plain(_value(name), _value(description), version.decode())
        if not match[0].isascii() and re.search(_NOT_YAML, match[0].decode()):
            return None
    except UnicodeDecodeError:
        return None
    return plain


def _value(raw: bytes) -> str:
    text = raw.decode()
    return text[1:-1] if text[0] in "\"'" else text
