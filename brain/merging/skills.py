"""Three-way merge of a skill that both sides changed.

Front matter is merged field by field, the body by lines, each on its own. The
version is the one after the greater of the two, whatever either side wrote, so
what the agent reads next is newer than what either of them knew.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import InvalidInput
from ..skills import complete, parts, version
from ..skills import merge as documents
from ..skills.document import set_version
from ..skills.frontmatter import scan
from ..skills.parts import Parts
from . import heads, lines
from .lines import Piece


class Merged(NamedTuple):
    """A merged skill in pieces, and its versions in text form: ours, theirs, the new one."""

    pieces: list[Piece]
    ours: str
    theirs: str
    version: str


def merge(base: bytes | None, ours: bytes, theirs: bytes, slug: str) -> Merged:
    """Merge a skill; `base` is None if each side made it on its own.

    Raises `InvalidInput` if either side cannot be read as a skill.
    """
    versions = (_version(ours), _version(theirs))
    number = version.after(version.greatest(list(versions)))
    a, b = (_taken(side, number, slug) for side in (ours, theirs))
    old = _base(base, number, slug)
    pieces: list[Piece] = [
        [_either(old.bom, a.bom, b.bom) + _either(old.opening, a.opening, b.opening)],
        *heads.merge(old.head, a.head, b.head),
        [_either(old.closing, a.closing, b.closing)],
        *lines.merge(lines.split(old.body), lines.split(a.body), lines.split(b.body)),
    ]
    return Merged(pieces, *versions, number)


def check(content: bytes, number: str) -> None:
    """Raise `InvalidInput` unless `content` is a readable skill that states version `number`."""
    cut = parts.split(content)
    if not cut.opening or complete.file_version(scan(cut.head)) != number:
        raise InvalidInput("the merged front matter is not readable", code="bad_frontmatter")


def _version(content: bytes) -> str:
    cut = parts.split(content)
    found = complete.file_version(scan(cut.head)) if cut.opening else None
    return found or version.FIRST


def _taken(content: bytes, number: str, slug: str) -> Parts:
    """Return a side as it would be at the new version, so that versions never collide."""
    return parts.split(set_version(content, number, slug))


def _base(content: bytes | None, number: str, slug: str) -> Parts:
    empty = Parts(b"", b"", "", b"", b"")
    cut = documents.read(content)
    if content is None or cut is None:
        return empty
    try:
        return _taken(content, number, slug)
    except InvalidInput:
        return empty


def _either(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Merge what has no lines: byte order mark, fences."""
    if ours == base:
        return theirs
    return ours if theirs == base else max(ours, theirs)
