"""Skill documents: create, save again, set name and version, fill in what is missing.

A save changes the version line; every other byte of the front matter stays, and so do
the byte order mark, the line endings and a missing newline at the end. A bare body replaces the
body. Front matter is merged: its fields replace those of the same key line for line, the other
lines stay, comments included, and its version is ignored.
"""

from __future__ import annotations

import re

from .. import limits
from ..errors import InvalidInput
from ..named_tuple import NamedTuple
from ..util.text import lazy_pattern
from . import document_parts, skill_version
from .document_parts import DocumentParts
from .frontmatter import (
    BLOCK_MAP_KIND,
    FLOW_MAP_KIND,
    LIMIT_CODES,
    NULL_KIND,
    OTHER_KIND,
    SPEC_FIELDS,
    TEXT_KIND,
    FrontMatter,
    FrontMatterField,
    field_values,
    parse_front_matter,
    parse_if_any,
)
from .skill_metadata import read_skill_metadata, summarize_document
from .skill_version import VersionForm
from .visible_text import fold_to_line
from .yaml_scalar import quote_scalar, write_scalar


def fill_defaults(
    document: DocumentParts, title: str, slug: str, description: str, number: str
) -> DocumentParts:
    """Return `document`, which must have front matter, at the version `number`.

    The name and the description are those of `fill_texts`, which raises the same.
    """
    document = fill_texts(document, title, slug, description)
    front_matter = _set_version(parse_front_matter(document.front_matter), number, document.newline)
    if skill_version.is_countable(number) and stated_version(front_matter) != number:
        raise no_edit_error()
    return document._replace(front_matter=front_matter.text)


def fill_texts(document: DocumentParts, title: str, slug: str, description: str) -> DocumentParts:
    """Return `document`, which must have front matter, with a name and a description.

    A missing name becomes `slug`, and `title` is then kept as `metadata.title` if it
    differs. A missing description becomes `description`, else the field `summary`, else the
    first line of the body, else the title. Raises `InvalidInput` with code `bad_type` or
    those of `parse_front_matter`.
    """
    document = document.close()
    newline = document.newline
    front_matter = parse_if_any(document.front_matter)
    has_no_name = not front_matter.shown_text("name").strip()
    if has_no_name:
        front_matter = set_field(front_matter, "name", slug, newline)
    if not front_matter.shown_text("description").strip():
        text = description or summarize_document(front_matter, document.body)
        text = text or fold_to_line(title)
        front_matter = set_field(front_matter, "description", text, newline)
    if has_no_name and title != slug and "title" not in front_matter.metadata:
        front_matter = add_metadata_key(front_matter, "title", quote_scalar(title), newline)
    return document._replace(front_matter=front_matter.text)


def stated_version(front_matter: FrontMatter) -> str | None:
    """Return the version that front matter states, or None; of two, that of `stated_of`.

    Text that is no version is returned as written.
    """
    fields = front_matter.version_fields()
    versions = [_read_form(front_matter.raw_value(field)) for field in fields]
    if uncounted := [raw for raw, form in versions if form is None]:
        return uncounted[0]
    texts = [form.text for _, form in versions if form]
    return skill_version.stated_of(texts) if texts else None


def _read_form(raw: str) -> tuple[str, VersionForm | None]:
    try:
        return raw, skill_version.parse_version_form(raw)
    except InvalidInput:
        return raw, None


def _set_version(front_matter: FrontMatter, number: str, newline: str) -> FrontMatter:
    fields = sorted(front_matter.version_fields(), key=lambda field: -field.start)
    metadata = front_matter.fields.get("metadata")
    if (
        not fields
        and set(front_matter.fields) <= set(SPEC_FIELDS)
        and (metadata is None or metadata.kind in (NULL_KIND, BLOCK_MAP_KIND, FLOW_MAP_KIND))
    ):  # a skill that conforms to the specification, without a top-level version, still does
        return add_metadata_key(front_matter, "version", quote_scalar(number), newline)
    if not fields:
        return add_field(front_matter, "version", skill_version.format_version(number), newline)
    if skill_version.is_countable(number):
        for field in fields:  # the last one first, so that offsets stay valid
            form = _read_form(front_matter.raw_value(field))[1]
            raw = skill_version.format_version(number, form)
            front_matter = replace_value(front_matter, field, raw)
    return front_matter


