"""Three-way merge of a skill that both sides changed.

Front matter is merged field by field and the body line by line. The merged skill gets the
version after the greater of the two sides, so that it is newer than both.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import InvalidInput
from ..skills import document_parts, skill_defaults, skill_version
from ..skills import document_update as documents
from ..skills.document_parts import DocumentParts
from ..skills.frontmatter import parse_front_matter
from ..skills.skill_document import set_version
from ..skills.skill_version import is_countable
from . import frontmatter_merge, lines
from .lines import MergePiece


class SkillMerge(NamedTuple):
    """A merged skill in pieces, with the versions of ours, of theirs and of the merge.

    `is_yaml` says that YAML accepts the front matter of both sides, and so must that of the merge.
    """

    pieces: list[MergePiece]
    ours: str
    theirs: str
    version: str
    is_yaml: bool


def merge_skill(base: bytes | None, ours: bytes, theirs: bytes, slug: str) -> SkillMerge:
    """Merge a skill; `base` is None if both sides created it independently.

    Raises `InvalidInput` if a side cannot be read as a skill.
    """
    versions = (_read_version(ours), _read_version(theirs))
    version = skill_version.next_version(skill_version.greatest_version(list(versions)))
    a, b = (_split_at_version(side, version, slug) for side in (ours, theirs))
    old = _split_base(base, version, slug)
    pieces: list[MergePiece] = [
        [_merge_atom(old.bom, a.bom, b.bom) + _merge_atom(old.opening, a.opening, b.opening)],
        *frontmatter_merge.merge_front_matter(old.front_matter, a.front_matter, b.front_matter),
        [_merge_atom(old.closing, a.closing, b.closing)],
        *lines.merge_lines(
            lines.split_lines(old.body), lines.split_lines(a.body), lines.split_lines(b.body)
        ),
    ]
    is_yaml = _is_yaml(a) and _is_yaml(b)
    return SkillMerge(pieces, *versions, version, is_yaml)


def check_merged_skill(content: bytes, skill: SkillMerge) -> None:
    """Raise `InvalidInput` unless `content` is a readable skill that states the merged version."""
    document = document_parts.split_document(content)
    has_version = not is_countable(skill.version) or _stated_version(content) == skill.version
    if not has_version or (skill.is_yaml and not _is_yaml(document)):
        raise InvalidInput(
            "the front matter of the merged skill is not YAML, or lacks the version"
            f" {skill.version}",
            code="bad_frontmatter",
            hint="correct the lines between the two `---` and resolve it again",
        )


def _is_yaml(document: DocumentParts) -> bool:
    return document.is_closed and parse_front_matter(document.front_matter).problem is None


def _read_version(content: bytes) -> str:
    return _stated_version(content) or skill_version.FIRST_VERSION


def _stated_version(content: bytes) -> str | None:
    document = document_parts.split_document(content)
    if not document.opening:
        return None
    return skill_defaults.stated_version(parse_front_matter(document.front_matter))


def _split_at_version(content: bytes, version: str, slug: str) -> DocumentParts:
    """Split a side after setting the merged version in it, so that versions never conflict."""
    return document_parts.split_document(set_version(content, version, slug))


def _split_base(content: bytes | None, version: str, slug: str) -> DocumentParts:
    empty = DocumentParts(b"", b"", "", b"", b"")
    if content is None or documents.split_if_readable(content) is None:
        return empty
    try:
        return _split_at_version(content, version, slug)
    except InvalidInput:
        return empty


def _merge_atom(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Merge a part without lines: the byte order mark or a fence of the front matter."""
    if ours == base:
        return theirs
    return ours if theirs == base else max(ours, theirs)
