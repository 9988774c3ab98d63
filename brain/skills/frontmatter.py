"""Reads front matter: as fields with their offsets, or as plain values."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from . import document_parts, frontmatter_subset
from .frontmatter_fields import (
    BLOCK_MAP_KIND,
    EMPTY_FRONT_MATTER,
    FLOW_MAP_KIND,
    NULL_KIND,
    OTHER_KIND,
    SPEC_FIELDS,
    TEXT_KIND,
    FrontMatter,
    FrontMatterField,
)

if TYPE_CHECKING:
    import yaml

_MAX_SUBSET_LINES = 500
"""Lines that hold fewer values than `strict_yaml.MAX_YAML_NODES` in any case."""


@lru_cache(maxsize=8)
def parse_front_matter(text: str) -> FrontMatter:
    """Return the fields of the front matter `text`; cached, as a save reads it several times.

    Raises `InvalidInput` with the codes of `strict_yaml.compose_front_matter`; messages
    give the line of the file.
    """
    return frontmatter_subset.parse_subset(text) or parse_with_yaml(text)


def parse_if_any(text: str) -> FrontMatter:
    """Return what `parse_front_matter` returns, EMPTY_FRONT_MATTER for ""."""
    return parse_front_matter(text) if text else EMPTY_FRONT_MATTER


def parse_with_yaml(text: str) -> FrontMatter:
    """Return what `parse_front_matter` returns, always by way of the YAML parser."""
    from . import strict_yaml

    return _front_matter_from_nodes(text, strict_yaml.compose_front_matter(text))


def parse_with_flow_line(text: str) -> tuple[FrontMatter, int]:
    """Return the fields, all with their exact kinds, and the line of the first flow style.

    Flow style is a list or map in brackets; the line is 0 if there is none. Raises as
    `parse_front_matter` does.
    """
    if "[" not in text and "{" not in text and text.count("\n") <= _MAX_SUBSET_LINES:
        front_matter = frontmatter_subset.parse_subset(text)
        if front_matter is not None and _has_certain_kinds(front_matter):
            return front_matter, 0
    from . import strict_yaml

    root = strict_yaml.compose_front_matter(text)
    return _front_matter_from_nodes(text, root), strict_yaml.first_flow_line(root)


def _has_certain_kinds(front_matter: FrontMatter) -> bool:
    """Tell whether the subset reader is exact about every field whose kind matters.

    The YAML parser may read its `OTHER_KIND` as text, such as a version 1.2.3.
    """
    known = [field for key, field in front_matter.fields.items() if key in SPEC_FIELDS]
    return all(field.kind != OTHER_KIND for field in (*known, *front_matter.metadata.values()))


def _front_matter_from_nodes(text: str, root: yaml.MappingNode) -> FrontMatter:
    fields = _fields_from_node(text, root)
    metadata: dict[str, FrontMatterField] = {}
    for key, value in root.value:
        if key.value == "metadata" and fields["metadata"].kind in (BLOCK_MAP_KIND, FLOW_MAP_KIND):
            metadata = _fields_from_node(text, value)
    return FrontMatter(text, fields, metadata, bool(root.flow_style))


def load_front_matter(content: bytes) -> dict[str, Any]:
    """Return the front matter of a document as values for JSON; floats and dates stay text.

    Raises `InvalidInput` with code `no_frontmatter` or the codes of `split_document`
    and `strict_yaml.compose_front_matter`.
    """
    from . import strict_yaml

    document = document_parts.split_document(content)
    if not document.opening:
        raise no_front_matter_error()
    value: dict[str, Any] = strict_yaml.node_value(
        strict_yaml.compose_front_matter(document.front_matter)
    )
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
        "line 1: no front matter",
        code="no_frontmatter",
        hint="start the file with '---', the keys name and description, and '---'",
    )


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
        before = text[:end].rstrip(" \t")
        if "+" in text[node.start_mark.index : end].split("\n", 1)[0].split("#", 1)[0]:
            return len(before.removesuffix("\n").removesuffix("\r"))
        return len(before.rstrip(" \t\r\n"))
    if not isinstance(node, yaml.CollectionNode) or node.flow_style:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _value_end(text, last[1] if isinstance(node, yaml.MappingNode) else last)
