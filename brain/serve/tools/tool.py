"""What a tool is, what a call returns, and how parameter schemas are written."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...errors import printable_text
from ...results import Notice

MAX_LINE_CHARS = 300
"""Characters of one message."""

Schema = dict[str, Any]
"""A JSON Schema of those that `arguments.check` understands."""


class Tool(NamedTuple):
    """The definition of a tool; `parameters` is the JSON Schema of an object.

    `reads`: it changes nothing. `destructive`: it may remove something from the head (the
    lineage keeps it). `idempotent`: a second call of the same does nothing more.
    """

    name: str
    description: str
    parameters: Schema
    read_only: bool
    destructive: bool
    idempotent: bool


class ToolResult(NamedTuple):
    """What a call gave: `text` for the model, the same as JSON-ready `data` for programs.

    `changed` tells whether the brain moved on.
    """

    text: str
    data: dict[str, Any]
    changed: bool


def notice_line(notice: Notice) -> str:
    """Return a notice as one line for a model."""
    place = f"{printable_text(notice.path)}: " if notice.path else ""
    return f"Note: {place}{printable_text(notice.message, MAX_LINE_CHARS)}"


def object_schema(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """Return the schema of the arguments of a tool; nothing else may be given."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def text_schema(description: str, max_chars: int, min_chars: int = 0) -> Schema:
    """Return the schema of a text of so many characters."""
    bounds = {"minLength": min_chars} if min_chars else {}
    return {"type": "string", "description": description, **bounds, "maxLength": max_chars}
