"""Fills in the fields that every skill document must have: name, description, version."""

from __future__ import annotations

from ..errors import InvalidInput
from . import frontmatter_fields, skill_version
from .document_parts import DocumentParts
from .frontmatter import parse_front_matter, parse_if_any
from .frontmatter_fields import (
    BLOCK_MAP_KIND,
    FLOW_MAP_KIND,
    NULL_KIND,
    SPEC_FIELDS,
    FrontMatter,
)
from .skill_metadata import summarize_document
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
        raise InvalidInput(
            "line 2: this front matter cannot be edited field by field",
            code="bad_yaml",
            hint="give the whole text with -f FILE, with one field a line: KEY: VALUE",
        )
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
        front_matter = _set_field(front_matter, "name", slug, newline)
    if not front_matter.shown_text("description").strip():
        text = description or summarize_document(front_matter, document.body)
        text = text or fold_to_line(title)
        front_matter = _set_field(front_matter, "description", text, newline)
    if has_no_name and title != slug and "title" not in front_matter.metadata:
        front_matter = parse_front_matter(
            frontmatter_fields.add_metadata_key(front_matter, "title", quote_scalar(title), newline)
        )
    return document._replace(front_matter=front_matter.text)


def holds_version_in_metadata(front_matter: FrontMatter) -> bool:
    """Tell whether a first version goes to `metadata.version`.

    It does where all fields are those of the specification, which has no top-level `version`,
    and `metadata` is a map or missing. A skill that conforms to it then still does.
    """
    metadata = front_matter.fields.get("metadata")
    return set(front_matter.fields) <= set(SPEC_FIELDS) and (
        metadata is None or metadata.kind in (NULL_KIND, BLOCK_MAP_KIND, FLOW_MAP_KIND)
    )


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


def check_versions(front_matter: FrontMatter) -> None:
    """Refuse text that is no version. Raises `InvalidInput` with code `bad_version`."""
    for field in front_matter.version_fields():
        line = front_matter.line_number(field)
        skill_version.parse_version(front_matter.raw_value(field), line)


def _read_form(raw: str) -> tuple[str, VersionForm | None]:
    try:
        return raw, skill_version.parse_version_form(raw)
    except InvalidInput:
        return raw, None


def _set_field(front_matter: FrontMatter, key: str, text: str, newline: str) -> FrontMatter:
    return parse_front_matter(frontmatter_fields.set_field(front_matter, key, text, newline))


def _set_version(front_matter: FrontMatter, number: str, newline: str) -> FrontMatter:
    fields = sorted(front_matter.version_fields(), key=lambda field: -field.start)
    if not fields:
        return parse_front_matter(_add_version(front_matter, number, newline))
    text = front_matter.text
    if not skill_version.is_countable(number):
        return front_matter  # it is kept
    for field in fields:  # the last one first, so that offsets stay valid
        raw = skill_version.format_version(number, _read_form(front_matter.raw_value(field))[1])
        gap = " " if text[: field.start].endswith(":") else ""  # of a field without a value
        text = text[: field.start] + gap + raw + text[field.end :]
    return parse_front_matter(text)


def _add_version(front_matter: FrontMatter, number: str, newline: str) -> str:
    if holds_version_in_metadata(front_matter):
        raw = quote_scalar(number)
        return frontmatter_fields.add_metadata_key(front_matter, "version", raw, newline)
    raw = skill_version.format_version(number)
    return frontmatter_fields.add_field(front_matter, "version", raw, newline)
