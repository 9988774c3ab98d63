"""Front matter: one reader, field by field.

The text is everything between the two `---` lines; offsets count its characters. Each field is
read by itself: directly where its lines have one reading, which is YAML's, else as YAML, and as
written where YAML refuses it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from ..named_tuple import NamedTuple
from . import document_parts
from .yaml_scalar import (
    AMBIGUOUS_WORDS,
    is_certain_text,
    is_plain_integer,
    is_valid_plain,
    unquote_simple,
)

if TYPE_CHECKING:
    import yaml

TEXT_KIND = "text"
NULL_KIND = "null"
BLOCK_MAP_KIND = "block map"
FLOW_MAP_KIND = "flow map"
OTHER_KIND = "other"

SPEC_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
"""The top-level fields of the specification (agentskills.io)."""


class FrontMatterField(NamedTuple):
    """One key and its value.

    `kind` is one of the constants above; `value` is the text of a value of kind
    TEXT_KIND, else "". The value spans `start` to `end`, its key starts at `key_start`,
    and the lines of the field end before `lines_end`.
    """

    kind: str
    value: str
    start: int
    end: int
    key_start: int
    lines_end: int


class FrontMatter(NamedTuple):
    """The fields at the top level and those of the map `metadata`.

    `is_flow` says that the whole front matter is one map in braces. `problem` says why YAML
    refuses the text, and `refused` are the values that it refuses: these were recovered.
    """

    text: str
    fields: dict[str, FrontMatterField]
    metadata: dict[str, FrontMatterField]
    is_flow: bool
    problem: InvalidInput | None = None
    refused: tuple[FrontMatterField, ...] = ()

    def raw_value(self, field: FrontMatterField) -> str:
        """Return the value of `field` as written."""
        return self.text[field.start : field.end]

    def line_number(self, field: FrontMatterField) -> int:
        """Return the line number in the file at which `field` starts."""
        return self.text.count("\n", 0, field.key_start) + 2

    def shown_text(self, key: str) -> str:
        """Return the text of a top-level field, "" if it is missing or empty.

        A value of another type is shown as written if it stands on one line.
        """
        field = self.fields.get(key)
        if field is None:
            return ""
        return field.value if field.kind == TEXT_KIND else self.one_line_value(field)

    def one_line_value(self, field: FrontMatterField) -> str:
        """Return a value as written, "" if it has several lines."""
        raw = self.raw_value(field).strip()
        return "" if field.kind in (NULL_KIND, BLOCK_MAP_KIND) or "\n" in raw else raw

    def is_text_as_written(self) -> bool:
        """Tell whether YAML reads all values, and name and description as text or nothing."""
        named = (self.fields.get(key) for key in ("name", "description"))
        return not self.refused and all(
            field is None or field.kind in (TEXT_KIND, NULL_KIND) for field in named
        )

    def version_fields(self) -> list[FrontMatterField]:
        """Return the fields that hold the version: at the top level, in metadata, or both."""
        fields = (self.fields.get("version"), self.metadata.get("version"))
        return [field for field in fields if field is not None]


EMPTY_FRONT_MATTER = FrontMatter("", {}, {}, False)


METADATA_KEY = "metadata"
LIMIT_CODES = frozenset(("too_deep", "too_many_nodes"))
"""Codes of front matter that is not read, because it exceeds a limit."""
_MAX_FIELDS = 256
"""Fields at one level that are read one by one; public skills have at most 40."""
_FEW_CHARS = 1900
"""A text of so many characters holds fewer than `strict_yaml.MAX_YAML_NODES` values."""

_BARE_KEY = r"[^\W\d][\w.-]{0,63}"
_QUOTED_KEY = r"\"[^\"\\\n]{1,64}\"|'[^'\n]{1,64}'"
_FIELD_LINE = re.compile(
    rf"[ \t]*(?:(?P<key>{_BARE_KEY}|{_QUOTED_KEY})[ \t]*:(?=[ \t\r\n]|\Z)"
    r"|(?P<known>name|description|version):(?!//))[ \t]*"
)
_SIMPLE_KEY = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)+", re.ASCII)
_BRACKET = re.compile(r"[:-]\s+[\[{]")
_BLOCK_HEADER = re.compile(r"[|>][-+0-9]{0,2}[ \t]*(?:#[^\n]*)?$")


@lru_cache(maxsize=8)
def parse_front_matter(text: str) -> FrontMatter:
    """Return the fields of the front matter `text`; cached, as a save reads it several times.

    Where YAML may read the whole otherwise than its fields one by one, YAML decides; where it
    refuses the whole, the fields are what each is by itself, and the front matter has a
    `problem`. docs/format/frontmatter.md states the rule. Raises `InvalidInput`, whose message
    gives the line of the file, if it holds no field, or more or deeper ones than are read.
    """
    found = _FieldReader(text, 0, len(text), is_top=True)
    if found.is_certain and found.fields:
        return FrontMatter(text, found.fields, found.metadata, False)
    try:
        return parse_with_yaml(text)
    except InvalidInput as error:
        problem = error.with_traceback(None)  # the result is cached, and frames need not be
    is_blank = all(not line.strip() or line[0] == "#" for line in text.splitlines())
    if problem.code in LIMIT_CODES or not (found.fields or is_blank):
        raise problem
    if found.is_too_long:
        raise InvalidInput(
            f"line 2: the front matter has more than {_MAX_FIELDS} fields",
            code="too_many_nodes",
            hint="move some of them into the body",
        )
    return FrontMatter(text, found.fields, found.metadata, False, problem, tuple(found.refused))


class _FieldLines(NamedTuple):
    """Where a field stands: its key, its value on the first line, and all of its lines."""

    key: str
    key_start: int
    value_start: int
    first_end: int
    lines_end: int


class _FieldReader:
    """The fields at one level of front matter, each read by itself.

    A line of a key and a colon that is indented no deeper than the first one begins a field. The
    deeper lines, blank lines and items below belong to it; any other line belongs to none. Of
    two fields with one key the last counts. `is_certain` says that YAML reads the whole alike,
    and `refused` are the values that it refuses.
    """

    def __init__(self, text: str, start: int, end: int, is_top: bool) -> None:
        self.text = text
        self.is_top = is_top
        self.fields: dict[str, FrontMatterField] = {}
        self.metadata: dict[str, FrontMatterField] = {}
        self.refused: list[FrontMatterField] = []
        self.is_certain = end - start < _FEW_CHARS or sum(map(text.count, ",:{[-\n")) < 900
        self.is_too_long = False
        self._margin = -1
        self._lines: _FieldLines | None = None
        while start < end and not self.is_too_long:
            start = self._read_line(start, end)
        self._finish()
        self.is_certain = self.is_certain and text[end - 1 : end] == "\n"

    def _read_line(self, begin: int, end: int) -> int:
        """Find out to which field the line at an offset belongs, and return where it ends."""
        newline = self.text.find("\n", begin, end)
        line_end, after = (end, end) if newline < 0 else (newline, newline + 1)
        line = self.text[begin:line_end].rstrip(" \t\r")
        if not line:  # with spaces it may belong to a block scalar
            self.is_certain = self.is_certain and self.text[begin:line_end] in ("", "\r")
            return after
        if "\r" in self.text[begin + len(line) : line_end - 1]:
            self.is_certain = False
        margin, lines = self._margin, self._lines
        depth = len(line) - len(line.lstrip(" \t"))
        match = _FIELD_LINE.match(line) if margin < 0 or depth <= margin else None
        if match:
            self._finish()
            self._margin = depth if margin < 0 else margin
            key = match["key"] or match["known"]
            if (
                depth != (0 if self.is_top else self._margin)
                or "\t" in line[:depth]
                or line[depth + len(key)] != ":"
                or match["known"]
                or not _SIMPLE_KEY.fullmatch(key)
            ):
                self.is_certain = False
            start = begin + match.end()
            key_start, first_end = begin + depth, begin + len(line)
            self._lines = _FieldLines(key.strip("\"'"), key_start, start, first_end, after)
        elif lines and (depth > margin or line[depth : depth + 2] in ("- ", "-")):
            self._lines = lines._replace(lines_end=after)
        else:  # a comment, or a line of no field, such as a conflict marker
            if line[depth] != "#" or depth > max(margin, 0) or not line.isprintable():
                self.is_certain = False
            self._finish()
        return after

    def _finish(self) -> None:
        """Read the field whose lines are known, if there is one."""
        lines, self._lines = self._lines, None
        if lines is None:
            return
        text, key, start = self.text, lines.key, lines.value_start
        first, whole = text[start : lines.first_end], text[lines.key_start : lines.lines_end]
        children: dict[str, FrontMatterField] = {}
        inner: _FieldReader | None = None
        field: FrontMatterField | None = None
        if (
            self.is_top
            and key == METADATA_KEY
            and not first
            and lines.first_end < len(whole.rstrip()) + lines.key_start
        ):
            inner = _FieldReader(text, lines.first_end, lines.lines_end, is_top=False)
            if inner.fields and inner.is_certain:
                children = inner.fields
                place = min(child.key_start for child in children.values())
                last = max(children.values(), key=lambda child: child.lines_end)
                field = FrontMatterField(
                    BLOCK_MAP_KIND, "", place, last.end, lines.key_start, last.lines_end
                )
        elif (
            "\t" not in whole
            and key not in AMBIGUOUS_WORDS
            and not (first and text[start - 1] == ":")
        ):
            below = text[lines.first_end : lines.lines_end].strip("\r\n")
            found = None if below else _read_scalar(first) if first else (NULL_KIND, "")
            if found is not None:
                field = FrontMatterField(
                    *found, start, lines.first_end, lines.key_start, lines.lines_end
                )
        if field is None:
            field = self._read_as_yaml(lines, children)
            if "+" in first and first[0] in "|>":  # blank lines below belong to it, too
                self.is_certain = False
        if field is None:
            self.is_certain = False
            field = _read_as_text(text, lines)
            if inner and inner.fields:
                children = inner.fields
                place = min(child.key_start for child in children.values())
                field = field._replace(kind=BLOCK_MAP_KIND, value="", start=place)
                self.refused += inner.refused
                self.is_too_long = inner.is_too_long
            else:
                self.refused.append(field)
        self._add(key, field, children)

    def _add(
        self, key: str, field: FrontMatterField, children: dict[str, FrontMatterField]
    ) -> None:
        if self.is_top and key == METADATA_KEY:
            self.metadata = children
        if self.fields.pop(key, None):
            self.is_certain = False
        self.fields[key] = field
        if len(self.fields) > _MAX_FIELDS:
            self.is_too_long = True
            self.is_certain = False

    def _read_as_yaml(
        self, lines: _FieldLines, metadata: dict[str, FrontMatterField]
    ) -> FrontMatterField | None:
        """Return a field as YAML reads it by itself, None if it refuses; fills `metadata`."""
        written = self.text[lines.key_start : lines.lines_end]
        piece = document_parts.mask_refused_characters(written)
        try:
            found = parse_with_yaml(piece)
        except InvalidInput:
            return None
        if list(found.fields) != [lines.key] or found.is_flow:
            return None
        if piece is not written and piece != written:
            self.is_certain = False
        for key, child in found.metadata.items():
            metadata[key] = _shift(child, lines.key_start)
        return _shift(found.fields[lines.key], lines.key_start)


def _read_scalar(raw: str) -> tuple[str, str] | None:
    """Return kind and text of a value on one line, None if only the YAML parser is certain."""
    if raw[0] in "\"'":
        text = unquote_simple(raw)
        return None if text is None else (TEXT_KIND, text)
    if not is_valid_plain(raw):
        return None
    if is_certain_text(raw):
        return TEXT_KIND, raw
    if raw in AMBIGUOUS_WORDS:
        if raw in "ynYN":
            return TEXT_KIND, raw
        return (NULL_KIND if raw.lower() == "null" else OTHER_KIND), ""
    if _NUMBERS.fullmatch(raw):
        return (TEXT_KIND, raw) if raw.count(".") > 1 else (OTHER_KIND, "")
    return (OTHER_KIND, "") if is_plain_integer(raw) else None


def _read_as_text(text: str, lines: _FieldLines) -> FrontMatterField:
    """Return a field whose value is its lines as written, joined by a space.

    Quotes around all of it are left out: YAML may have refused a tab before them.
    """
    first = text[lines.value_start : lines.first_end]
    words = [] if _BLOCK_HEADER.fullmatch(first) else [first.strip()]
    words += [line.strip() for line in text[lines.first_end : lines.lines_end].split("\n")]
    value = " ".join(filter(None, words))
    inner = unquote_simple(value)
    value = value if inner is None else inner
    end = lines.value_start + len(text[lines.value_start : lines.lines_end].rstrip())
    kind = TEXT_KIND if value else NULL_KIND
    return FrontMatterField(kind, value, lines.value_start, end, lines.key_start, lines.lines_end)


def _shift(field: FrontMatterField, by: int) -> FrontMatterField:
    return field._replace(
        start=field.start + by,
        end=field.end + by,
        key_start=field.key_start + by,
        lines_end=field.lines_end + by,
    )


def parse_with_yaml(text: str) -> FrontMatter:
    """Return the fields as the YAML parser reads them.

    Raises `InvalidInput` with the codes of `strict_yaml.compose_front_matter`, `bad_char`
    or `bad_newline`; messages give the line of the file.
    """
    from . import strict_yaml

    document_parts.check_front_matter(text)
    root = strict_yaml.compose_front_matter(text)
    fields = _fields_from_node(text, root)
    metadata: dict[str, FrontMatterField] = {}
    for key, value in root.value:
        if key.value == "metadata" and fields["metadata"].kind in (BLOCK_MAP_KIND, FLOW_MAP_KIND):
            metadata = _fields_from_node(text, value)
    return FrontMatter(text, fields, metadata, bool(root.flow_style))


def _fields_from_node(text: str, node: yaml.MappingNode) -> dict[str, FrontMatterField]:
    return {key.value: _field_from_nodes(text, key, value) for key, value in node.value}


def _field_from_nodes(text: str, key: yaml.Node, value: yaml.Node) -> FrontMatterField:
    import yaml

    from . import strict_yaml

    kind, text_value = OTHER_KIND, ""
    if strict_yaml.is_text_node(value):
        kind, text_value = TEXT_KIND, value.value
    elif strict_yaml.is_null_node(value):
        kind = NULL_KIND
    elif isinstance(value, yaml.MappingNode):
        kind = FLOW_MAP_KIND if value.flow_style else BLOCK_MAP_KIND
    end = _value_end(text, value)
    newline = text.find("\n", end)
    lines_end = newline + 1 if newline >= 0 else len(text)
    return FrontMatterField(
        kind, text_value, value.start_mark.index, end, key.start_mark.index, lines_end
    )


def _value_end(text: str, node: yaml.Node) -> int:
    """Return where the text of `node` ends; its end mark may be at the next token."""
    import yaml

    if isinstance(node, yaml.ScalarNode):
        end: int = node.end_mark.index
        if node.style not in ("|", ">"):
            return end
        before = text[:end].rstrip(" ")  # a tab is text of the block
        if "+" in text[node.start_mark.index : end].split("\n", 1)[0].split("#", 1)[0]:
            return len(before.removesuffix("\n").removesuffix("\r"))
        return len(before.rstrip(" \r\n"))
    if not isinstance(node, yaml.CollectionNode) or node.flow_style:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _value_end(text, last[1] if isinstance(node, yaml.MappingNode) else last)


def parse_if_any(text: str) -> FrontMatter:
    """Return what `parse_front_matter` returns, EMPTY_FRONT_MATTER for ""."""
    return parse_front_matter(text) if text else EMPTY_FRONT_MATTER


def first_flow_line(front_matter: FrontMatter) -> int:
    """Return the first line with a list or map in brackets, 0 if there is none.

    There is none in front matter that was recovered.
    """
    if front_matter.is_flow or front_matter.problem is not None:
        return 2 if front_matter.is_flow else 0
    text = front_matter.text
    found = (
        match.end()
        for field in front_matter.fields.values()
        if field.kind != TEXT_KIND
        and (match := _BRACKET.search(text, field.key_start, field.end + 1))
    )
    first = min(found, default=-1)
    return text.count("\n", 0, first) + 2 if first >= 0 else 0


def load_front_matter(content: bytes) -> dict[str, Any]:
    """Return the front matter of a document as values for JSON; floats and dates stay text.

    Raises `InvalidInput` with code `no_frontmatter` or as `split_document` and
    `parse_front_matter` do.
    """
    document = document_parts.split_document(content)
    if not document.opening:
        raise no_front_matter_error()
    return field_values(parse_front_matter(document.front_matter))


def field_values(front_matter: FrontMatter) -> dict[str, Any]:
    """Return the fields as values for JSON; those that YAML refuses as text."""
    try:
        return _read_values(front_matter, front_matter.fields)
    except _NotSimple:
        from . import strict_yaml

        root = strict_yaml.compose_front_matter(front_matter.text)
        value: dict[str, Any] = strict_yaml.node_value(root)
        return value


class _NotSimple(Exception):
    """A value for which YAML must read the whole."""


def _read_values(front_matter: FrontMatter, fields: dict[str, FrontMatterField]) -> dict[str, Any]:
    return {key: _read_value(front_matter, field) for key, field in fields.items()}


def _read_value(front_matter: FrontMatter, field: FrontMatterField) -> Any:
    if field.kind in (TEXT_KIND, NULL_KIND):
        return field.value if field.kind == TEXT_KIND else None
    if field.kind == BLOCK_MAP_KIND and field is front_matter.fields.get(METADATA_KEY):
        return _read_values(front_matter, front_matter.metadata)
    raw = front_matter.raw_value(field)
    if field.kind == OTHER_KIND and is_plain_integer(raw):
        return int(raw)
    if front_matter.problem is None:
        raise _NotSimple
    from . import strict_yaml

    piece = front_matter.text[field.key_start : field.lines_end]
    piece = document_parts.mask_refused_characters(piece)
    try:
        ((_, value),) = strict_yaml.node_value(strict_yaml.compose_front_matter(piece)).items()
    except InvalidInput:
        return raw
    return value


def load_leniently(content: bytes) -> tuple[dict[str, Any], str]:
    """Return front matter and body; ({}, the whole text) if the front matter is unreadable."""
    try:
        values = load_front_matter(content)
    except InvalidInput:
        return {}, content.decode("utf-8", "replace")
    return values, document_parts.split_document(content).body.decode()


def no_front_matter_error() -> InvalidInput:
    """Return the error for a document without front matter."""
    return InvalidInput(
        "line 1: the front matter is missing",
        code="no_frontmatter",
        hint="start the file with '---', the keys name and description, and '---'",
    )