class UpdatedSkill(NamedTuple):
    """The new content of a skill, its version and the one before (None for a new skill)."""

    content: bytes
    version: str
    previous_version: str | None
    name: str


def upsert_document(
    prior: bytes | None,
    prior_version: str | None,
    name: str,
    slug: str,
    description: str | None,
    body: bytes | None,
) -> UpdatedSkill:
    """Return a skill as saved with a new description or body.

    `prior` is the present content, None for a new skill. `prior_version` is the text form
    of a version that the new one must exceed, such as the last one of a deleted skill.
    `body` is a bare body, a document with front matter, or None to keep the body. Raises
    `InvalidInput` with the codes of `split_document`, `parse_front_matter` and
    `parse_version`, `no_content` for a blank text, `bad_type`, `bad_char`, `name_too_long` or
    `description_too_long`.
    """
    before, incoming = _split_both(prior, body)
    document = _update_with_description(before, incoming, description)
    previous = None
    if prior is not None or prior_version:
        previous = _greatest_known_version(before, prior_version, prior is not None)
        number = skill_version.next_version(previous)
    else:
        stated = parse_if_any(document.front_matter)
        for field in stated.version_fields():
            skill_version.parse_version(stated.raw_value(field), stated.line_number(field))
        number = skill_version.check_initial_version(
            _document_version(document) or skill_version.FIRST_VERSION
        )
    title = name if prior is None else slug
    wanted = "" if description is None else check_description(description)
    if not wanted and prior is not None:
        wanted = read_skill_metadata(prior, "").description
    if not document.opening:
        document = add_front_matter(document)
    document = fill_defaults(document, title, slug, wanted, number)
    content = document.to_bytes()
    document_parts.check_document_text(content)
    return UpdatedSkill(
        content, number, previous, parse_front_matter(document.front_matter).shown_text("name")
    )


def is_noop(prior: bytes, description: str | None, body: bytes | None) -> bool:
    """Tell whether saving this would change nothing but the version."""
    return _update_with_description(*_split_both(prior, body), description).to_bytes() == prior


def set_version(content: bytes, number: str, slug: str) -> bytes:
    """Return `content` at the version `number` (text form), with the guaranteed fields.

    Raises `InvalidInput` as `split_document` and `parse_front_matter` do.
    """
    document = split_or_wrap(content)
    if not document.opening:
        document = add_front_matter(document)
    return fill_defaults(document, slug, slug, "", number).to_bytes()


def set_name(content: bytes, name: str) -> bytes:
    """Return `content` with another name, unchanged if it has none.

    Raises `InvalidInput` for front matter that cannot be read.
    """
    document = document_parts.split_document(content)
    if not document.opening:
        return content
    front_matter = parse_front_matter(document.front_matter)
    field = front_matter.fields.get("name")
    if field is None or (field.kind == TEXT_KIND and field.value == name):
        return content
    changed = set_field(front_matter, "name", name, document.newline)
    return document._replace(front_matter=changed.text).to_bytes()


def bump_document(content: bytes, previous: str, slug: str) -> UpdatedSkill:
    """Return an older `content` at the version after `previous`.

    What is no version is kept, and gives way to one. Raises `InvalidInput` as `set_version` does.
    """
    number = skill_version.next_version(previous)
    stated = _document_version(split_or_wrap(content))
    if stated and not (skill_version.is_countable(stated) and skill_version.is_countable(previous)):
        number = stated
    bumped = set_version(content, number, slug)
    name = parse_front_matter(document_parts.split_document(bumped).front_matter).shown_text("name")
    return UpdatedSkill(bumped, number, previous, name)


def replace_document(
    prior: bytes, slug: str, content: bytes, prior_version: str | None = None
) -> UpdatedSkill:
    """Return a skill whose whole text is replaced by `content`, front matter included.

    Unlike in a save, fields that `content` lacks are removed. `prior_version` is as for
    `upsert_document`, which raises the same.
    """
    before, incoming = _split_both(prior, content)
    written = content if incoming is None else incoming.to_bytes()
    new = bump_document(written, _greatest_known_version(before, prior_version, True), slug)
    document_parts.check_document_text(new.content)
    return new


