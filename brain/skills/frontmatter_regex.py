"""Reads the simplest front matter with one regular expression over the bytes.

Most front matter is a name, a description and a few more lines of `key: value`, with such
lines below `metadata:` at the end. This reads them in a few microseconds; docs/adr/0015 has
the measurements. The values hold neither `#` nor `: `, so every line has one reading. For
anything else it returns None, and the caller uses `frontmatter_subset`. A property test
compares it with the YAML parser.
"""

from __future__ import annotations

import re
from functools import cache

from ..named_tuple import NamedTuple
from .yaml_scalar import AMBIGUOUS_WORDS

_PLAIN_REST = rb'[ -"$-9;-~\x80-\xff]*'
_PLAIN_TEXT = rb"[A-Za-z]" + _PLAIN_REST
_QUOTED_TEXT = rb"\"[ !#-\[\]-~\x80-\xff]*\"|'[ -&(-~\x80-\xff]*'"
_OTHER_VALUE = rb"[A-Za-z0-9.]" + _PLAIN_REST
_OTHER_LINES = rb"(?:[a-z][a-z-]{2,40}: (?:%b|%b)(?<! )\n)*" % (_OTHER_VALUE, _QUOTED_TEXT)
_METADATA_LINES = rb"(?:  [a-z][a-z-]{2,40}: (?:%b|%b)(?<! )\n)+" % (_OTHER_VALUE, _QUOTED_TEXT)
_KEY_VALUE_LINE = re.compile(rb"^ *([a-z-]+): (.*)$", re.MULTILINE)
_NOT_ALLOWED_IN_YAML = "[\x80-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
"""Compiled on first use: that takes half a millisecond, and most skills are ASCII."""
_AMBIGUOUS_WORD_BYTES = frozenset(word.encode() for word in AMBIGUOUS_WORDS)


@cache
def _frontmatter_pattern() -> re.Pattern[bytes]:
    return re.compile(
        rb"---\nname: (%b|%b)(?<! )\ndescription: (%b|%b)(?<! )\n(%b)(?:metadata:\n(%b))?---\n"
        % (_PLAIN_TEXT, _QUOTED_TEXT, _PLAIN_TEXT, _QUOTED_TEXT, _OTHER_LINES, _METADATA_LINES)
    )


class SimpleMetadata(NamedTuple):
    """Name and description as YAML reads them, and the version as written or ""."""

    name: str
    description: str
    version: str


def match_simple_metadata(content: bytes) -> SimpleMetadata | None:
    """Return what a document declares, None if the expression does not match it."""
    match = _frontmatter_pattern().match(content)
    if match is None:
        return None
    name, description, others, metadata_lines = match.groups()
    version = b""
    if others:
        fields = _read_lines(others)
        if fields is None or b"name" in fields or b"description" in fields:
            return None
        version = fields.get(b"version", b"")
        if metadata_lines and b"metadata" in fields:
            return None
    if metadata_lines:
        inner = _read_lines(metadata_lines)
        if inner is None or (version and b"version" in inner):
            return None
        version = version or inner.get(b"version", b"")
    if name in _AMBIGUOUS_WORD_BYTES or description in _AMBIGUOUS_WORD_BYTES:
        return None
    try:
        metadata = SimpleMetadata(_decode_value(name), _decode_value(description), version.decode())
        if not match[0].isascii() and re.search(_NOT_ALLOWED_IN_YAML, match[0].decode()):
            return None
    except UnicodeDecodeError:
        return None
    return metadata


def _read_lines(lines: bytes) -> dict[bytes, bytes] | None:
    """Return the values by key, None if a key stands twice or may be read as no text."""
    pairs = _KEY_VALUE_LINE.findall(lines)
    fields = dict(pairs)
    if len(fields) != len(pairs) or not _AMBIGUOUS_WORD_BYTES.isdisjoint(fields):
        return None
    return fields


def _decode_value(raw: bytes) -> str:
    text = raw.decode()
    return text[1:-1] if text[0] in "\"'" else text
