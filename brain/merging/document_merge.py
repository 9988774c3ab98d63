"""Three-way merge of a skill that both sides changed.

Front matter is merged field by field, the body by lines, each on its own. The
version is the one after the greater of the two, whatever either side wrote, so
what the agent reads next is newer than what either of them knew.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import InvalidInput
from ..skills import document_parts, skill_defaults, skill_version
from ..skills import document_update as documents
from ..skills.document_parts import DocumentParts
from ..skills.frontmatter import parse_front_matter
from ..skills.skill_document import set_version
from . import diff3, frontmatter_merge
from .diff3 import MergePiece


class SkillMerge(NamedTuple):
    """A merged skill in pieces, and its versions in text form: ours, theirs, the new one."""

    pieces: list[MergePiece]
    ours: str
    theirs: str
    version: str


def merge_skill(base: bytes | None, ours: bytes, theirs: bytes, slug: str) -> SkillMerge:
    """Merge a skill; `base` is None if each side made it on its own.

    Raises `InvalidInput` if either side cannot be read as a skill.
    """
    versions = (_read_version(ours), _read_version(theirs))
    number = skill_version.next_version(skill_version.greatest_version(list(versions)))
    a, b = (_split_at_version(side, number, slug) for side in (ours, theirs))
    old = _split_base(base, number, slug)
    pieces: list[MergePiece] = [
        [_merge_atom(old.bom, a.bom, b.bom) + _merge_atom(old.opening, a.opening, b.opening)],
        *frontmatter_merge.merge_front_matter(old.front_matter, a.front_matter, b.front_matter),
        [_merge_atom(old.closing, a.closing, b.closing)],
        *diff3.merge_lines(
            diff3.split_lines(old.body), diff3.split_lines(a.body), diff3.split_lines(b.body)
        ),
    ]
    return SkillMerge(pieces, *versions, number)


def check_merged_skill(content: bytes, number: str) -> None:
    """Raise `InvalidInput` unless `content` is a readable skill that states version `number`."""
    document = document_parts.split_document(content)
    if (
        not document.opening
        or skill_defaults.stated_version(parse_front_matter(document.front_matter)) != number
    ):
        raise InvalidInput("the merged front matter is not readable", code="bad_frontmatter")


def _read_version(content: bytes) -> str:
    document = document_parts.split_document(content)
    found = (
        skill_defaults.stated_version(parse_front_matter(document.front_matter))
        if document.opening
        else None
    )
    return found or skill_version.FIRST_VERSION


def _split_at_version(content: bytes, number: str, slug: str) -> DocumentParts:
    """Return a side as it would be at the new version, so that versions never collide."""
    return document_parts.split_document(set_version(content, number, slug))


def _split_base(content: bytes | None, number: str, slug: str) -> DocumentParts:
    empty = DocumentParts(b"", b"", "", b"", b"")
    document = documents.split_if_readable(content)
    if content is None or document is None:
        return empty
    try:
        return _split_at_version(content, number, slug)
    except InvalidInput:
        return empty


def _merge_atom(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Merge what has no lines: byte order mark, fences."""
    if ours == base:
        return theirs
    return ours if theirs == base else max(ours, theirs)
