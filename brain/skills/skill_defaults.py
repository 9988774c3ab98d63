"""Fills in the fields that every skill document must have: name, description, version."""

from __future__ import annotations

from ..errors import InvalidInput
from . import frontmatter_fields, skill_version
from .document_parts import DocumentParts
from .frontmatter import parse_front_matter, parse_if_any
from .frontmatter_fields import FrontMatter
from .skill_metadata import summarize_document
from .visible_text import fold_to_line
from .yaml_scalar import quote_scalar


def fill_defaults(
    document: DocumentParts, title: str, slug: str, description: str, number: str
) -> DocumentParts:
    """Return `document`, which must have front matter, at the version `number`.

    A missing name becomes `slug`, and `title` is then kept as `metadata.title` if it
    differs. A missing description becomes `description`, else the field `summary`, else the
    first line of the body, else the title. Raises `InvalidInput` with code `bad_type`,
    `bad_version` or those of `parse_front_matter`.
    """
    document = document.close()
    newline = document.newline
    front_matter = parse_if_any(document.front_matter)
    has_no_name = not front_matter.shown_text("name").strip()
    if has_no_name:
        front_matter = _set_field(front_matter, "name", slug, newline)
    if not front_matter.shown_text("description").strip():
        text = description or summarize_document(front_matter, document.body)
        text = text or fold_to_line(title)
        front_matter = _set_field(front_matter, "description", text, newline)
    front_matter = _set_version(front_matter, number, newline)
    if has_no_name and title != slug and "title" not in front_matter.metadata:
        front_matter = parse_front_matter(
            frontmatter_fields.add_metadata_key(front_matter, "title", quote_scalar(title), newline)
        )
    if stated_version(front_matter) != number:
        raise InvalidInput("line 2: this front matter cannot be edited", code="bad_yaml")
    return document._replace(front_matter=front_matter.text)


def stated_version(front_matter: FrontMatter) -> str | None:
    """Return the version that front matter states, the greater of two, or None.

    Raises `InvalidInput` with code `bad_version`.
    """
    versions = [
        skill_version.parse_version(front_matter.raw_value(field), front_matter.line_number(field))
        for field in front_matter.version_fields()
    ]
    return skill_version.greatest_version(versions) if versions else None


def _set_field(front_matter: FrontMatter, key: str, text: str, newline: str) -> FrontMatter:
    return parse_front_matter(frontmatter_fields.set_field(front_matter, key, text, newline))


def _set_version(front_matter: FrontMatter, number: str, newline: str) -> FrontMatter:
    fields = sorted(front_matter.version_fields(), key=lambda field: -field.start)
    if not fields:
        raw = skill_version.format_version(number)
        return parse_front_matter(
            frontmatter_fields.add_field(front_matter, "version", raw, newline)
        )
    text = front_matter.text
    for field in fields:  # the last one first, so that offsets stay valid
        line = front_matter.line_number(field)
        form = skill_version.parse_version_form(front_matter.raw_value(field), line)
        raw = skill_version.format_version(number, form)
        text = text[: field.start] + raw + text[field.end :]
    return parse_front_matter(text)
