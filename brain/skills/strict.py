"""Copies of skills that keep the specification of agentskills.io to the letter.

It knows six fields, metadata from text to text, and a name that is that of the folder. What
a skill says beyond that goes into its metadata, so that nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from .. import limits
from . import edit, parts, version
from .check import ERROR, MAX_COMPATIBILITY, check
from .complete import complete, file_version
from .fields import SPECIFIED, Head
from .frontmatter import load, scan
from .merge import wrapped
from .parts import Parts
from .scalar import quoted, write

FILE = "SKILL.md"
METADATA = "metadata"
_FOR_CLIENTS = frozenset(("unknown_field", "metadata_not_text", "flow_style", "asks_for_tools"))
"""What does not keep the specification, and yet a client that has fields of its own reads."""
_TITLE = "title"


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
    cut = cut._replace(head=cut.head.replace("\r\n", "\n"))
    cut = _moved(cut, slug, keeps, known is not None)
    head, values = scan(cut.head), load(cut.join())
    lines = [f"name: {slug}", *_texts(values)]
    lines.extend(_metadata(head, values, keeps))
    lines.extend(_as_written(head, values, key) for key in head.fields if _is_kept(key, keeps))
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


def _moved(cut: Parts, slug: str, keeps: Collection[str], with_version: bool) -> Parts:
    """Add to the metadata what has no field of its own there."""
    values = load(cut.join())
    extra = {
        key: _text(value)
        for key, value in values.items()
        if key not in SPECIFIED and key not in keeps and (with_version or key != "version")
    }
    name = _text(values["name"])
    if name != slug:
        extra.setdefault(_TITLE, name)
    head = scan(cut.head)
    for key, text in extra.items():
        if key not in head.metadata:
            head = scan(edit.add_metadata(head, write(key), quoted(text), "\n"))
    return cut._replace(head=head.text)


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


def _metadata(head: Head, values: dict[str, Any], keeps: Collection[str]) -> Iterator[str]:
    found = values.get(METADATA)
    if not found:
        return
    if METADATA in keeps:
        yield _as_written(head, values, METADATA)
        return
    yield f"{METADATA}:"
    for key, value in found.items():
        yield f"  {_scalar(key)}: {_quoted(_text(value))}"


def _as_written(head: Head, values: dict[str, Any], key: str) -> str:
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
