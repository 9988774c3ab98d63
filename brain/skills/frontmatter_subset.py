"""Reads the subset of YAML that nearly all front matter uses, without a YAML parser.

A YAML parser takes a tenth to half a millisecond for front matter; this takes
microseconds. Every line of the subset has one reading, which is YAML's: `key: value`
with a scalar on one line, one-line lists and JSON, block scalars of evenly indented
lines, and one level of nested keys or items. For anything else it returns None, and the
caller uses `strict_yaml`. A property test compares the two.
"""

from __future__ import annotations

import re

from ..named_tuple import NamedTuple
from .frontmatter_fields import (
    BLOCK_MAP_KIND,
    FLOW_MAP_KIND,
    NULL_KIND,
    OTHER_KIND,
    TEXT_KIND,
    FrontMatter,
    FrontMatterField,
)
from .yaml_scalar import AMBIGUOUS_WORDS, is_certain_text, is_valid_plain, unquote_simple

_KEY_PATTERN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_KNOWN_KEYS = frozenset(("name", "description", "version", "license", "author", "allowed-tools"))
_TYPED_KEYS = frozenset(("name", "description", "metadata", "title"))
"""Keys for which it matters whether the value is text."""
_FLOW_ITEM = r"[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_][A-Za-z0-9_./-]*)*"
_FLOW_LIST_PATTERN = rf"\[(?:{_FLOW_ITEM}(?:, {_FLOW_ITEM})*)?\]"
"""Compiled on first use: that takes half a millisecond, and few skills have a list."""
_BLOCK_SCALAR_JOINS = {"|": ("\n", "\n"), "|-": ("\n", ""), ">": (" ", "\n"), ">-": (" ", "")}


class _SplitLines(NamedTuple):
    """Lines without their endings, which are `eol_length` characters long."""

    lines: list[str]
    eol_length: int


_ParsedField = tuple[FrontMatterField, int, int]
"""A field, the index of the line after it, and the offset of that line."""


def parse_subset(text: str) -> FrontMatter | None:
    """Return the fields of the front matter `text`, None if it is outside the subset."""
    split_lines = _split_lines(text)
    if split_lines is None:
        return None
    lines, eol = split_lines
    fields: dict[str, FrontMatterField] = {}
    metadata: dict[str, FrontMatterField] = {}
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
            parsed = _parse_scalar(split_lines, index, offset, key, raw)
        else:
            key = key.removesuffix(":") if key is line else key
            parsed = _parse_multiline(
                split_lines, index, offset, metadata if key == "metadata" else {}
            )
        if parsed is None or key in fields or not (key in _KNOWN_KEYS or _is_key(key)):
            return None
        fields[key], index, offset = parsed
    return FrontMatter(text, fields, metadata, False) if fields else None


def _split_lines(text: str) -> _SplitLines | None:
    lines = text.split("\n")
    if lines.pop() or not lines:
        return None
    if "\r" not in text:
        return _SplitLines(lines, 1)
    if text.count("\r\n") != len(lines) or text.count("\r") != len(lines):
        return None
    return _SplitLines([line[:-1] for line in lines], 2)


def _is_key(key: str) -> bool:
    return _KEY_PATTERN.fullmatch(key) is not None and key not in AMBIGUOUS_WORDS


def _parse_one_line(key: str, raw: str, offset: int, lines_end: int) -> FrontMatterField | None:
    """Return the field `key: raw` whose key is at `offset`, None if outside the subset."""
    kind, value = TEXT_KIND, raw
    first = raw[0]
    if first in "\"'":
        unquoted = unquote_simple(raw)
        if unquoted is None:
            return None
        value = unquoted
    elif first in "[{":
        if not _is_certain_flow(raw):
            return None
        kind, value = (FLOW_MAP_KIND if first == "{" else OTHER_KIND), ""
    elif not is_valid_plain(raw):
        return None
    elif not is_certain_text(raw):
        if key in _TYPED_KEYS:
            return None
        kind, value = OTHER_KIND, ""
    start = offset + len(key) + 2
    return FrontMatterField(kind, value, start, start + len(raw), offset, lines_end)


def _parse_scalar(
    split_lines: _SplitLines, index: int, offset: int, key: str, raw: str
) -> _ParsedField | None:
    """Read `key: raw` and, if `raw` is plain, the indented lines that continue it."""
    lines, eol = split_lines
    lines_end = offset + len(lines[index]) + eol
    field = _parse_one_line(key, raw, offset, lines_end)
    index += 1
    if field is None:
        is_quoted = raw[0] in "\"'"
        return _parse_quoted_lines(split_lines, index, offset, key, raw) if is_quoted else None
    if index < len(lines) and lines[index][:1] == " " and raw[0] not in "\"'[{":
        words = [field.value]
        end = lines_end
        while index < len(lines) and lines[index][:1] == " ":
            text = lines[index].lstrip(" ")
            if not text or not is_valid_plain(text):
                return None
            words.append(text)
            end = lines_end + len(lines[index])
            index, lines_end = index + 1, end + eol
        field = field._replace(value=" ".join(words), end=end, lines_end=lines_end)
    return field, index, lines_end


