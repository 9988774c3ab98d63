"""Three-way merge of skills, and the union of two.

Front matter is merged field by field and the body line by line. The merged skill gets the
version after the greater of the two sides, so that it is newer than both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from ..errors import InvalidInput
from ..skills import document_parts, skill_document, skill_version
from ..skills import skill_document as documents
from ..skills.document_parts import DocumentParts
from ..skills.frontmatter import (
    BLOCK_MAP_KIND,
    FrontMatter,
    FrontMatterField,
    parse_front_matter,
    parse_if_any,
)
from ..skills.skill_document import set_version
from ..skills.skill_version import is_countable
from . import lines
from .lines import FENCE, HEADING, LIST_ITEM, ConflictHunk, MergePiece, TextLines, split_lines


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
    # The version is set in all of them first, so that versions never conflict.
    a, b = (
        document_parts.split_document(set_version(side, version, slug)) for side in (ours, theirs)
    )
    old = DocumentParts(b"", b"", "", b"", b"")
    if base is not None and documents.split_if_readable(base) is not None:
        with suppress(InvalidInput):
            old = document_parts.split_document(set_version(base, version, slug))
    pieces: list[MergePiece] = [
        [_merge_atom(old.bom, a.bom, b.bom) + _merge_atom(old.opening, a.opening, b.opening)],
        *merge_front_matter(old.front_matter, a.front_matter, b.front_matter),
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
    return skill_document.stated_version(parse_front_matter(document.front_matter))


def _merge_atom(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Merge a part without lines: the byte order mark or a fence of the front matter."""
    if ours == base:
        return theirs
    return ours if theirs == base else max(ours, theirs)


LinesByKey = dict[str, str]
"""The lines of each key; under "", the lines before the first key."""


def merge_front_matter(base: str, ours: str, theirs: str) -> list[MergePiece]:
    """Return the merged front matter in pieces; a field may be a conflict.

    The three texts are front matter that `parse_front_matter` reads, or empty. Front
    matter in flow style (`{…}`) counts as one field.
    """
    sides = list(map(parse_if_any, (base, ours, theirs)))
    if any(side.is_flow for side in sides):
        return [_merge_field(base, ours, theirs)]
    by_side = [split_by_key(side.text, side.fields) for side in sides]
    pieces: list[MergePiece] = []
    for key in _merge_key_order(*by_side[1:]):
        texts = [chunks.get(key, "") for chunks in by_side]
        if key == "metadata" and _has_block_maps(sides, texts):
            inner = [_split_metadata(*pair) for pair in zip(sides, texts, strict=True)]
            for name in _merge_key_order(*inner[1:]):
                pieces.append(_merge_field(*(chunks.get(name, "") for chunks in inner)))
        else:
            pieces.append(_merge_field(*texts))
    return pieces


def _split_metadata(side: FrontMatter, text: str) -> LinesByKey:
    if not text:
        return {}
    start = documents.line_start_offset(side.text, side.fields["metadata"].key_start)
    return split_by_key(side.text[: start + len(text)], side.metadata, start)


def split_by_key(text: str, fields: Mapping[str, FrontMatterField], start: int = 0) -> LinesByKey:
    """Return the lines of each of the `fields` of a text, from the offset `start` on."""
    starts = sorted(
        (documents.line_start_offset(text, f.key_start), key) for key, f in fields.items()
    )
    ends = [*(offset for offset, _ in starts), len(text)]
    lines = {"": text[start : ends[0]]}
    for (offset, key), end in zip(starts, ends[1:], strict=True):
        lines[key] = text[offset:end]
    return lines


def _has_block_maps(sides: list[FrontMatter], texts: list[str]) -> bool:
    """Tell whether `metadata` is a block map wherever it is; only the base may lack it."""
    return all(
        side.fields["metadata"].kind == BLOCK_MAP_KIND if text else side is sides[0]
        for side, text in zip(sides, texts, strict=True)
    )


def _merge_key_order(ours: LinesByKey, theirs: LinesByKey) -> list[str]:
    """Return all keys: the longer side's in its order, each other key after its predecessor."""
    first, second = sorted((list(ours), list(theirs)), key=lambda keys: (-len(keys), keys))
    order = list(first)
    previous = ""
    for key in second:
        if key not in order:
            order.insert(order.index(previous) + 1 if previous in order else len(order), key)
        previous = key
    return order


def _merge_field(base: str, ours: str, theirs: str) -> MergePiece:
    sides = (split_lines(text.encode()) for text in (base, ours, theirs))
    return lines.merge_unambiguous(ConflictHunk(*sides))


