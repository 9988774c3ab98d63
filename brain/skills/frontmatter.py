"""Front matter: from the text of a head to fields with places, and to plain values."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from . import fast, parts
from .fields import BLOCK_MAP, FLOW_MAP, NULL, OTHER, SPECIFIED, TEXT, Field, Head

if TYPE_CHECKING:
    import yaml

_FEW_LINES = 500
"""Lines that surely hold fewer values than the YAML loader allows."""


@lru_cache(maxsize=8)
def scan(text: str) -> Head:
    """Return the fields of the head `text`; a save looks at the same head several times.

    Raises `InvalidInput` with the codes of `strict_yaml.compose`; messages give the
    line of the file.
    """
    return fast.scan(text) or scan_fully(text)


def scan_fully(text: str) -> Head:
    """Return what `scan` returns, always by the YAML loader."""
    from . import strict_yaml

    return _head(text, strict_yaml.compose(text))


def inspect(text: str) -> tuple[Head, int]:
    """Return the fields of a head, with their kinds for sure, and where it has flow style.

    That is the line of the first list or map in brackets, 0 if there is none. Raises as
    `scan` does.
    """
    if "[" not in text and "{" not in text and text.count("\n") <= _FEW_LINES:
        head = fast.scan(text)
        if head is not None and _is_sure(head):
            return head, 0
    from . import strict_yaml

    root = strict_yaml.compose(text)
    return _head(text, root), strict_yaml.flow_line(root)


def _is_sure(head: Head) -> bool:
    """Tell whether the line reader knows the kind of each field of which it may matter.

    What it calls OTHER the YAML loader may yet take for text, such as a version 1.2.3.
    """
    known = [field for key, field in head.fields.items() if key in SPECIFIED]
    return all(field.kind != OTHER for field in (*known, *head.metadata.values()))


def _head(text: str, root: yaml.MappingNode) -> Head:
    fields = _fields(text, root)
    metadata: dict[str, Field] = {}
    for key, value in root.value:
        if key.value == "metadata" and fields["metadata"].kind in (BLOCK_MAP, FLOW_MAP):
            metadata = _fields(text, value)
    return Head(text, fields, metadata, bool(root.flow_style))


def load(content: bytes) -> dict[str, Any]:
    """Return the front matter of a document as values that JSON can hold.

    Floats and dates stay text. Raises `InvalidInput` with code `no_frontmatter`,
    the codes of `parts.split` or those of `strict_yaml.compose`.
    """
    from . import strict_yaml

    cut = parts.split(content)
    if not cut.opening:
        raise no_frontmatter()
    value: dict[str, Any] = strict_yaml.value_of(strict_yaml.compose(cut.head))
    return value


def read_leniently(content: bytes) -> tuple[dict[str, Any], str]:
    """Return front matter and body; what cannot be read gives ({}, the whole text)."""
    try:
        values = load(content)
    except InvalidInput:
        return {}, content.decode("utf-8", "replace")
    return values, parts.split(content).body.decode()


def no_frontmatter() -> InvalidInput:
    """Return the error for a document without front matter."""
    return InvalidInput(
        "line 1: no front matter",
        code="no_frontmatter",
        hint="start the file with '---', the keys name and description, and '---'",
    )


def _fields(text: str, node: yaml.MappingNode) -> dict[str, Field]:
    return {key.value: _field(text, key, value) for key, value in node.value}


def _field(text: str, key: yaml.Node, value: yaml.Node) -> Field:
    import yaml

    from . import strict_yaml

    kind, plain = OTHER, ""
    if strict_yaml.is_text(value):
        kind, plain = TEXT, value.value
    elif strict_yaml.is_empty(value):
        kind = NULL
    elif isinstance(value, yaml.MappingNode):
        kind = FLOW_MAP if value.flow_style else BLOCK_MAP
    end = _end(text, value)
    newline = text.find("\n", end)
    stop = newline + 1 if newline >= 0 else len(text)
    return Field(kind, plain, value.start_mark.index, end, key.start_mark.index, stop)


def _end(text: str, node: yaml.Node) -> int:
    """Return where the text of `node` ends; PyYAML's marks go on to the next token."""
    import yaml

    if isinstance(node, yaml.ScalarNode):
        end: int = node.end_mark.index
        if node.style not in ("|", ">"):
            return end
        before = text[:end].rstrip(" \t")
        if "+" in text[node.start_mark.index : end].split("\n", 1)[0].split("#", 1)[0]:
            return len(before.removesuffix("\n").removesuffix("\r"))
        return len(before.rstrip(" \t\r\n"))
    if not isinstance(node, yaml.CollectionNode) or node.flow_style:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(text, last[1] if isinstance(node, yaml.MappingNode) else last)
