"""Front matter as fields with their offsets, and edits of single fields.

The text is everything between the two `---` lines; offsets count its characters. An
edit returns the new text and changes no other character. Callers quote values where needed.
"""

from __future__ import annotations

from ..errors import InvalidInput
from ..named_tuple import NamedTuple
from .yaml_scalar import quote_scalar, write_scalar

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


def replace_value(front_matter: FrontMatter, field: FrontMatterField, raw: str) -> str:
    """Replace the value of `field` by `raw`; a list or map is removed with its comments."""
    before = front_matter.text[: field.start]
    if (
        field.kind in (BLOCK_MAP_KIND, OTHER_KIND)
        and "\n" in front_matter.text[field.key_start : field.start]
    ):
        key_end = front_matter.text.index(":", field.key_start) + 1
        return f"{front_matter.text[:key_end]} {raw}{front_matter.text[field.end :]}"
    gap = " " if before.endswith(":") else ""
    return f"{before}{gap}{raw}{front_matter.text[field.end :]}"


def add_field(front_matter: FrontMatter, key: str, raw: str, newline: str) -> str:
    """Add a top-level field: as the last line, or first inside the braces."""
    if front_matter.is_flow:
        return _insert_into_braces(front_matter.text, 0, key, raw)
    return f"{front_matter.text}{' ' * key_column(front_matter)}{key}: {raw}{newline}"


def set_field(front_matter: FrontMatter, key: str, text: str, newline: str) -> str:
    """Replace or add the top-level field `key` with the value `text`."""
    field = front_matter.fields.get(key)
    raw = quote_scalar(text) if front_matter.is_flow else write_scalar(text)
    if field is None:
        return add_field(front_matter, key, raw, newline)
    return replace_value(front_matter, field, raw)


def add_metadata_key(front_matter: FrontMatter, key: str, raw: str, newline: str) -> str:
    """Add a key to the map `metadata`, which is created if missing.

    Raises `InvalidInput` with code `bad_type` if `metadata` is another value.
    """
    field = front_matter.fields.get("metadata")
    if field is None:
        if front_matter.is_flow:
            return add_field(front_matter, "metadata", f"{{{quote_scalar(key)}: {raw}}}", newline)
        margin = " " * key_column(front_matter)
        return f"{front_matter.text}{margin}metadata:{newline}{margin}  {key}: {raw}{newline}"
    if field.kind == NULL_KIND:
        return _fill_empty_metadata(front_matter, field, key, raw, newline)
    if field.kind == FLOW_MAP_KIND:
        return _insert_into_braces(front_matter.text, field.start, key, raw)
    if field.kind != BLOCK_MAP_KIND:
        raise InvalidInput(
            f"line {front_matter.line_number(field)}: metadata is not a map:"
            f" {front_matter.raw_value(field)}",
            code="bad_type",
            hint="write metadata as keys with values, one a line, indented",
        )
    first = line_start_offset(front_matter.text, field.start)
    margin = front_matter.text[first : field.start]
    return f"{front_matter.text[:first]}{margin}{key}: {raw}{newline}{front_matter.text[first:]}"


def _fill_empty_metadata(
    front_matter: FrontMatter, field: FrontMatterField, key: str, raw: str, newline: str
) -> str:
    if front_matter.is_flow:
        return replace_value(front_matter, field, f"{{{quote_scalar(key)}: {raw}}}")
    text = front_matter.text
    line = (text[: field.start].rstrip(" \t") + text[field.end : field.lines_end]).rstrip("\r\n")
    margin = " " * key_column(front_matter)
    rest = text[field.lines_end :]
    return f"{line}{newline}{margin}  {key}: {raw}{newline}{rest}"


def key_column(front_matter: FrontMatter) -> int:
    """Return the column of the top-level keys."""
    first = min((field.key_start for field in front_matter.fields.values()), default=0)
    return first - line_start_offset(front_matter.text, first)


def line_start_offset(text: str, offset: int) -> int:
    """Return where the line around `offset` starts."""
    return text.rfind("\n", 0, offset) + 1


def _insert_into_braces(text: str, start: int, key: str, raw: str) -> str:
    brace = text.index("{", start) + 1
    rest = text[brace:].lstrip()
    gap = text[brace : len(text) - len(rest)]
    if rest.startswith("}"):
        return f"{text[:brace]}{quote_scalar(key)}: {raw}{text[brace:]}"
    is_line = "\n" in gap
    first = f"{gap if is_line else ''}{quote_scalar(key)}: {raw},"
    return f"{text[:brace]}{first}{'' if is_line else ' '}{text[brace:]}"
