"""Reads front matter with the YAML parser, as fields with their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import document_parts
from .frontmatter_fields import (
    BLOCK_MAP_KIND,
    FLOW_MAP_KIND,
    NULL_KIND,
    OTHER_KIND,
    TEXT_KIND,
    FrontMatter,
    FrontMatterField,
)

if TYPE_CHECKING:
    import yaml


def parse_with_yaml(text: str) -> FrontMatter:
    """Return the fields as the YAML parser reads them.

    Raises `InvalidInput` with the codes of `strict_yaml.compose_front_matter`, `bad_char`
    or `bad_newline`; messages give the line of the file.
    """
    from . import strict_yaml

    document_parts.check_front_matter(text)
    return from_root(text, strict_yaml.compose_front_matter(text))


def from_root(text: str, root: yaml.MappingNode) -> FrontMatter:
    """Return the fields of `text`, which was composed to `root`."""
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
        before = text[:end].rstrip(" \t")
        if "+" in text[node.start_mark.index : end].split("\n", 1)[0].split("#", 1)[0]:
            return len(before.removesuffix("\n").removesuffix("\r"))
        return len(before.rstrip(" \t\r\n"))
    if not isinstance(node, yaml.CollectionNode) or node.flow_style:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _value_end(text, last[1] if isinstance(node, yaml.MappingNode) else last)
