"""Saves a document again: merges new content into the old document.

A bare body replaces the body. A body with front matter is merged: its fields replace
those of the same key line for line, other lines of the old front matter stay, comments
included, and its version is ignored.
"""

from __future__ import annotations

import re

from ..errors import InvalidInput
from . import document_parts, frontmatter_fields
from .document_parts import DocumentParts
from .frontmatter import parse_front_matter
from .frontmatter_fields import BLOCK_MAP_KIND, FLOW_MAP_KIND, FrontMatter, FrontMatterField
from .visible_text import fold_to_line

_BLANK_LINES_BYTES = re.compile(rb"(?:[ \t]*\r?\n)*")
_INDENTED_COMMENTS = re.compile(r"(?:(?:[ \t]*\r?\n)*[ \t]+#[^\n]*\n)*")
_BLANK_LINES_TEXT = re.compile(r"(?:[ \t]*\r?\n)*")


def update_document(prior: DocumentParts | None, incoming: DocumentParts | None) -> DocumentParts:
    """Return the document `prior` with the content of `incoming`; sets no version.

    `prior` is None for a new skill or unreadable front matter; `incoming` is None if the
    text does not change. The result may still lack front matter.
    """
    if prior is None:
        return incoming or DocumentParts(b"", b"", "", b"", b"")
    if incoming is None:
        return prior
    if not incoming.opening:
        return _replace_body(prior, incoming.body)
    if not prior.opening:
        return incoming._replace(bom=prior.bom)
    front_matter = _update_front_matter(prior, incoming)
    closing = prior.closing if prior.closing.endswith(b"\n") else incoming.closing
    return prior._replace(front_matter=front_matter, closing=closing, body=incoming.body)


def set_description(document: DocumentParts, description: str) -> DocumentParts:
    """Return `document`, which must have front matter, with this description."""
    front_matter = parse_front_matter(document.front_matter)
    field = front_matter.fields.get("description")
    raw = frontmatter_fields.format_scalar(front_matter, description)
    if field is None:
        return document._replace(
            front_matter=frontmatter_fields.add_field(
                front_matter, "description", raw, document.newline
            )
        )
    if field.value and fold_to_line(field.value) == description:
        return document
    return document._replace(
        front_matter=frontmatter_fields.replace_value(front_matter, field, raw)
    )


def add_front_matter(document: DocumentParts) -> DocumentParts:
    """Return `document` with empty front matter and a blank line; it must have none."""
    newline = b"\r\n" if re.match(rb"[^\n]*\r\n", document.body) else b"\n"
    body = document.body[_blank_lines_end(document.body) :]
    line = b"---" + newline
    return DocumentParts(document.bom, line, "", line, newline + body if body else b"")


def _replace_body(prior: DocumentParts, body: bytes) -> DocumentParts:
    """Replace the body, but keep the blank lines before the old one."""
    text = body[_blank_lines_end(body) :]
    if not text:
        return prior._replace(body=prior.body[: _blank_lines_end(prior.body)])
    gap = prior.body[: _blank_lines_end(prior.body)]
    if not prior.opening:
        return prior._replace(body=gap + text)
    newline = prior.newline.encode()
    closing = prior.closing if prior.closing.endswith(b"\n") else b"---" + newline
    return prior._replace(closing=closing, body=(gap if prior.body else newline) + text)


def _blank_lines_end(body: bytes) -> int:
    match = _BLANK_LINES_BYTES.match(body)
    return match.end() if match else 0


def _update_front_matter(prior: DocumentParts, incoming: DocumentParts) -> str:
    old = parse_front_matter(prior.front_matter)
    new = _copy_version(old, parse_front_matter(incoming.front_matter))
    if (
        old.is_flow
        or new.is_flow
        or frontmatter_fields.key_column(old) != frontmatter_fields.key_column(new)
    ):
        text = _update_other_style(old, new, prior.newline)
    else:
        text = _update_lines(old, new, prior.newline)
    return _restore_metadata(old, parse_front_matter(text), prior.newline)


def _copy_version(old: FrontMatter, new: FrontMatter) -> FrontMatter:
    """Replace the new version by the old one, so that an identical save changes nothing."""
    for key in ("version", "metadata"):
        new_field = new.fields.get("version") if key == "version" else new.metadata.get("version")
        old_field = old.fields.get("version") if key == "version" else old.metadata.get("version")
        old_field = old_field or next(iter(old.version_fields()), None)
        if new_field and old_field and old.raw_value(old_field) != new.raw_value(new_field):
            new = parse_front_matter(
                frontmatter_fields.replace_value(new, new_field, old.raw_value(old_field))
            )
    return new


def _update_lines(old: FrontMatter, new: FrontMatter, newline: str) -> str:
    text, added = old.text, []
    places = sorted(new.fields, key=lambda key: -old.fields[key].start if key in old.fields else 0)
    for key in places:
        new_field = new.fields[key]
        lines = new.text[
            frontmatter_fields.line_start_offset(
                new.text, new_field.key_start
            ) : new_field.lines_end
        ]
        if newline not in lines or "\r" in lines:
            lines = lines.replace("\r\n", "\n").replace("\n", newline)
        if key in old.fields:
            old_field = old.fields[key]
            start = frontmatter_fields.line_start_offset(old.text, old_field.key_start)
            if old.text[start : old_field.lines_end].replace("\r\n", "\n") != lines.replace(
                "\r\n", "\n"
            ):
                text = text[:start] + lines + text[_old_field_end(old, old_field, lines) :]
        elif key != "version":
            added.append((new_field.key_start, lines))
    return text + "".join(lines for _, lines in sorted(added))


def _old_field_end(old: FrontMatter, old_field: FrontMatterField, lines: str) -> int:
    """Return where an old field that `lines` replace ends.

    Comments indented below it are replaced too if `lines` may be a block scalar, which
    would include them; one that keeps its last newlines would include blank lines as well.
    """
    if lines.count("\n") < 2:
        return old_field.lines_end
    below = _INDENTED_COMMENTS.match(old.text, old_field.lines_end)
    end = below.end() if below else old_field.lines_end
    blank = _BLANK_LINES_TEXT.match(old.text, end) if "+" in lines.split("\n", 1)[0] else None
    return blank.end() if blank else end


def _update_other_style(old: FrontMatter, new: FrontMatter, newline: str) -> str:
    """Return the new front matter, in another style, with the old fields that it lacks."""
    import json

    from . import strict_yaml

    values = strict_yaml.node_value(strict_yaml.compose_front_matter(old.text))
    for key in old.fields:
        if key not in new.fields:
            raw = json.dumps(values[key], ensure_ascii=False)
            new = parse_front_matter(frontmatter_fields.add_field(new, key, raw, newline))
    return new.text


def _restore_metadata(old: FrontMatter, new: FrontMatter, newline: str) -> str:
    """Restore the version and the title of the old metadata."""
    if new.fields.get("metadata") and new.fields["metadata"].kind in (
        BLOCK_MAP_KIND,
        FLOW_MAP_KIND,
    ):
        for key in ("title", "version"):
            old_field = old.metadata.get(key)
            if old_field and key not in new.metadata:
                new = parse_front_matter(
                    frontmatter_fields.add_metadata_key(new, key, old.raw_value(old_field), newline)
                )
    return new.text


def split_if_readable(content: bytes | None) -> DocumentParts | None:
    """Return the parts of `content`, None if its front matter cannot be read."""
    if content is None:
        return None
    try:
        document = document_parts.split_document(content)
        if document.opening:
            parse_front_matter(document.front_matter)
    except InvalidInput:
        return None
    return document
