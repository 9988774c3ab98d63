"""Exports a skill in strict conformance to the agentskills.io specification.

The specification has six fields, maps text to text in metadata, and requires the name of
the folder as name. Other fields of a skill move into its metadata, so nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

from .. import limits
from ..errors import InvalidInput
from . import document_parts
from .document_parts import DocumentParts
from .frontmatter import (
    SPEC_FIELDS,
    FrontMatter,
    field_values,
    parse_front_matter,
    parse_if_any,
)
from .skill_document import add_front_matter, add_metadata_key, fill_texts
from .skill_lint import ERROR, MAX_COMPATIBILITY_CHARS, check_skill
from .visible_text import truncate
from .yaml_scalar import quote_scalar, write_scalar

SKILL_FILE = "SKILL.md"
METADATA_KEY = "metadata"
_CLIENT_CODES = frozenset(("unknown_field", "metadata_not_text", "flow_style", "asks_for_tools"))
"""Violations of the specification that a client with its own fields accepts."""
_TITLE_KEY = "title"


def export_to_spec(content: bytes, slug: str, client_fields: Collection[str] = ()) -> bytes:
    """Return the skill for a folder called `slug`, unchanged if it conforms already.

    `client_fields`, which some client reads, stay as written; if `metadata` is among them,
    it may hold more than text. Raises `InvalidInput` for front matter that cannot be read
    or edited.
    """
    if _is_conforming(content, slug, client_fields):
        return content
    document = document_parts.split_document(content)
    if not document.opening:
        document = add_front_matter(document)
    document = fill_texts(document, slug, slug, "")
    front_matter = parse_front_matter(document.front_matter.replace("\r\n", "\n"))
    values = field_values(front_matter)
    with suppress(InvalidInput):
        values = {**field_values(parse_if_any(document.earlier_head or "")), **values}
    extra = _extra_metadata(values, slug, client_fields)
    lines = [f"name: {write_scalar(slug)}", *_format_text_fields(values)]
    is_map = isinstance(values.get(METADATA_KEY), dict | None)
    if not is_map:
        values[METADATA_KEY] = {METADATA_KEY: values[METADATA_KEY]}
    if METADATA_KEY in client_fields and is_map:
        lines.extend(_copy_metadata(front_matter, values, extra))
    else:
        lines.extend(_format_metadata(values.get(METADATA_KEY) or {}, extra))
    lines.extend(
        _copy_field(front_matter, key, values)
        for key in values
        if key in client_fields and key not in SPEC_FIELDS
    )
    text = "\n".join((*lines, ""))
    return DocumentParts(b"", b"---\n", text, b"---\n", document.body).to_bytes()


def _is_conforming(content: bytes, slug: str, client_fields: Collection[str]) -> bool:
    problems = check_skill(SKILL_FILE, content, slug, True)
    if not client_fields:
        return all(row.severity != ERROR for row in problems)
    if any(row.severity == ERROR and row.code not in _CLIENT_CODES for row in problems):
        return False
    return all(
        key in SPEC_FIELDS or key in client_fields
        for key in parse_front_matter(document_parts.split_document(content).front_matter).fields
    )


def _extra_metadata(
    values: dict[str, Any], slug: str, client_fields: Collection[str]
) -> dict[str, str]:
    """Return the fields that the specification lacks, as text."""
    known = (*SPEC_FIELDS, *client_fields)
    extra = {key: _value_text(value) for key, value in values.items() if key not in known}
    name = _value_text(values["name"])
    if name != slug:
        extra.setdefault(_TITLE_KEY, name)
    return extra


def _format_text_fields(values: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the text fields, truncated to their limits."""
    limits_by_key = {
        "description": limits.MAX_DESCRIPTION_CHARS,
        "compatibility": MAX_COMPATIBILITY_CHARS,
    }
    for key in ("description", "license", "compatibility", "allowed-tools"):
        value = values.get(key)
        if key == "allowed-tools" and isinstance(value, list):
            value = " ".join(map(_value_text, value))
        text = _value_text(value)
        if text.strip():
            limit = limits_by_key.get(key, len(text))
            yield f"{key}: {_format_scalar_safely(truncate(text.strip(), limit))}"


def _format_metadata(metadata: dict[str, Any], extra: dict[str, str]) -> Iterator[str]:
    combined = {**extra, **metadata}
    if combined:
        yield f"{METADATA_KEY}:"
    for key, value in combined.items():
        yield f"  {_format_scalar_safely(key)}: {_quote_safely(_value_text(value))}"


def _copy_metadata(
    front_matter: FrontMatter, values: dict[str, Any], extra: dict[str, str]
) -> Iterator[str]:
    """Yield the metadata as written, with the extra fields added."""
    for key, text in extra.items():
        if key not in front_matter.metadata:
            front_matter = add_metadata_key(
                front_matter, write_scalar(key), quote_scalar(text), "\n"
            )
    if METADATA_KEY in front_matter.fields:
        metadata = {**extra, **(values.get(METADATA_KEY) or {})}
        yield _copy_field(front_matter, METADATA_KEY, {METADATA_KEY: metadata})


def _copy_field(front_matter: FrontMatter, key: str, values: dict[str, Any]) -> str:
    field = front_matter.fields[key]
    if front_matter.is_flow:
        return f"{write_scalar(key)}: {json.dumps(values[key], ensure_ascii=False)}"
    return front_matter.text[field.key_start : field.lines_end].rstrip("\n")


def _value_text(value: Any) -> str:
    """Return a value as text; other values than text as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _format_scalar_safely(text: str) -> str:
    """Return a scalar without `---`, at which some readers end the front matter."""
    return write_scalar(text) if "---" not in text else _quote_safely(text)


def _quote_safely(text: str) -> str:
    return quote_scalar(text) if "---" not in text else quote_scalar(text).replace("-", "\\x2d")
