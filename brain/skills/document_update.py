"""Edits of front matter, and a document saved again: new content merged into the old one.

An edit of a field changes no other character; callers quote values where needed.

A bare body replaces the body. A body with front matter is merged: its fields replace
those of the same key line for line, other lines of the old front matter stay, comments
included, and its version is ignored.
"""

from __future__ import annotations

import re

from ..errors import InvalidInput
from ..util.text import lazy_pattern
from . import document_parts
from .document_parts import DocumentParts
from .frontmatter import (
    BLOCK_MAP_KIND,
    FLOW_MAP_KIND,
    LIMIT_CODES,
    NULL_KIND,
    OTHER_KIND,
    TEXT_KIND,
    FrontMatter,
    FrontMatterField,
    field_values,
    parse_front_matter,
    parse_if_any,
)
from .visible_text import fold_to_line
from .yaml_scalar import quote_scalar, write_scalar

_BLANK_LINES_BYTES = lazy_pattern(rb"(?:[ \t]*\r?\n)*")
_INDENTED_COMMENTS = lazy_pattern(r"(?:(?:[ \t]*\r?\n)*[ \t]+#[^\n]*\n)*")
_CLOSING_CHARACTERS = {'"': '"', "'": "'", "[": "]", "{": "}"}
_BLANK_LINES_TEXT = lazy_pattern(r"(?:[ \t]*\r?\n)*")


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
    opening = prior.opening if incoming.earlier_head is None else incoming.opening
    return DocumentParts(prior.bom, opening, front_matter, closing, incoming.body)


def set_description(document: DocumentParts, description: str) -> DocumentParts:
    """Return `document`, which must have front matter, with this description."""
    front_matter = parse_front_matter(document.front_matter)
    field = front_matter.fields.get("description")
    if field and field.value and fold_to_line(field.value) == description:
        return document
    changed = set_field(front_matter, "description", description, document.newline)
    return document._replace(front_matter=changed.text)


def add_front_matter(document: DocumentParts) -> DocumentParts:
    """Return `document` with empty front matter and a blank line; it must have none."""
    newline = b"\r\n" if re.match(rb"[^\n]*\r\n", document.body) else b"\n"
    body = document.body[_blank_lines_end(document.body) :]
    line = b"---" + newline
    return DocumentParts(document.bom, line, "", line, newline + body if body else b"")


def _replace_body(prior: DocumentParts, body: bytes) -> DocumentParts:
    """Replace the body, but keep the blank lines before the old one."""
    text = body[_blank_lines_end(body) :]
    gap = prior.body[: _blank_lines_end(prior.body)]
    if not prior.opening:
        return prior._replace(body=gap + text)
    closed = prior.close()
    end = b"" if closed.closing.endswith(b"\n") else prior.newline.encode()
    return closed._replace(
        closing=closed.closing + end, body=(gap if prior.body else prior.newline.encode()) + text
    )


def _blank_lines_end(body: bytes) -> int:
    match = _BLANK_LINES_BYTES().match(body)
    return match.end() if match else 0


def _update_front_matter(prior: DocumentParts, incoming: DocumentParts) -> str:
    old = parse_front_matter(prior.front_matter)
    new = _copy_version(old, parse_front_matter(incoming.front_matter))
    newline = prior.newline
    if old.is_flow or new.is_flow or key_column(old) != key_column(new):
        new = _update_other_style(old, new, newline)
    else:
        new = parse_front_matter(_update_lines(old, new, newline))
    metadata = new.fields.get("metadata")
    if metadata is not None and metadata.kind in (BLOCK_MAP_KIND, FLOW_MAP_KIND):
        for key in ("title", "version"):
            old_field = old.metadata.get(key)
            if old_field and key not in new.metadata:
                new = add_metadata_key(new, key, old.raw_value(old_field), newline)
    return new.text


def _copy_version(old: FrontMatter, new: FrontMatter) -> FrontMatter:
    """Replace the new version by the old one, so that an identical save changes nothing."""
    for is_metadata in (False, True):
        new_field = (new.metadata if is_metadata else new.fields).get("version")
        old_field = (old.metadata if is_metadata else old.fields).get("version")
        old_field = old_field or next(iter(old.version_fields()), None)
        if new_field and old_field and old.raw_value(old_field) != new.raw_value(new_field):
            new = replace_value(new, new_field, old.raw_value(old_field))
    return new


def _update_lines(old: FrontMatter, new: FrontMatter, newline: str) -> str:
    text, added = old.text, []
    for key in sorted(
        new.fields, key=lambda key: -old.fields[key].start if key in old.fields else 0
    ):
        new_field, old_field = new.fields[key], old.fields.get(key)
        _, lines = _field_lines(new, new_field)
        new_lines = lines.replace("\n", newline)
        if old_field:
            start, old_lines = _field_lines(old, old_field)
            if old_lines != lines:
                text = text[:start] + new_lines + text[_old_field_end(old, old_field, new_lines) :]
        elif key != "version":
            added.append((new_field.key_start, new_lines))
    return text + "".join(lines for _, lines in sorted(added))


