"""Recovers the fields of front matter that YAML refuses, line by line.

Agents read such front matter: most often a description holds `: `. A line `key: value` that
is indented no deeper than the first one starts a field; the deeper lines, blank lines and
items below belong to it; any other line belongs to none. Each field is then read as YAML by
itself. A field that YAML refuses is text: its lines as written, trimmed and joined by a
space. Of two fields with one key the last counts. docs/format/frontmatter.md states the rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import InvalidInput
from . import document_parts, frontmatter_nodes, frontmatter_subset
from .frontmatter_fields import BLOCK_MAP_KIND, NULL_KIND, TEXT_KIND, FrontMatter, FrontMatterField
from .yaml_scalar import quote_scalar, unquote_simple

METADATA_KEY = "metadata"
MAX_RECOVERED_FIELDS = 256
"""Fields at one level; public skills have at most 40."""

_BARE_KEY = r"[^\W\d][\w.-]{0,63}"
_QUOTED_KEY = r"\"[^\"\\\n]{1,64}\"|'[^'\n]{1,64}'"
_FIELD_LINE = re.compile(
    rf"(?P<margin>[ \t]*)(?:(?P<key>{_BARE_KEY}|{_QUOTED_KEY})[ \t]*:(?=[ \t\r\n]|\Z)"
    r"|(?P<known>name|description|version):(?!//))[ \t]*"
)
_BLOCK_HEADER = re.compile(r"[|>][-+0-9]{0,2}[ \t]*(?:#[^\n]*)?$")
_CLOSING_CHARACTERS = {'"': '"', "'": "'", "[": "]", "{": "}"}
LIMIT_CODES = frozenset(("too_deep", "too_many_nodes"))
"""Codes of front matter that is not recovered, because it exceeds a limit."""


class _FieldLines(NamedTuple):
    """Where a field stands: its key, its value on the first line, and all of its lines."""

    key: str
    key_start: int
    value_start: int
    first_end: int
    lines_end: int


class RecoveredFields(NamedTuple):
    """The fields at one level, those inside `metadata`, and those of both that YAML refuses."""

    fields: dict[str, FrontMatterField]
    metadata: dict[str, FrontMatterField]
    refused: tuple[FrontMatterField, ...]


def recover_front_matter(text: str, problem: InvalidInput) -> FrontMatter:
    """Return the fields of `text`, which YAML refuses because of `problem`.

    Raises `problem` if it is a limit or if no field is found, and `InvalidInput` with code
    `too_many_nodes`.
    """
    if problem.code in LIMIT_CODES:
        raise problem
    found = _recover_fields(text, 0, len(text), is_top=True)
    if not found.fields and any(line.strip() and line[0] != "#" for line in text.splitlines()):
        raise problem
    problem.with_traceback(None)  # the result is cached, and frames need not be
    return FrontMatter(text, found.fields, found.metadata, False, problem, found.refused)


def quote_refused(front_matter: FrontMatter, prior: FrontMatter) -> str:
    """Return the text with every value quoted that YAML refuses or reads as another type.

    Other types matter for the name and the description. Values that `prior` has as well
    stay as they are. Raises the problem of YAML for a quote or bracket that is never closed:
    what was meant is then unclear.
    """
    same_lines = {prior.text[field.key_start : field.end] for field in prior.fields.values()}
    same_lines.update(prior.text[field.key_start : field.end] for field in prior.refused)
    text = front_matter.text
    written = {field.key_start: field for field in front_matter.refused}
    for key in ("name", "description"):
        field = front_matter.fields.get(key)
        if field is not None and field.kind not in (TEXT_KIND, NULL_KIND):
            written[field.key_start] = field
    for field in sorted(written.values(), reverse=True, key=lambda field: field.start):
        value = field.value or front_matter.one_line_value(field)
        if value and text[field.key_start : field.end] not in same_lines:
            if front_matter.problem is not None and _has_unclosed_start(value):
                raise front_matter.problem
            gap = " " if text[field.start - 1] == ":" else ""
            text = f"{text[: field.start]}{gap}{quote_scalar(value)}{text[field.end :]}"
    return text


def _has_unclosed_start(value: str) -> bool:
    closing = _CLOSING_CHARACTERS.get(value[0])
    return closing is not None and closing not in value[1:]


def _recover_fields(text: str, start: int, end: int, is_top: bool) -> RecoveredFields:
    fields: dict[str, FrontMatterField] = {}
    metadata: dict[str, FrontMatterField] = {}
    refused: list[FrontMatterField] = []
    for count, lines in enumerate(_split_fields(text, start, end)):
        if count >= MAX_RECOVERED_FIELDS:
            raise InvalidInput(
                f"line 2: the front matter has more than {MAX_RECOVERED_FIELDS} fields",
                code="too_many_nodes",
                hint="move some of them into the body",
            )
        children: dict[str, FrontMatterField] = {}
        field = _read_as_yaml(text, lines, children)
        if field is None:
            field = _read_as_text(text, lines)
            inner = None
            if is_top and lines.key == METADATA_KEY and lines.value_start == lines.first_end:
                inner = _recover_fields(text, lines.first_end, lines.lines_end, is_top=False)
            if inner is not None and inner.fields:
                children, first = inner.fields, min(f.key_start for f in inner.fields.values())
                field = field._replace(kind=BLOCK_MAP_KIND, value="", start=first)
                refused.extend(inner.refused)
            else:
                refused.append(field)
        if lines.key == METADATA_KEY and is_top:
            metadata = children
        fields.pop(lines.key, None)
        fields[lines.key] = field
    return RecoveredFields(fields, metadata, tuple(refused))


def _split_fields(text: str, start: int, end: int) -> Iterator[_FieldLines]:
    """Yield the fields between two offsets, in order."""
    current: _FieldLines | None = None
    margin: int | None = None
    at = start
    while at < end:
        newline = text.find("\n", at, end)
        line_end, next_line = (end, end) if newline < 0 else (newline, newline + 1)
        line = text[at:line_end].rstrip(" \t\r")
        begin, at = at, next_line
        if not line:
            continue
        match = _FIELD_LINE.match(line)
        if match and (margin is None or len(match["margin"]) <= margin):
            if current is not None:
                yield current
            margin = len(match["margin"]) if margin is None else margin
            key = (match["key"] or match["known"]).strip("\"'")
            value_start = begin + match.end() if match.end() < len(line) else begin + len(line)
            current = _FieldLines(
                key, begin + len(match["margin"]), value_start, begin + len(line), next_line
            )
        elif current is not None:
            depth = len(line) - len(line.lstrip(" \t"))
            if depth > (margin or 0) or line[depth : depth + 2] in ("- ", "-"):
                current = current._replace(lines_end=next_line)
            else:  # a line of no field, such as a conflict marker
                yield current
                current = None
    if current is not None:
        yield current


def _read_as_yaml(
    text: str, lines: _FieldLines, children: dict[str, FrontMatterField]
) -> FrontMatterField | None:
    """Return a field as YAML reads it by itself, None if it refuses; fills `children`."""
    piece = document_parts.mask_refused_characters(text[lines.key_start : lines.lines_end])
    try:
        found = frontmatter_subset.parse_subset(piece) or frontmatter_nodes.parse_with_yaml(piece)
    except InvalidInput:
        return None
    if list(found.fields) != [lines.key] or found.is_flow:
        return None
    for key, child in found.metadata.items():
        children[key] = _shift(child, lines.key_start)
    return _shift(found.fields[lines.key], lines.key_start)


def _shift(field: FrontMatterField, by: int) -> FrontMatterField:
    return field._replace(
        start=field.start + by,
        end=field.end + by,
        key_start=field.key_start + by,
        lines_end=field.lines_end + by,
    )


def _read_as_text(text: str, lines: _FieldLines) -> FrontMatterField:
    """Return a field whose value is its lines as written, joined by a space.

    Quotes around all of it are left out: YAML may have refused a tab before them.
    """
    first = text[lines.value_start : lines.first_end]
    rest = text[lines.first_end : lines.lines_end].split("\n")
    words = [] if _BLOCK_HEADER.fullmatch(first) else [first.strip()]
    words.extend(line.strip() for line in rest)
    value = " ".join(filter(None, words))
    inner = unquote_simple(value)
    value = value if inner is None else inner
    end = lines.value_start + len(text[lines.value_start : lines.lines_end].rstrip())
    kind = TEXT_KIND if value else NULL_KIND
    return FrontMatterField(kind, value, lines.value_start, end, lines.key_start, lines.lines_end)
