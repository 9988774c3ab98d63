"""Edits of single fields in the text of a head; every other character stays.

Each function returns the new text of the head. Values are scalars as they are to
be written, so already quoted where needed.
"""

from __future__ import annotations

from ..errors import InvalidInput, printable
from .fields import BLOCK_MAP, FLOW_MAP, NULL, OTHER, Field, Head
from .scalar import quoted, write

EMPTY = Head("", {}, {}, False)
"""The head of a document that has none yet."""


def scalar_for(head: Head, text: str) -> str:
    """Return `text` as a scalar that may stand in `head`: inside braces always quoted."""
    return quoted(text) if head.flow else write(text)


def replace(head: Head, field: Field, raw: str) -> str:
    """Put `raw` where the value of `field` stands; a list or map below goes with its comments."""
    before = head.text[: field.start]
    if field.kind in (BLOCK_MAP, OTHER) and "\n" in head.text[field.key_start : field.start]:
        key_end = head.text.index(":", field.key_start) + 1
        return f"{head.text[:key_end]} {raw}{head.text[field.end :]}"
    gap = " " if before.endswith(":") else ""
    return f"{before}{gap}{raw}{head.text[field.end :]}"


def add(head: Head, key: str, raw: str, newline: str) -> str:
    """Add a top-level field: as the last line, or first inside the braces."""
    if head.flow:
        return _into_braces(head.text, 0, key, raw)
    return f"{head.text}{' ' * column(head)}{key}: {raw}{newline}"


def add_metadata(head: Head, key: str, raw: str, newline: str) -> str:
    """Add a key to the map `metadata`, which is made if it is missing.

    Raises `InvalidInput` with code `bad_type` if `metadata` is no map.
    """
    field = head.fields.get("metadata")
    if field is None:
        if head.flow:
            return add(head, "metadata", f"{{{quoted(key)}: {raw}}}", newline)
        margin = " " * column(head)
        return f"{head.text}{margin}metadata:{newline}{margin}  {key}: {raw}{newline}"
    if field.kind == NULL:
        return replace(head, field, f"{{{quoted(key)}: {raw}}}")
    if field.kind == FLOW_MAP:
        return _into_braces(head.text, field.start, key, raw)
    if field.kind != BLOCK_MAP:
        raise InvalidInput(
            f"line {head.line(field)}: metadata is not a map: {printable(head.raw(field))}",
            code="bad_type",
        )
    first = line_start(head.text, field.start)
    margin = head.text[first : field.start]
    return f"{head.text[:first]}{margin}{key}: {raw}{newline}{head.text[first:]}"


def column(head: Head) -> int:
    """Return the column of the top-level keys."""
    first = min((field.key_start for field in head.fields.values()), default=0)
    return first - line_start(head.text, first)


def line_start(text: str, offset: int) -> int:
    """Return where the line that holds `offset` starts."""
    return text.rfind("\n", 0, offset) + 1


def _into_braces(text: str, start: int, key: str, raw: str) -> str:
    brace = text.index("{", start) + 1
    comma = "" if text[brace:].lstrip().startswith("}") else ", "
    return f"{text[:brace]}{quoted(key)}: {raw}{comma}{text[brace:]}"
