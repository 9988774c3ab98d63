"""Reads the plain front matter that nearly every skill has, without a YAML parser.

PyYAML takes about a millisecond for a head; this takes microseconds. It accepts
a subset in which every line has one reading, the one YAML has: `key: value` with
a scalar on one line, one-line lists and JSON, block scalars of evenly indented
lines, and one level of nested keys or items. For anything else it returns None,
and the full loader decides. A property test holds the two together.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .fields import BLOCK_MAP, FLOW_MAP, NULL, OTHER, TEXT, Field, Head
from .scalar import WORDS, is_plain, reads_as_text, unquote

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_KNOWN = frozenset(("name", "description", "version", "license", "author", "allowed-tools"))
_TYPED = frozenset(("name", "description", "metadata", "title"))
"""Keys for which it matters whether the value is text."""
_ITEM = r"[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_][A-Za-z0-9_./-]*)*"
_FLOW_LIST = rf"\[(?:{_ITEM}(?:, {_ITEM})*)?\]"
"""Compiled when it is first met: that takes half a millisecond, and few heads hold a list."""
_BLOCK_SCALARS = {"|": ("\n", "\n"), "|-": ("\n", ""), ">": (" ", "\n"), ">-": (" ", "")}


class _Lines(NamedTuple):
    """The lines of a head without their endings, which are `eol` characters long."""

    lines: list[str]
    eol: int


_Taken = tuple[Field, int, int]
"""A field, the index of the line after it, and the offset of that line."""


def scan(text: str) -> Head | None:
    """Return the fields of the head `text`, or None where only the full loader can tell."""
    rest = _lines_of(text)
    if rest is None:
        return None
    lines, eol = rest
    fields: dict[str, Field] = {}
    metadata: dict[str, Field] = {}
    index = offset = 0
    while index < len(lines):
        line = lines[index]
        if not line or line[0] == "#":
            if not line.isprintable():
                return None
            index, offset = index + 1, offset + len(line) + eol
            continue
        key, _, raw = line.partition(": ")
        if raw and raw[0] not in "|>":
            taken = _scalar(rest, index, offset, key, raw)
        else:
            key = key.removesuffix(":") if key is line else key
            taken = _several_lines(rest, index, offset, metadata if key == "metadata" else {})
        if taken is None or key in fields or not (key in _KNOWN or _is_key(key)):
            return None
        fields[key], index, offset = taken
    return Head(text, fields, metadata, False) if fields else None


def _lines_of(text: str) -> _Lines | None:
    lines = text.split("\n")
    if lines.pop() or not lines:
        return None
    if "\r" not in text:
        return _Lines(lines, 1)
    if text.count("\r\n") != len(lines) or text.count("\r") != len(lines):
        return None
    return _Lines([line[:-1] for line in lines], 2)


def _is_key(key: str) -> bool:
    return _KEY.fullmatch(key) is not None and key not in WORDS


def _one_line(key: str, raw: str, offset: int, stop: int) -> Field | None:
    """Return the field `key: raw` whose key stands at `offset`, or None to give up."""
    kind, value = TEXT, raw
    first = raw[0]
    if first in "\"'":
        unquoted = unquote(raw)
        if unquoted is None:
            return None
        value = unquoted
    elif first in "[{":
        if not _is_flow(raw):
            return None
        kind, value = (FLOW_MAP if first == "{" else OTHER), ""
    elif not is_plain(raw):
        return None
    elif not reads_as_text(raw):
        if key in _TYPED:
            return None
        kind, value = OTHER, ""
    start = offset + len(key) + 2
    return Field(kind, value, start, start + len(raw), offset, stop)


def _scalar(rest: _Lines, index: int, offset: int, key: str, raw: str) -> _Taken | None:
    """Read `key: raw` and, where `raw` is plain, the indented lines that go on with it."""
    lines, eol = rest
    stop = offset + len(lines[index]) + eol
    field = _one_line(key, raw, offset, stop)
    index += 1
    if field is None:
        return _quoted_lines(rest, index, offset, key, raw) if raw[0] in "\"'" else None
    if index < len(lines) and lines[index][:1] == " " and raw[0] not in "\"'[{":
        words = [field.value]
        end = stop
        while index < len(lines) and lines[index][:1] == " ":
            text = lines[index].lstrip(" ")
            if not text or not is_plain(text):
                return None
            words.append(text)
            end = stop + len(lines[index])
            index, stop = index + 1, end + eol
        field = field._replace(value=" ".join(words), end=end, stop=stop)
    return field, index, stop


def _quoted_lines(rest: _Lines, index: int, offset: int, key: str, raw: str) -> _Taken | None:
    """Read a quoted scalar without escapes that goes on over indented lines from `index`."""
    lines, eol = rest
    quote = raw[0]
    start = offset + len(key) + 2
    at = start + len(raw) + eol
    value = _inside(raw[1:], quote)
    blank = 0
    for place in range(index, len(lines)):
        line = lines[place]
        text = line.strip(" ")
        if value is None or (line and line[0] != " "):
            return None
        begin, at = at, at + len(line) + eol
        if not text:
            blank += 1
            continue
        last = _inside(text[:-1], quote) if text[-1] == quote else None
        more = _inside(text, quote) if last is None else last
        if more is None:
            return None
        value = value.rstrip(" ") + ("\n" * blank or " ") + more
        blank = 0
        if last is not None:
            end = begin + len(line.rstrip(" "))
            return Field(TEXT, value, start, end, offset, at), place + 1, at
    return None


def _inside(text: str, quote: str) -> str | None:
    """Return what a piece of a quoted scalar says, None if a quote ends it or it has escapes."""
    if not text.isprintable() or "\\" in text:
        return None
    if quote == "'":
        return None if "'" in text.replace("''", "") else text.replace("''", "'")
    return None if '"' in text else text


def _several_lines(
    rest: _Lines, index: int, offset: int, children: dict[str, Field]
) -> _Taken | None:
    line = rest.lines[index]
    key, colon, header = line.partition(": ")
    if colon:
        return _block_scalar(rest, index, offset, key, header)
    return _collection(rest, index, offset, children) if line[-1] == ":" else None


def _block_scalar(rest: _Lines, index: int, offset: int, key: str, header: str) -> _Taken | None:
    """Read the evenly indented lines after `key: |` and its like."""
    if header not in _BLOCK_SCALARS:
        return None
    lines, eol = rest
    start = offset + len(key) + 2
    at = offset + len(lines[index]) + eol
    indent = -1
    content: list[str] = []
    blank = end = stop = 0
    for place in range(index + 1, len(lines)):
        line = lines[place]
        if line and line[0] != " ":
            break
        index, begin, at = place, at, at + len(line) + eol
        if not line:
            blank += 1
            continue
        text = line.lstrip(" ")
        if indent < 0:
            indent = len(line) - len(text)
        if not text or len(line) - len(text) != indent or not text.isprintable():
            return None
        if blank and (not content or header[0] == ">"):
            return None
        content.extend([""] * blank)
        content.append(text)
        blank, end, stop = 0, begin + len(line.rstrip(" ")), at
    if not content:
        return None
    glue, last = _BLOCK_SCALARS[header]
    field = Field(TEXT, glue.join(content) + last, start, end, offset, stop)
    return field, index + 1, at


def _collection(rest: _Lines, index: int, offset: int, children: dict[str, Field]) -> _Taken | None:
    """Read the nested keys into `children`, or the items, after a line `key:`."""
    lines, eol = rest
    key_end = offset + len(lines[index])
    at = stop = key_end + eol
    start = 0
    indent = -1
    items = False
    for place in range(index + 1, len(lines)):
        line = lines[place]
        text = line.lstrip(" ")
        if line and line is text and text[:2] != "- ":
            break
        begin, at, index = at, at + len(line) + eol, place
        if not line:
            continue
        if indent < 0:
            indent, items = len(line) - len(text), text[:2] == "- "
            start = begin + indent
        if len(line) - len(text) != indent or (text[:2] == "- ") != items:
            return None
        stop = at
        if items:
            if _one_line("", text[2:] or ":", 0, 0) is None:
                return None
            continue
        key, _, raw = text.partition(": ")
        if not raw or key in children or not _is_key(key):
            return None
        field = _one_line(key, raw, begin + indent, at)
        if field is None:
            return None
        children[key] = field
    if indent < 0:
        field = Field(NULL, "", key_end, key_end, offset, stop)
    else:
        kind = OTHER if items else BLOCK_MAP
        field = Field(kind, "", start, stop - eol, offset, stop)
    return field, index + 1, at


def _is_flow(raw: str) -> bool:
    """Tell whether `raw` is a list of plain words, or JSON that YAML reads alike."""
    if re.fullmatch(_FLOW_LIST, raw):
        return True
    if "\\" in raw or not raw.isprintable() or raw[-1] not in "]}":
        return False
    if '"version"' in raw or '"title"' in raw or raw.count("[") + raw.count("{") > 16:
        return False
    import json

    try:
        json.loads(raw, object_pairs_hook=_unique)
    except ValueError:
        return False
    return True


def _unique(pairs: list[tuple[str, object]]) -> None:
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys) or not all(k.isascii() and len(k) < 1000 for k in keys):
        raise ValueError("a key that YAML could read otherwise")
