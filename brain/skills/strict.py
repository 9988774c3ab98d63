"""Copies of skills that keep the specification of agentskills.io to the letter.

It knows six fields, metadata from text to text, and a name that is that of the folder. What
a skill says beyond that goes into its metadata, so that nothing is lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .. import limits
from . import edit, parts, version
from .check import ERROR, MAX_COMPATIBILITY, check
from .complete import complete, file_version
from .fields import BLOCK_MAP, NULL, OTHER, SPECIFIED, TEXT, Field, Head
from .frontmatter import load, scan
from .merge import wrapped
from .parts import Parts
from .scalar import quoted, write

FILE = "SKILL.md"
METADATA = "metadata"
_FOR_CLIENTS = frozenset(("unknown_field", "metadata_not_text", "flow_style", "asks_for_tools"))
"""What does not keep the specification, and yet a client that has fields of its own reads."""
_TITLE = "title"
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9A-Za-z.+-]*)?")


def conforming(content: bytes, slug: str, keeps: Collection[str] = ()) -> bytes:
    """Return the skill as it may lie in a folder called `slug`.

    A text that is fine already comes back as it is. Fields of `keeps`, which some client
    reads, stay as they are written; if `metadata` is among them, it may hold more than text.
    Raises `InvalidInput` for front matter that cannot be read or edited.
    """
    if _is_fine(content, slug, keeps):
        return content
    cut = parts.split(content)
    if not cut.opening:
        cut = wrapped(cut)
    known = file_version(scan(cut.head)) if cut.head else None
    cut = complete(cut, slug, slug, "", known or version.FIRST)
    head = scan(cut.head.replace("\r\n", "\n"))
    values = _values(head)
    if known is None:
        values.pop("version", None)
    extra = _extra(values, slug, keeps)
    lines = [f"name: {slug}", *_texts(values)]
    is_map = isinstance(values.get(METADATA), dict | None)
    if not is_map:
        values[METADATA] = {METADATA: values[METADATA]}
    if METADATA in keeps and is_map:
        lines.extend(_metadata_as_written(head, values, extra))
    else:
        lines.extend(_metadata(values.get(METADATA) or {}, extra))
    lines.extend(_as_written(head, key, values) for key in values if _is_kept(key, keeps))
    text = "\n".join((*lines, ""))
    return Parts(b"", b"---\n", text, b"---\n", cut.body).join()


def _is_fine(content: bytes, slug: str, keeps: Collection[str]) -> bool:
    problems = check(FILE, content, slug, True)
    if not keeps:
        return all(row.severity != ERROR for row in problems)
    if any(row.severity == ERROR and row.code not in _FOR_CLIENTS for row in problems):
        return False
    return all(key in SPECIFIED or key in keeps for key in scan(parts.split(content).head).fields)


def _is_kept(key: str, keeps: Collection[str]) -> bool:
    return key in keeps and key not in SPECIFIED


def _values(head: Head) -> dict[str, Any]:
    """Return the values of a head; where all are scalars on a line, without the YAML loader."""
    found = _plain_map(head, {k: field for k, field in head.fields.items() if k != METADATA})
    metadata = head.fields.get(METADATA)
    if found is not None and metadata is not None:
        inner = _plain_map(head, head.metadata) if metadata.kind in (BLOCK_MAP, NULL) else None
        found = None if inner is None else {**found, METADATA: inner}
    if found is None:
        return load(Parts(b"", b"---\n", head.text, b"---\n", b"").join())
    return found


def _plain_map(head: Head, fields: Mapping[str, Field]) -> dict[str, Any] | None:
    found = {key: _plain(head, field) for key, field in fields.items()}
    return None if None in found.values() else found


def _plain(head: Head, field: Field) -> str | None:
    """Return the text of a scalar, None for what only the YAML loader can read."""
    if field.kind in (TEXT, NULL):
        return field.value
    raw = head.raw(field)
    return raw if field.kind == OTHER and _NUMBER.fullmatch(raw) else None


def _extra(values: dict[str, Any], slug: str, keeps: Collection[str]) -> dict[str, str]:
    """Return what has no field of its own in the specification, as text."""
    known = (*SPECIFIED, *keeps)
    extra = {key: _text(value) for key, value in values.items() if key not in known}
    name = _text(values["name"])
    if name != slug:
        extra.setdefault(_TITLE, name)
    return extra


def _texts(values: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the fields that are text, cut to what may be there."""
    most = {"description": limits.MAX_DESCRIPTION_CHARS, "compatibility": MAX_COMPATIBILITY}
    for key in ("description", "license", "compatibility", "allowed-tools"):
        value = values.get(key)
        if key == "allowed-tools" and isinstance(value, list):
            value = " ".join(map(_text, value))
        text = _text(value)
        if text.strip():
            yield f"{key}: {_scalar(_cut(text.strip(), most.get(key)))}"


def _metadata(found: dict[str, Any], extra: dict[str, str]) -> Iterator[str]:
    whole = {**extra, **found}
    if whole:
        yield f"{METADATA}:"
    for key, value in whole.items():
        yield f"  {_scalar(key)}: {_quoted(_text(value))}"


def _metadata_as_written(
    head: Head, values: dict[str, Any], extra: dict[str, str]
) -> Iterator[str]:
    """Yield the metadata in the shape it has, with what is added to it."""
    for key, text in extra.items():
        if key not in head.metadata:
            head = scan(edit.add_metadata(head, write(key), quoted(text), "\n"))
    if METADATA in head.fields:
        yield _as_written(head, METADATA, {METADATA: {**extra, **(values.get(METADATA) or {})}})


def _as_written(head: Head, key: str, values: dict[str, Any]) -> str:
    field = head.fields[key]
    if head.flow:
        return f"{write(key)}: {json.dumps(values[key], ensure_ascii=False)}"
    return head.text[field.key_start : field.stop].rstrip("\n")


def _text(value: Any) -> str:
    """Return a value as text; what is no scalar, as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else text[: most - 1].rstrip() + "…"


def _scalar(text: str) -> str:
    """Return text on one line, also for readers that end the front matter at any `---`."""
    return write(text) if "---" not in text else _quoted(text)


def _quoted(text: str) -> str:
    return quoted(text) if "---" not in text else quoted(text).replace("-", "\\x2d")