def _field_lines(front_matter: FrontMatter, field: FrontMatterField) -> tuple[int, str]:
    """Return where the lines of a field start, and the lines with `\\n` as line ends."""
    start = line_start_offset(front_matter.text, field.key_start)
    return start, front_matter.text[start : field.lines_end].replace("\r\n", "\n")


def _old_field_end(old: FrontMatter, old_field: FrontMatterField, lines: str) -> int:
    """Return where an old field that `lines` replace ends.

    Comments indented below it are replaced too if `lines` may be a block scalar, which
    would include them; one that keeps its last newlines would include blank lines as well.
    """
    if lines.count("\n") < 2:
        return old_field.lines_end
    below = _INDENTED_COMMENTS().match(old.text, old_field.lines_end)
    end = below.end() if below else old_field.lines_end
    blank = _BLANK_LINES_TEXT().match(old.text, end) if "+" in lines.split("\n", 1)[0] else None
    return blank.end() if blank else end


def _update_other_style(old: FrontMatter, new: FrontMatter, newline: str) -> FrontMatter:
    """Return the new front matter, in another style, with the old fields that it lacks."""
    import json

    values = field_values(old)
    for key in old.fields:
        if key not in new.fields:
            raw = json.dumps(values[key], ensure_ascii=False)
            new = add_field(new, key, raw, newline)
    return new


def split_incoming(content: bytes, prior: DocumentParts | None) -> DocumentParts:
    """Return the parts of a text to be saved, with the values quoted that YAML refuses.

    Values that `prior` has as well stay as they are. Blank lines before a new text go.
    Raises as `split_or_wrap` does, and `InvalidInput` (`bad_char`) for control characters
    that `prior` does not have.
    """
    document = split_or_wrap(content)
    if not document.opening:
        return document
    kept = "" if prior is None else prior.front_matter
    for found in document_parts.CONTROL_CHARACTERS().findall(document.front_matter):
        if found not in kept:
            document_parts.check_front_matter(document.front_matter)
    front_matter = parse_if_any(document.front_matter)
    opening = document.opening.lstrip() if prior is None else document.opening
    if front_matter.is_text_as_written():
        return document._replace(opening=opening)
    text = quote_refused(front_matter, parse_if_any(kept))
    return document._replace(opening=opening, front_matter=text)


def split_or_wrap(content: bytes) -> DocumentParts:
    """Return the parts of `content`; a head without any field is part of the body.

    Raises `InvalidInput` as `split_document` does, and for more or deeper values than are read.
    """
    document = document_parts.split_document(content)
    try:
        parse_if_any(document.front_matter)
    except InvalidInput as error:
        if error.code in LIMIT_CODES:
            raise
        text = document.front_matter.encode()
        body = b"".join((document.opening, text, document.closing, document.body))
        return DocumentParts(document.bom, b"", "", b"", body)
    return document


def split_if_readable(content: bytes | None) -> DocumentParts | None:
    """Return the parts of `content`, None if it cannot be read."""
    if content is None:
        return None
    try:
        return split_or_wrap(content)
    except InvalidInput:
        return None


def splice(front_matter: FrontMatter, start: int, end: int, new: str) -> FrontMatter:
    """Return the front matter with the text between two offsets replaced.

    Raises `InvalidInput` (`bad_yaml`) if YAML would refuse what it read before.
    """
    text = front_matter.text
    changed = parse_front_matter(f"{text[:start]}{new}{text[end:]}")
    if changed.problem is not None and front_matter.problem is None:
        raise no_edit_error()
    return changed


def no_edit_error() -> InvalidInput:
    """Return the error for front matter that only a person can edit."""
    return InvalidInput(
        "line 2: this front matter cannot be edited field by field",
        code="bad_yaml",
        hint="give the whole text with -f FILE, with one field a line: KEY: VALUE",
    )


def replace_value(front_matter: FrontMatter, field: FrontMatterField, raw: str) -> FrontMatter:
    """Replace the value of `field` by `raw`; a list or map is removed with its comments."""
    text, start = front_matter.text, field.start
    if field.kind in (BLOCK_MAP_KIND, OTHER_KIND) and "\n" in text[field.key_start : start]:
        start = text.index(":", field.key_start) + 1
    gap = " " if text[start - 1 : start] == ":" else ""
    return splice(front_matter, start, field.end, gap + raw)


