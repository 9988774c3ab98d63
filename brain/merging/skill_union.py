"""Union of two skills: add to one skill what only the other has.

If both bodies derive from one known text, they are merged by lines. Otherwise the new blocks
of the other body are appended in a section of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..skills.document_parts import DocumentParts
from ..skills.frontmatter import parse_if_any
from . import lines
from .frontmatter_merge import split_by_key
from .lines import FENCE, HEADING, LIST_ITEM, ConflictHunk, TextLines

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
    new_blocks = _drop_empty_headings(list(_find_new_blocks(our_side, their_side)))
    if not new_blocks:
        return ours
    newline = "\r\n" if "\r\n" in our_side else "\n"
    section = [[f"{'#' * _SECTION_LEVEL} From {name}"], *map(_demote_heading, new_blocks)]
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


def _drop_empty_headings(blocks: list[MarkdownBlock]) -> list[MarkdownBlock]:
    reversed_blocks: list[MarkdownBlock] = []
    level_below = 0
    for block in reversed(blocks):
        heading = HEADING.match(block[0])
        level = len(heading[1]) if heading else _TEXT_LEVEL
        if heading and level >= level_below:
            continue
        level_below = level
        reversed_blocks.append(block)
    return reversed_blocks[::-1]


def _demote_heading(block: MarkdownBlock) -> MarkdownBlock:
    heading = HEADING.match(block[0])
    if heading is None:
        return block
    return [f"{'#' * min(len(heading[1]) + 1, 6)} {heading[2]}"]


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