def read_declared_names(content: bytes) -> set[str]:
    """Return the name and the `metadata.title` of a document, those that can be read."""
    document = split_if_readable(content)
    if document is None or not document.opening:
        return set()
    front_matter = parse_front_matter(document.front_matter)
    fields = (front_matter.fields.get("name"), front_matter.metadata.get("title"))
    return {field.value.strip() for field in fields if field and field.kind == TEXT_KIND} - {""}


def check_description(description: str) -> str:
    """Return a description on one line, without surrounding space.

    Raises `InvalidInput` with code `bad_type`, `bad_char` or `description_too_long`.
    """
    if not isinstance(description, str):
        raise InvalidInput(
            f"the description is not text but {type(description).__name__}",
            code="bad_type",
            hint="put quotes around it",
        )
    line = " ".join(description.split())
    if document_parts.CONTROL_CHARACTERS().search(line) or re.search("[\ud800-\udfff]", line):
        raise InvalidInput(
            f"the description has a control character: {line}",
            code="bad_char",
            hint="remove it",
        )
    _check_description_length(line)
    return line


def _split_both(
    prior: bytes | None, body: bytes | None
) -> tuple[DocumentParts | None, DocumentParts | None]:
    """Split both; an unreadable old document is None if the new one has front matter."""
    before = split_if_readable(prior)
    incoming = None if body is None else split_incoming(body, before)
    if incoming is not None and incoming.opening:
        _check_declared_lengths(parse_if_any(incoming.front_matter), before)
    elif prior is not None:
        before = split_or_wrap(prior)
    if incoming is not None and body != prior:
        _refuse_blank(before, incoming)
    return before, incoming


def _refuse_blank(before: DocumentParts | None, incoming: DocumentParts) -> None:
    """Refuse a text without words, such as what a failed program printed.

    A new skill may be front matter alone.
    """
    if incoming.body.decode().strip():
        return
    has_fields = bool(incoming.front_matter.strip())
    if not has_fields or (before is not None and before.body.strip()):
        raise InvalidInput(
            "no text is below the front matter" if has_fields else "the text is empty",
            code="no_content",
            hint="give the text; a description alone is changed without a text, with -d TEXT",
        )


def _update_with_description(
    before: DocumentParts | None, incoming: DocumentParts | None, description: str | None
) -> DocumentParts:
    document = update_document(before, incoming)
    line = "" if description is None else check_description(description)
    if line and document.opening:
        return set_description(document, line)
    return document


def _greatest_known_version(
    before: DocumentParts | None, prior_version: str | None, exists: bool
) -> str:
    """Return the greater of the version in the text before and that of the lineage."""
    versions = [prior_version] if prior_version else []
    if exists:
        stated = _document_version(before) if before is not None else None
        if stated and not skill_version.is_countable(stated):
            return stated
        versions.append(stated or skill_version.FIRST_VERSION)
    return skill_version.greatest_version(versions)


def _document_version(document: DocumentParts) -> str | None:
    return stated_version(parse_if_any(document.front_matter)) if document.opening else None


def _check_declared_lengths(front_matter: FrontMatter, before: DocumentParts | None) -> None:
    """Refuse a name that is too long, and a new description that is."""
    name, description = front_matter.shown_text("name"), front_matter.shown_text("description")
    old = parse_if_any(before.front_matter if before is not None else "")
    if len(name) > limits.MAX_SKILL_NAME_CHARS:
        raise InvalidInput(
            f"the name has {len(name)} characters; {limits.MAX_SKILL_NAME_CHARS} are allowed",
            code="name_too_long",
            hint="choose a shorter one",
        )
    if "description" not in old.fields or old.fields["description"].value != description:
        _check_description_length(description)


def _check_description_length(description: str) -> None:
    if len(description) > limits.MAX_DESCRIPTION_CHARS:
        raise InvalidInput(
            f"the description has {len(description)} characters;"
            f" at most {limits.MAX_DESCRIPTION_CHARS} are allowed",
            code="description_too_long",
            hint="shorten it: details belong in the body",
        )


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
