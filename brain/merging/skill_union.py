"""Unites two skills: adds to one what only the other has, nothing twice.

Where both bodies come from one text they are merged by lines. Else the blocks of the
other's body that are not here already stand below, in a section of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..skills import frontmatter_fields
from ..skills.document_parts import DocumentParts
from ..skills.frontmatter import parse_front_matter
from ..skills.frontmatter_fields import FrontMatter
from . import diff3
from .diff3 import ConflictHunk, TextLines

_IDENTITY_FIELDS = frozenset(("name", "description", "version", "metadata"))
"""Fields that say which skill it is; those of the other one go."""
_HEADING_LINE = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*\Z")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(.*)")
_FENCE_LINE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_TEXT_LEVEL = 7
"""The level of text: below any heading."""
_SECTION_LEVEL = 2
"""Level of the heading over what was taken in."""

MarkdownBlock = list[str]
"""Lines without their ends that stand together: a paragraph, a list, a heading, fenced code."""


def unite_skills(
    ours: DocumentParts, theirs: DocumentParts, base: bytes | None, name: str
) -> DocumentParts:
    """Return `ours` with what only `theirs` has; `name` is that of the other skill.

    `base` is the body that both were once, None if that is not known.
    """
    if base is None:
        body = _append_new_blocks(ours.body, theirs.body, name)
    else:
        old, our_side, their_side = map(diff3.split_lines, (base, ours.body, theirs.body))
        body = diff3.join_settled(diff3.merge_lines(old, our_side, their_side), _keep_both_sides)
    return ours._replace(front_matter=_unite_front_matter(ours, theirs), body=body)


def _keep_both_sides(stretch: ConflictHunk) -> TextLines:
    known = set(stretch.ours)
    first = [*stretch.ours]
    if first and not first[-1].endswith(b"\n"):
        first[-1] += b"\n"
    return first + [line for line in stretch.theirs if line not in known]


def _unite_front_matter(ours: DocumentParts, theirs: DocumentParts) -> str:
    """Return our head with the fields it lacks, such as `allowed-tools`."""
    our_side, their_side = (
        parse_front_matter(part.front_matter)
        if part.front_matter
        else frontmatter_fields.EMPTY_FRONT_MATTER
        for part in (ours, theirs)
    )
    if our_side.is_flow or their_side.is_flow or not ours.opening:
        return ours.front_matter
    front_matter = ours.front_matter
    for key, text in _split_fields(their_side):
        if key not in our_side.fields and key not in _IDENTITY_FIELDS:
            front_matter += text.replace("\r\n", "\n").replace("\n", ours.newline)
    return front_matter


def _split_fields(front_matter: FrontMatter) -> Iterator[tuple[str, str]]:
    """Yield each field with its lines."""
    text = front_matter.text
    places = sorted(
        (frontmatter_fields.line_start_offset(text, f.key_start), key)
        for key, f in front_matter.fields.items()
    )
    for number, (place, key) in enumerate(places):
        stop = places[number + 1][0] if number + 1 < len(places) else len(text)
        yield key, text[place:stop]


def _append_new_blocks(ours: bytes, theirs: bytes, name: str) -> bytes:
    our_side, their_side = ours.decode(), theirs.decode()
    kept_blocks = _drop_empty_headings(list(_find_new_blocks(our_side, their_side)))
    if not kept_blocks:
        return ours
    newline = "\r\n" if "\r\n" in our_side else "\n"
    section = [[f"{'#' * _SECTION_LEVEL} From {name}"], *map(_demote_heading, kept_blocks)]
    parts = [our_side.rstrip(), *(newline.join(block) for block in section)]
    return ((newline * 2).join(part for part in parts if part) + newline).encode()


def _find_new_blocks(our_side: str, their_side: str) -> Iterator[MarkdownBlock]:
    """Yield the blocks of a text that another has not; of a list the items it has not."""
    known = {_normalize_block(block) for block in _split_blocks(our_side)}
    items = {_normalize_block([line]) for line in our_side.splitlines()}
    title = True
    for block in _split_blocks(their_side):
        heading = _HEADING_LINE.match(block[0])
        if title and heading and len(heading[1]) == 1:
            title = False  # of the whole text, which the new section has its own for
        elif heading:
            yield block
        elif all(map(_LIST_ITEM.match, block)):
            left = [line for line in block if _normalize_block([line]) not in items]
            if left:
                yield left
        elif _normalize_block(block) not in known:
            yield block


def _drop_empty_headings(blocks: list[MarkdownBlock]) -> list[MarkdownBlock]:
    """Leave out headings with nothing below them."""
    kept_blocks: list[MarkdownBlock] = []
    below = 0  # a heading of a lesser level than this has something below it
    for block in reversed(blocks):
        heading = _HEADING_LINE.match(block[0])
        if heading is None:
            below = _TEXT_LEVEL
        elif len(heading[1]) < below:
            below = len(heading[1])
        else:
            continue
        kept_blocks.append(block)
    return kept_blocks[::-1]


def _demote_heading(block: MarkdownBlock) -> MarkdownBlock:
    heading = _HEADING_LINE.match(block[0])
    if heading is None:
        return block
    return [f"{'#' * min(len(heading[1]) + 1, 6)} {heading[2]}"]


def _split_blocks(text: str) -> Iterator[MarkdownBlock]:
    """Yield the blocks of a Markdown text."""
    block: MarkdownBlock = []
    fence = ""
    for line in text.splitlines():
        if fence:
            block.append(line)
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        opening = _FENCE_LINE.match(line)
        if opening:
            fence = opening[1]
        heading = _HEADING_LINE.match(line)
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
    """Return a block without what makes no difference: the marks of items and spaces."""
    items = (found[1] if (found := _LIST_ITEM.match(line)) else line for line in block)
    return " ".join(" ".join(items).split()).casefold()
