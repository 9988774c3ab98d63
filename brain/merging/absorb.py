"""One skill takes in another: what the other knows and it does not, nothing twice.

Where both bodies come from one text they are merged by lines. Else the blocks of the
other's body that are not here already stand below, in a section of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..skills import edit
from ..skills.fields import Head
from ..skills.frontmatter import scan
from ..skills.parts import Parts
from . import lines
from .lines import Lines, Stretch

_OWN = frozenset(("name", "description", "version", "metadata"))
"""Fields that say which skill it is; those of the other one go."""
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*\Z")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(.*)")
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_TEXT = 7
"""The level of text: below any heading."""
_SECTION = 2
"""Level of the heading over what was taken in."""

Block = list[str]
"""Lines without their ends that stand together: a paragraph, a list, a heading, fenced code."""


def absorb(ours: Parts, theirs: Parts, base: bytes | None, name: str) -> Parts:
    """Return `ours` with what only `theirs` has; `name` is that of the other skill.

    `base` is the body that both were once, None if that is not known.
    """
    if base is None:
        body = _appended(ours.body, theirs.body, name)
    else:
        old, mine, other = map(lines.split, (base, ours.body, theirs.body))
        body = lines.settled(lines.merge(old, mine, other), _both)
    return ours._replace(head=_head(ours, theirs), body=body)


def _both(stretch: Stretch) -> Lines:
    known = set(stretch.ours)
    first = [*stretch.ours]
    if first and not first[-1].endswith(b"\n"):
        first[-1] += b"\n"
    return first + [line for line in stretch.theirs if line not in known]


def _head(ours: Parts, theirs: Parts) -> str:
    """Return our head with the fields it lacks, such as `allowed-tools`."""
    mine, other = (scan(part.head) if part.head else edit.EMPTY for part in (ours, theirs))
    if mine.flow or other.flow or not ours.opening:
        return ours.head
    head = ours.head
    for key, text in _fields(other):
        if key not in mine.fields and key not in _OWN:
            head += text.replace("\r\n", "\n").replace("\n", ours.newline)
    return head


def _fields(head: Head) -> Iterator[tuple[str, str]]:
    """Yield each field with its lines."""
    text = head.text
    places = sorted((edit.line_start(text, f.key_start), key) for key, f in head.fields.items())
    for number, (place, key) in enumerate(places):
        stop = places[number + 1][0] if number + 1 < len(places) else len(text)
        yield key, text[place:stop]


def _appended(ours: bytes, theirs: bytes, name: str) -> bytes:
    mine, other = ours.decode(), theirs.decode()
    kept = _under_headings(list(_new(mine, other)))
    if not kept:
        return ours
    newline = "\r\n" if "\r\n" in mine else "\n"
    section = [[f"{'#' * _SECTION} From {name}"], *map(_demoted, kept)]
    parts = [mine.rstrip(), *(newline.join(block) for block in section)]
    return ((newline * 2).join(part for part in parts if part) + newline).encode()


def _new(mine: str, other: str) -> Iterator[Block]:
    """Yield the blocks of a text that another has not; of a list the items it has not."""
    known = {_bare(block) for block in _blocks(mine)}
    items = {_bare([line]) for line in mine.splitlines()}
    title = True
    for block in _blocks(other):
        heading = _HEADING.match(block[0])
        if title and heading and len(heading[1]) == 1:
            title = False  # of the whole text, which the new section has its own for
        elif heading:
            yield block
        elif all(map(_ITEM.match, block)):
            left = [line for line in block if _bare([line]) not in items]
            if left:
                yield left
        elif _bare(block) not in known:
            yield block


def _under_headings(blocks: list[Block]) -> list[Block]:
    """Leave out headings with nothing below them."""
    kept: list[Block] = []
    below = 0  # a heading of a lesser level than this has something below it
    for block in reversed(blocks):
        heading = _HEADING.match(block[0])
        if heading is None:
            below = _TEXT
        elif len(heading[1]) < below:
            below = len(heading[1])
        else:
            continue
        kept.append(block)
    return kept[::-1]


def _demoted(block: Block) -> Block:
    heading = _HEADING.match(block[0])
    if heading is None:
        return block
    return [f"{'#' * min(len(heading[1]) + 1, 6)} {heading[2]}"]


def _blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a Markdown text."""
    block: Block = []
    fence = ""
    for line in text.splitlines():
        if fence:
            block.append(line)
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        opening = _FENCE.match(line)
        if opening:
            fence = opening[1]
        heading = _HEADING.match(line)
        if block and (heading or not line.strip()):
            yield block
            block = []
        if heading:
            yield [line]
        elif line.strip():
            block.append(line)
    if block:
        yield block


def _bare(block: Block) -> str:
    """Return a block without what makes no difference: the marks of items and spaces."""
    items = (found[1] if (found := _ITEM.match(line)) else line for line in block)
    return " ".join(" ".join(items).split()).casefold()
