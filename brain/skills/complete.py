"""What every document of a skill is guaranteed to have: name, description, version."""

from __future__ import annotations

from ..errors import InvalidInput
from . import edit, version
from .card import summary
from .fields import Field, Head
from .frontmatter import scan
from .parts import Parts
from .scalar import quoted
from .text import fold


def complete(document: Parts, title: str, slug: str, description: str, number: str) -> Parts:
    """Return `document`, which has front matter, with its version set to `number`.

    A missing name becomes `slug`, and `title` is then kept as `metadata.title` if it
    differs. A missing description becomes `description`, else the first line of the
    body, else the title. Raises `InvalidInput` with code `bad_type`, `bad_version`
    or those of `frontmatter.scan`.
    """
    newline = document.newline
    head = scan(document.head) if document.head else edit.EMPTY
    nameless = not head.text_of("name").strip()
    if nameless:
        head = _put(head, "name", slug, newline)
    if not head.text_of("description").strip():
        text = description or summary(document.body) or fold(title)
        head = _put(head, "description", text, newline)
    head = _with_version(head, number, newline)
    if nameless and title != slug and "title" not in head.metadata:
        head = scan(edit.add_metadata(head, "title", quoted(title), newline))
    if file_version(head) != number:
        raise InvalidInput("line 2: this front matter cannot be edited", code="bad_yaml")
    return document._replace(head=head.text)


def file_version(head: Head) -> str | None:
    """Return the version that a head states, the greater of two, or None.

    Raises `InvalidInput` with code `bad_version`.
    """
    found = [version.parse(head.raw(field), head.line(field)) for field in head.versions()]
    return version.greatest(found) if found else None


def _put(head: Head, key: str, text: str, newline: str) -> Head:
    field = head.fields.get(key)
    raw = edit.scalar_for(head, text)
    if field is None:
        return scan(edit.add(head, key, raw, newline))
    return scan(edit.replace(head, field, raw))


def _with_version(head: Head, number: str, newline: str) -> Head:
    fields = sorted(head.versions(), key=lambda field: -field.start)
    if not fields:
        return scan(edit.add(head, "version", version.render(number), newline))
    text = head.text
    for field in fields:
        text = _rewritten(head, field, text, number)
    return scan(text)


def _rewritten(head: Head, field: Field, text: str, number: str) -> str:
    """Write `number` where `field` stands in `text`, which is the same up to there."""
    form = version.read(head.raw(field), head.line(field))
    return text[: field.start] + version.render(number, form) + text[field.end :]