def _parse_quoted_lines(
    split_lines: _SplitLines, index: int, offset: int, key: str, raw: str
) -> _ParsedField | None:
    """Read a quoted scalar without escapes, continued on indented lines from `index`."""
    lines, eol = split_lines
    quote = raw[0]
    start = offset + len(key) + 2
    at = start + len(raw) + eol
    value = _unquote_piece(raw[1:], quote)
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
        last = _unquote_piece(text[:-1], quote) if text[-1] == quote else None
        more = _unquote_piece(text, quote) if last is None else last
        if more is None:
            return None
        value = value.rstrip(" ") + ("\n" * blank or " ") + more
        blank = 0
        if last is not None:
            end = begin + len(line.rstrip(" "))
            return FrontMatterField(TEXT_KIND, value, start, end, offset, at), place + 1, at
    return None


def _unquote_piece(text: str, quote: str) -> str | None:
    """Return the text of a piece of a quoted scalar, None if it has a quote or an escape."""
    if not text.isprintable() or "\\" in text:
        return None
    if quote == "'":
        return None if "'" in text.replace("''", "") else text.replace("''", "'")
    return None if '"' in text else text


def _parse_multiline(
    split_lines: _SplitLines, index: int, offset: int, children: dict[str, FrontMatterField]
) -> _ParsedField | None:
    line = split_lines.lines[index]
    key, colon, header = line.partition(": ")
    if colon:
        return _parse_block_scalar(split_lines, index, offset, key, header)
    return _parse_collection(split_lines, index, offset, children) if line[-1] == ":" else None


def _parse_block_scalar(
    split_lines: _SplitLines, index: int, offset: int, key: str, header: str
) -> _ParsedField | None:
    """Read the evenly indented lines after `key: |`, `key: >-` and so on."""
    if header not in _BLOCK_SCALAR_JOINS:
        return None
    lines, eol = split_lines
    start = offset + len(key) + 2
    at = offset + len(lines[index]) + eol
    indent = -1
    content: list[str] = []
    blank = end = lines_end = 0
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
        blank, end, lines_end = 0, begin + len(line.rstrip(" ")), at
    if not content:
        return None
    glue, last = _BLOCK_SCALAR_JOINS[header]
    field = FrontMatterField(TEXT_KIND, glue.join(content) + last, start, end, offset, lines_end)
    return field, index + 1, at


def _parse_collection(
    split_lines: _SplitLines, index: int, offset: int, children: dict[str, FrontMatterField]
) -> _ParsedField | None:
    """Read the nested keys into `children`, or the items, after a line `key:`."""
    lines, eol = split_lines
    key_end = offset + len(lines[index])
    at = lines_end = key_end + eol
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
        lines_end = at
        if items:
            if _parse_one_line("", text[2:] or ":", 0, 0) is None:
                return None
            continue
        key, _, raw = text.partition(": ")
        if not raw or key in children or not _is_key(key):
            return None
        field = _parse_one_line(key, raw, begin + indent, at)
        if field is None:
            return None
        children[key] = field
    if indent < 0:
        field = FrontMatterField(NULL_KIND, "", key_end, key_end, offset, lines_end)
    else:
        kind = OTHER_KIND if items else BLOCK_MAP_KIND
        field = FrontMatterField(kind, "", start, lines_end - eol, offset, lines_end)
    return field, index + 1, at


def _is_certain_flow(raw: str) -> bool:
    """Tell whether `raw` is a list of plain words, or JSON that YAML reads alike."""
    if re.fullmatch(_FLOW_LIST_PATTERN, raw):
        return True
    if "\\" in raw or not raw.isprintable() or raw[-1] not in "]}":
        return False
    if '"version"' in raw or '"title"' in raw or raw.count("[") + raw.count("{") > 16:
        return False
    import json

    try:
        json.loads(raw, object_pairs_hook=_check_unique_keys)
    except ValueError:
        return False
    return True


def _check_unique_keys(pairs: list[tuple[str, object]]) -> None:
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys) or not all(k.isascii() and len(k) < 1000 for k in keys):
        raise ValueError("a key that YAML could read otherwise")