def add_field(front_matter: FrontMatter, key: str, raw: str, newline: str) -> FrontMatter:
    """Add a top-level field: as the last line, or first inside the braces."""
    if front_matter.is_flow:
        return _insert_into_braces(front_matter, 0, key, raw)
    end = len(front_matter.text)
    margin = " " * key_column(front_matter)
    return splice(front_matter, end, end, f"{margin}{key}: {raw}{newline}")


def set_field(front_matter: FrontMatter, key: str, text: str, newline: str) -> FrontMatter:
    """Replace or add the top-level field `key` with the value `text`."""
    field = front_matter.fields.get(key)
    raw = quote_scalar(text) if front_matter.is_flow else write_scalar(text)
    if field is None:
        return add_field(front_matter, key, raw, newline)
    return replace_value(front_matter, field, raw)


def add_metadata_key(front_matter: FrontMatter, key: str, raw: str, newline: str) -> FrontMatter:
    """Add a key to the map `metadata`, which is created if missing.

    Raises `InvalidInput` with code `bad_type` if `metadata` is another value.
    """
    text, field = front_matter.text, front_matter.fields.get("metadata")
    if field is None and front_matter.is_flow:
        return add_field(front_matter, "metadata", f"{{{quote_scalar(key)}: {raw}}}", newline)
    if field is not None and field.kind == NULL_KIND and front_matter.is_flow:
        return replace_value(front_matter, field, f"{{{quote_scalar(key)}: {raw}}}")
    if field is not None and field.kind == FLOW_MAP_KIND:
        return _insert_into_braces(front_matter, field.start, key, raw)
    margin = " " * key_column(front_matter)
    line = f"{margin}  {key}: {raw}{newline}"
    if field is None:
        return splice(front_matter, len(text), len(text), f"{margin}metadata:{newline}{line}")
    if field.kind == NULL_KIND:
        start = len(text[: field.start].rstrip(" \t"))
        after = text[field.end : field.lines_end].rstrip("\r\n")
        return splice(front_matter, start, field.lines_end, f"{after}{newline}{line}")
    if field.kind != BLOCK_MAP_KIND:
        raise InvalidInput(
            f"line {front_matter.line_number(field)}: metadata is not a map:"
            f" {front_matter.raw_value(field)}",
            code="bad_type",
            hint="write metadata as keys with values, one a line, indented",
        )
    first = line_start_offset(text, field.start)
    margin = text[first : field.start]
    return splice(front_matter, first, first, f"{margin}{key}: {raw}{newline}")


def key_column(front_matter: FrontMatter) -> int:
    """Return the column of the top-level keys."""
    first = min((field.key_start for field in front_matter.fields.values()), default=0)
    before = front_matter.text[line_start_offset(front_matter.text, first) : first]
    return len(before.partition("?")[0])  # the mark of an explicit key is at its column


def line_start_offset(text: str, offset: int) -> int:
    """Return where the line around `offset` starts."""
    return text.rfind("\n", 0, offset) + 1


def _insert_into_braces(front_matter: FrontMatter, start: int, key: str, raw: str) -> FrontMatter:
    text = front_matter.text
    brace = text.index("{", start) + 1
    rest = text[brace:].lstrip()
    gap = text[brace : len(text) - len(rest)]
    field = f"{quote_scalar(key)}: {raw}"
    if not rest.startswith("}"):
        field = f"{gap}{field}," if "\n" in gap else f"{field}, "
    return splice(front_matter, brace, brace, field)


def quote_refused(front_matter: FrontMatter, prior: FrontMatter) -> str:
    """Return the text with every value quoted that YAML refuses or reads as another type.

    Other types matter for the name and the description. Values that `prior` has as well
    stay as they are. Raises the problem of YAML for a quote or bracket that is never closed:
    what was meant is then unclear.
    """
    same_lines = {prior.text[field.key_start : field.end] for field in prior.fields.values()}
    same_lines.update(prior.text[field.key_start : field.end] for field in prior.refused)
    text = front_matter.text
    written = {field.key_start: field for field in front_matter.refused}
    for key in ("name", "description"):
        field = front_matter.fields.get(key)
        if field is not None and field.kind not in (TEXT_KIND, NULL_KIND):
            written[field.key_start] = field
    for field in sorted(written.values(), reverse=True, key=lambda field: field.start):
        value = field.value or front_matter.one_line_value(field)
        if value and text[field.key_start : field.end] not in same_lines:
            closing = _CLOSING_CHARACTERS.get(value[0])
            if front_matter.problem is not None and closing and closing not in value[1:]:
                raise front_matter.problem
            gap = " " if text[field.start - 1] == ":" else ""
            text = f"{text[: field.start]}{gap}{quote_scalar(value)}{text[field.end :]}"
    return text
