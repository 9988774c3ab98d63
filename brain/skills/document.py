"""Documents of skills: made, saved again, checked for what they declare.

The one line that must change in a save is the version; every other byte of a head
stays as it is, and so do the byte order mark, the line endings and a missing
newline at the end.
"""

from __future__ import annotations

from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput, printable
from . import edit, merge, parts, version
from .card import Card, decode_card, encode_card, read_card
from .complete import complete, file_version
from .fields import TEXT, Head
from .frontmatter import scan
from .parts import Parts
from .slug import slugify

__all__ = [
    "Card",
    "Upsert",
    "declared_names",
    "decode_card",
    "encode_card",
    "ensure_skill_frontmatter",
    "is_noop",
    "new_document",
    "raise_version",
    "read_card",
    "replaced",
    "set_version",
    "upsert_document",
]


class Upsert(NamedTuple):
    """The new content of a skill, its version and the one before (None for a new skill)."""

    content: bytes
    version: str
    previous_version: str | None
    name: str


def new_document(name: str, description: str, body: bytes, number: str = version.FIRST) -> bytes:
    """Return a document with front matter around the bare `body`.

    `name` is turned into its slug, and kept as `metadata.title` where it differs;
    `number` is the text form of the version. An empty description is taken from the
    body. Raises `InvalidInput` as `slugify` and `upsert_document` do.
    """
    cut = merge.wrapped(parts.split(body))
    return complete(cut, name, slugify(name), checked_description(description), number).join()


def ensure_skill_frontmatter(name: str, content: bytes) -> bytes:
    """Return `content` with name, description and version, adding only what is missing.

    Raises `InvalidInput` as `slugify`, `parts.split` and `frontmatter.scan` do.
    """
    cut = parts.split(content)
    if not cut.opening:
        cut = merge.wrapped(cut)
    head = scan(cut.head) if cut.head else edit.EMPTY
    return complete(cut, name, slugify(name), "", file_version(head) or version.FIRST).join()


def upsert_document(
    prior: bytes | None,
    prior_version: str | None,
    name: str,
    slug: str,
    description: str | None,
    body: bytes | None,
) -> Upsert:
    """Return what a skill becomes when it is saved.

    `prior` is the content now, None for a new skill. `prior_version` is the text form
    of the last version that the lineage knows under this slug, also of a skill that
    was deleted. `body` is a bare body, a document with front matter, or None to keep
    the body. Raises `InvalidInput` with the codes of `parts.split`, `frontmatter.scan`
    and `version.parse`, `bad_type`, `name_too_long`, `description_too_long` or
    `bad_description`.
    """
    before, incoming = _taken(prior, body)
    document = _merged(before, incoming, description)
    known = []
    if before is not None and before.opening:
        known.append(file_version(scan(before.head)) or version.FIRST)
    elif prior is not None:
        known.append(version.FIRST)
    if prior_version:
        known.append(prior_version)
    previous = version.greatest(known) if known else None
    if previous is not None:
        number = version.after(previous)
    else:
        number = version.check_entry(_stated_version(document) or version.FIRST)
    title = name if prior is None else slug
    wanted = "" if description is None else checked_description(description)
    if not document.opening:
        document = merge.wrapped(document)
    document = complete(document, title, slug, wanted, number)
    content = document.join()
    parts.check_text(content)
    return Upsert(content, number, previous, scan(document.head).text_of("name"))


def is_noop(prior: bytes, description: str | None, body: bytes | None) -> bool:
    """Tell whether saving this would change nothing but the version."""
    return _merged(*_taken(prior, body), description).join() == prior


def set_version(content: bytes, number: str, slug: str) -> bytes:
    """Return `content` at the version `number` (text form), with the guaranteed fields.

    Raises `InvalidInput` as `parts.split` and `frontmatter.scan` do.
    """
    cut = parts.split(content)
    if not cut.opening:
        cut = merge.wrapped(cut)
    return complete(cut, slug, slug, "", number).join()


def raise_version(content: bytes, previous: str, slug: str) -> Upsert:
    """Return an older `content` at the version after `previous`, a text form.

    Raises `InvalidInput` as `set_version` does.
    """
    number = version.after(previous)
    raised = set_version(content, number, slug)
    name = scan(parts.split(raised).head).text_of("name")
    return Upsert(raised, number, previous, name)


def replaced(prior: bytes, prior_version: str | None, slug: str, content: bytes) -> Upsert:
    """Return what a skill becomes whose whole text is now `content`, its head included.

    Other than in a save, what is gone from the head is gone. `prior_version` is as for
    `upsert_document`, and so is what is raised.
    """
    before, _ = _taken(prior, content)
    known = [version.FIRST]
    if before is not None and before.opening:
        known = [file_version(scan(before.head)) or version.FIRST]
    if prior_version:
        known.append(prior_version)
    new = raise_version(content, version.greatest(known), slug)
    parts.check_text(new.content)
    return new


def declared_names(content: bytes) -> set[str]:
    """Return the name and the `metadata.title` of a document, as far as they can be read."""
    cut = merge.read(content)
    if cut is None or not cut.opening:
        return set()
    head = scan(cut.head)
    fields = (head.fields.get("name"), head.metadata.get("title"))
    return {field.value.strip() for field in fields if field and field.kind == TEXT} - {""}


def checked_description(description: str) -> str:
    """Return a description as it is written: on one line, surrounding space removed.

    Raises `InvalidInput` with code `bad_type`, `bad_char` or `description_too_long`.
    """
    if not isinstance(description, str):
        raise InvalidInput(
            f"a description is text, not {type(description).__name__}", code="bad_type"
        )
    line = " ".join(description.split())
    if parts.CONTROL.search(line) or not _encodes(line):
        raise InvalidInput(
            f"a control character in the description: {printable(line)}", code="bad_char"
        )
    _check_length(line)
    return line


def _taken(prior: bytes | None, body: bytes | None) -> tuple[Parts | None, Parts | None]:
    """Cut both; an old document that cannot be read gives way to one with front matter."""
    incoming = None if body is None else parts.split(body)
    if incoming is None or not incoming.opening:
        before = None if prior is None else parts.split(prior)
        if before is not None and before.opening:
            scan(before.head)
        return before, incoming
    before = merge.read(prior)
    _check_declared(scan(incoming.head), before)
    return before, incoming


def _merged(before: Parts | None, incoming: Parts | None, description: str | None) -> Parts:
    document = merge.merged(before, incoming)
    wanted = "" if description is None else checked_description(description)
    return merge.described(document, wanted) if wanted and document.opening else document


def _stated_version(document: Parts) -> str | None:
    return file_version(scan(document.head)) if document.opening else None


def _check_declared(head: Head, before: Parts | None) -> None:
    """Refuse a name that is too long, and a description unless it was so long before."""
    name, description = head.text_of("name"), head.text_of("description")
    old = scan(before.head) if before is not None and before.opening else edit.EMPTY
    if len(name) > limits.MAX_NAME_CHARS:
        raise InvalidInput(f"a name of {len(name)} characters", code="name_too_long")
    if "description" not in old.fields or old.fields["description"].value != description:
        _check_length(description)


def _check_length(description: str) -> None:
    if len(description) > limits.MAX_DESCRIPTION_CHARS:
        raise InvalidInput(
            f"a description of {len(description)} characters",
            code="description_too_long",
            hint=f"at most {limits.MAX_DESCRIPTION_CHARS}; details belong in the body",
        )


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
