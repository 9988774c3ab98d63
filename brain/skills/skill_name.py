"""Change the name of a skill, and nothing else of its text."""

from __future__ import annotations

from . import document_parts, frontmatter_fields
from .frontmatter import parse_front_matter
from .frontmatter_fields import TEXT_KIND


def set_skill_name(content: bytes, name: str) -> bytes:
    """Return the text of a skill with another name; a text without front matter stays.

    Raises `InvalidInput` for front matter that cannot be read.
    """
    document = document_parts.split_document(content)
    if not document.opening:
        return content
    front_matter = parse_front_matter(document.front_matter)
    field = front_matter.fields.get("name")
    if field is not None and field.kind == TEXT_KIND and field.value == name:
        return content
    text = frontmatter_fields.set_field(front_matter, "name", name, document.newline)
    return document._replace(front_matter=text).to_bytes()
