"""The front matter of a document as fields with their places, for reading and editing.

Offsets are characters of the text of the head, which is everything between the
two `---` lines.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import InvalidInput, printable

TEXT = "text"
NULL = "null"
BLOCK_MAP = "block map"
FLOW_MAP = "flow map"
OTHER = "other"

SPECIFIED = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
"""The top-level fields of the specification (agentskills.io)."""


class Field(NamedTuple):
    """One key and its value.

    `kind` is one of the constants above; `value` is the text of a value of kind
    TEXT, else "". The value is written at `start` to `end`, its key starts at
    `key_start`, and the lines of the field end before `stop`.
    """

    kind: str
    value: str
    start: int
    end: int
    key_start: int
    stop: int


class Head(NamedTuple):
    """The fields at the top level and those of the map `metadata`.

    `flow` says that the whole head is one map in braces.
    """

    text: str
    fields: dict[str, Field]
    metadata: dict[str, Field]
    flow: bool

    def raw(self, field: Field) -> str:
        """Return the value of `field` as it is written."""
        return self.text[field.start : field.end]

    def line(self, field: Field) -> int:
        """Return the number in the file of the line on which `field` starts."""
        return self.text.count("\n", 0, field.key_start) + 2

    def text_of(self, key: str) -> str:
        """Return the text of a top-level field, or "" if it is missing or left empty.

        Raises `InvalidInput` with code `bad_type` if it is not text.
        """
        field = self.fields.get(key)
        if field is None or field.kind == NULL:
            return ""
        if field.kind != TEXT:
            raise InvalidInput(
                f"line {self.line(field)}: {key} is not text: {printable(self.raw(field))}",
                code="bad_type",
                hint="put quotes around it",
            )
        return field.value

    def versions(self) -> list[Field]:
        """Return the fields that hold the version: at the top level, in metadata, or both."""
        found = (self.fields.get("version"), self.metadata.get("version"))
        return [field for field in found if field is not None]
