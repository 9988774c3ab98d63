"""What a tool is to a model, and what a call of it gives back."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...errors import printable
from ...results import Notice

MOST_SAID = 300
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
    reads: bool
    destructive: bool
    idempotent: bool


class Answer(NamedTuple):
    """What a call gave: `text` for the model, the same as JSON-ready `data` for programs.

    `changed` tells whether the brain moved on.
    """

    text: str
    data: dict[str, Any]
    changed: bool


def note(notice: Notice) -> str:
    """Return a notice as one line for a model."""
    place = f"{printable(notice.path)}: " if notice.path else ""
    return f"Note: {place}{printable(notice.message, MOST_SAID)}"


def parameters(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """Return the schema of the arguments of a tool; nothing else may be given."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def text(description: str, most: int, least: int = 0) -> Schema:
    """Return the schema of a text of so many characters."""
    bounds = {"minLength": least} if least else {}
    return {"type": "string", "description": description, **bounds, "maxLength": most}
