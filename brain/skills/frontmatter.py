"""Reads front matter: as fields with their offsets, or as plain values."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import Any

from ..errors import InvalidInput
from . import document_parts, frontmatter_subset
from .frontmatter_fields import (
    BLOCK_MAP_KIND,
    EMPTY_FRONT_MATTER,
    NULL_KIND,
    OTHER_KIND,
    SPEC_FIELDS,
    TEXT_KIND,
    FrontMatter,
    FrontMatterField,
)
from .yaml_scalar import is_plain_integer

_MAX_SUBSET_LINES = 500
"""Lines that hold fewer values than `strict_yaml.MAX_YAML_NODES` in any case."""


@lru_cache(maxsize=8)
def parse_front_matter(text: str) -> FrontMatter:
    """Return the fields of the front matter `text`; cached, as a save reads it several times.

    Front matter that YAML refuses is recovered (`frontmatter_recovery`), with its `problem`.
    Raises `InvalidInput`, whose message gives the line of the file, if it holds no field,
    or more or deeper ones than `strict_yaml` reads.
    """
    front_matter = frontmatter_subset.parse_subset(text)
    if front_matter is not None:
        return front_matter
    from . import frontmatter_nodes

    try:
        return frontmatter_nodes.parse_with_yaml(text)
    except InvalidInput as problem:
        from . import frontmatter_recovery

        return frontmatter_recovery.recover_front_matter(text, problem)


def parse_if_any(text: str) -> FrontMatter:
    """Return what `parse_front_matter` returns, EMPTY_FRONT_MATTER for ""."""
    return parse_front_matter(text) if text else EMPTY_FRONT_MATTER


def parse_with_flow_line(text: str) -> tuple[FrontMatter, int]:
    """Return the fields, all with their exact kinds, and the line of the first flow style.

    Flow style is a list or map in brackets; the line is 0 if there is none, or if the front
    matter was recovered. Raises as `parse_front_matter` does.
    """
    front_matter = parse_front_matter(text)
    if front_matter.problem is not None:
        return front_matter, 0
    if _is_short(text) and "[" not in text and "{" not in text and _has_certain_kinds(front_matter):
        return front_matter, 0
    from . import frontmatter_nodes, strict_yaml

    root = strict_yaml.compose_front_matter(text)
    return frontmatter_nodes.from_root(text, root), strict_yaml.first_flow_line(root)


def _is_short(text: str) -> bool:
    return text.count("\n") <= _MAX_SUBSET_LINES


def _has_certain_kinds(front_matter: FrontMatter) -> bool:
    """Tell whether the subset reader is exact about every field whose kind matters.

    The YAML parser may read its `OTHER_KIND` as text, such as a version 1.2.3.
    """
    known = [field for key, field in front_matter.fields.items() if key in SPEC_FIELDS]
    return all(field.kind != OTHER_KIND for field in (*known, *front_matter.metadata.values()))


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
    if front_matter.problem is None:
        if _is_short(front_matter.text):
            with suppress(_NotSimple):
                return _simple_values(front_matter, front_matter.fields)
        from . import strict_yaml

        root = strict_yaml.compose_front_matter(front_matter.text)
        value: dict[str, Any] = strict_yaml.node_value(root)
        return value
    values = {
        key: _recovered_value(front_matter, key, field)
        for key, field in front_matter.fields.items()
    }
    if any(field in front_matter.metadata.values() for field in front_matter.refused):
        values["metadata"] = {
            key: _recovered_value(front_matter, key, field)
            for key, field in front_matter.metadata.items()
        }
    return values


class _NotSimple(Exception):
    """A value for which the YAML parser is needed."""


def _simple_values(
    front_matter: FrontMatter, fields: dict[str, FrontMatterField]
) -> dict[str, Any]:
    return {key: _simple_value(front_matter, key, field) for key, field in fields.items()}


def _simple_value(front_matter: FrontMatter, key: str, field: FrontMatterField) -> Any:
    """Return a text, a null, an integer, or the map `metadata` of these."""
    if field.kind == TEXT_KIND:
        return field.value
    if field.kind == NULL_KIND:
        return None
    if field.kind == BLOCK_MAP_KIND and field is front_matter.fields.get("metadata"):
        return _simple_values(front_matter, front_matter.metadata)
    raw = front_matter.raw_value(field)
    if field.kind == OTHER_KIND and is_plain_integer(raw):
        return int(raw)
    raise _NotSimple


def _recovered_value(front_matter: FrontMatter, key: str, field: FrontMatterField) -> Any:
    from . import strict_yaml

    if field.kind in (TEXT_KIND, NULL_KIND):
        return field.value or None
    piece = front_matter.text[field.key_start : field.lines_end]
    try:
        return strict_yaml.node_value(strict_yaml.compose_front_matter(piece))[key]
    except InvalidInput:  # a map of which some values were recovered
        return front_matter.raw_value(field)


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