_IDENTITY_FIELDS = frozenset(("name", "description", "version", "metadata"))
"""Fields that identify a skill; those of the other skill are dropped."""
_TEXT_LEVEL = 7
"""The level of text: below any heading."""
_SECTION_LEVEL = 2
"""The level of the heading over the appended blocks."""

MarkdownBlock = list[str]
"""The lines, without line ends, of a paragraph, a list, a heading or fenced code."""


def unite_skills(
    ours: DocumentParts, theirs: DocumentParts, base: bytes | None, name: str
) -> DocumentParts:
    """Return `ours` with what only `theirs` has; `name` is the name of the other skill.

    `base` is the body that both derive from, None if it is unknown.
    """
    if base is None:
        body = _append_new_blocks(ours.body, theirs.body, name)
    else:
        old, our_side, their_side = map(lines.split_lines, (base, ours.body, theirs.body))
        body = lines.join_settled(lines.merge_lines(old, our_side, their_side), _keep_both_sides)
    return ours._replace(front_matter=_unite_front_matter(ours, theirs), body=body)


def _keep_both_sides(hunk: ConflictHunk) -> TextLines:
    known = set(hunk.ours)
    return [
        *lines.end_with_newline(hunk.ours),
        *(line for line in hunk.theirs if line not in known),
    ]


def _unite_front_matter(ours: DocumentParts, theirs: DocumentParts) -> str:
    """Return our front matter with the fields it lacks, such as `allowed-tools`."""
    our_side, their_side = parse_if_any(ours.front_matter), parse_if_any(theirs.front_matter)
    if our_side.is_flow or their_side.is_flow or not ours.opening:
        return ours.front_matter
    front_matter = ours.front_matter
    for key, text in split_by_key(their_side.text, their_side.fields).items():
        if key and key not in our_side.fields and key not in _IDENTITY_FIELDS:
            front_matter += text.replace("\r\n", "\n").replace("\n", ours.newline)
    return front_matter


def _append_new_blocks(ours: bytes, theirs: bytes, name: str) -> bytes:
    our_side, their_side = ours.decode(), theirs.decode()
    new_blocks: list[MarkdownBlock] = []
    level_below = 0
    for block in reversed([*_find_new_blocks(our_side, their_side)]):
        heading = HEADING.match(block[0])
        level = len(heading[1]) if heading else _TEXT_LEVEL
        if heading is None:
            new_blocks.append(block)
        elif level < level_below:  # it has text or a deeper heading below it
            new_blocks.append([f"{'#' * min(level + 1, 6)} {heading[2]}"])
        else:
            continue
        level_below = level
    if not new_blocks:
        return ours
    newline = "\r\n" if "\r\n" in our_side else "\n"
    section = [[f"{'#' * _SECTION_LEVEL} From {name}"], *reversed(new_blocks)]
    parts = [our_side.rstrip(), *(newline.join(block) for block in section)]
    return ((newline * 2).join(part for part in parts if part) + newline).encode()


def _find_new_blocks(our_side: str, their_side: str) -> Iterator[MarkdownBlock]:
    """Yield the blocks, and of lists the items, of `their_side` that `our_side` lacks."""
    known = {_normalize_block(block) for block in _split_blocks(our_side)}
    items = {_normalize_block([line]) for line in our_side.splitlines()}
    skipped_title = False
    for block in _split_blocks(their_side):
        heading = HEADING.match(block[0])
        if not skipped_title and heading and len(heading[1]) == 1:
            skipped_title = True  # the section has a heading of its own
        elif heading:
            yield block
        elif all(map(LIST_ITEM.match, block)):
            new_items = [line for line in block if _normalize_block([line]) not in items]
            if new_items:
                yield new_items
        elif _normalize_block(block) not in known:
            yield block


def _split_blocks(text: str) -> Iterator[MarkdownBlock]:
    """Yield the blocks of a Markdown text; fenced code is one block."""
    block: MarkdownBlock = []
    fence = ""
    for line in text.splitlines():
        if fence:
            block.append(line)
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        opening = FENCE.match(line)
        if opening:
            fence = opening[1]
        heading = HEADING.match(line)
        if block and (heading or not line.strip()):
            yield block
            block = []
        if heading:
            yield [line]
        elif line.strip():
            block.append(line)
    if block:
        yield block


def _normalize_block(block: MarkdownBlock) -> str:
    """Return the text of a block without item marks, letter case and runs of white space."""
    items = (match[2] if (match := LIST_ITEM.match(line)) else line for line in block)
    return " ".join(" ".join(items).split()).casefold()
