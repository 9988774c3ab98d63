"""Skill documents: create, save again, set name and version, fill in what is missing.

A save changes the version line; every other byte of the front matter stays, and so do
the byte order mark, the line endings and a missing newline at the end.
"""

from __future__ import annotations

import re

from .. import limits
from ..errors import InvalidInput
from ..named_tuple import NamedTuple
from . import document_parts, document_update, skill_version
from .document_parts import DocumentParts
from .document_update import add_field, add_metadata_key, replace_value, set_field
from .frontmatter import (
    BLOCK_MAP_KIND,
    FLOW_MAP_KIND,
    NULL_KIND,
    SPEC_FIELDS,
    TEXT_KIND,
    FrontMatter,
    parse_front_matter,
    parse_if_any,
)
from .skill_metadata import read_skill_metadata, summarize_document
from .skill_version import VersionForm
from .visible_text import fold_to_line
from .yaml_scalar import quote_scalar


def fill_defaults(
    document: DocumentParts, title: str, slug: str, description: str, number: str
) -> DocumentParts:
    """Return `document`, which must have front matter, at the version `number`.

    The name and the description are those of `fill_texts`, which raises the same.
    """
    document = fill_texts(document, title, slug, description)
    front_matter = _set_version(parse_front_matter(document.front_matter), number, document.newline)
    if skill_version.is_countable(number) and stated_version(front_matter) != number:
        raise document_update.no_edit_error()
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
        document = document_update.add_front_matter(document)
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
    document = document_update.split_or_wrap(content)
    if not document.opening:
        document = document_update.add_front_matter(document)
    return fill_defaults(document, slug, slug, "", number).to_bytes()


def set_name(content: bytes, name: str, add: bool = False) -> bytes:
    """Return `content` with another name; front matter without one gets it if `add`.

    Raises `InvalidInput` for front matter that cannot be read.
    """
    document = document_parts.split_document(content)
    if not document.opening:
        return content
    front_matter = parse_front_matter(document.front_matter)
    field = front_matter.fields.get("name")
    if not add if field is None else field.kind == TEXT_KIND and field.value == name:
        return content
    changed = set_field(front_matter, "name", name, document.newline)
    return document._replace(front_matter=changed.text).to_bytes()


def bump_document(content: bytes, previous: str, slug: str) -> UpdatedSkill:
    """Return an older `content` at the version after `previous`.

    What is no version is kept, and gives way to one. Raises `InvalidInput` as `set_version` does.
    """
    number = skill_version.next_version(previous)
    stated = _document_version(document_update.split_or_wrap(content))
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
    document = document_update.split_if_readable(content)
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
    before = document_update.split_if_readable(prior)
    incoming = None if body is None else document_update.split_incoming(body, before)
    if incoming is not None and incoming.opening:
        _check_declared_lengths(parse_if_any(incoming.front_matter), before)
    elif prior is not None:
        before = document_update.split_or_wrap(prior)
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
    document = document_update.update_document(before, incoming)
    line = "" if description is None else check_description(description)
    if line and document.opening:
        return document_update.set_description(document, line)
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
