"""The types of a tool and of its result, and helpers to write parameter schemas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ...errors import printable_text
from ...results import Notice

MAX_LINE_CHARS = 300
"""Characters of one message."""

Schema = dict[str, Any]
"""A JSON Schema with the keywords that `argument_check` supports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """The definition of a tool; `parameters` is the JSON Schema of an object.

    `read_only`: it changes nothing. `destructive`: it may remove something from the head (the
    lineage keeps it). `idempotent`: repeating a call has no further effect.
    """

    name: str
    description: str
    parameters: Schema
    read_only: bool
    destructive: bool = False
    idempotent: bool = True


class ToolResult(NamedTuple):
    """The result of a call: `text` for the model, the same as JSON-ready `data` for programs.

    `changed` tells whether the call recorded a snapshot.
    """

    text: str
    data: dict[str, Any]
    changed: bool


def pick_fields(result: object, *names: str) -> dict[str, Any]:
    """Return the named attributes of a result, as JSON-ready data of a tool."""
    return {name: getattr(result, name) for name in names}


def notice_line(notice: Notice) -> str:
    """Return a notice as one line for a model."""
    place = f"{printable_text(notice.path)}: " if notice.path else ""
    return f"Note: {place}{printable_text(notice.message, MAX_LINE_CHARS)}"


def object_schema(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """Return the schema of an object that allows no other properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def text_schema(description: str, max_chars: int, min_chars: int = 0) -> Schema:
    """Return the schema of a text of `min_chars` to `max_chars` characters."""
    bounds = {"minLength": min_chars} if min_chars else {}
    return {"type": "string", "description": description, **bounds, "maxLength": max_chars}
