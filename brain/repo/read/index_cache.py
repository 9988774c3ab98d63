"""Read the cached text of the index: the lines of all skills.

A note says of which tree of skills the sheet is. Who writes, and who reads at the head,
brings it along (`lining`): an upsert that leaves name and description alone moves the
note, one that does not adds the lines that came and went, and when these are many the text
is written anew. A reader whose tree is another one goes by what differs between the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from struct import Struct
from typing import NamedTuple

from ...cache.derived_cache import CacheUnusable
from ...errors import FormatError
from ...objects.bundle import EMPTY_BUNDLE, Bundle
from ...objects.tree import TreeRoot
from ...skills import index_lines, index_text
from ...skills.index_text import IndexPages
from ..open.session import Session
from .skill_rows import SKILLS_SECTION, SkillWithCard

_LINES_PER_BATCH = 4096
"""Lines that are formatted together."""
_FORMAT_VERSION = 1
"""Raised when lines are made otherwise; a sheet of another format is made anew."""
_HEADER_STRUCT = Struct(">B32sIII")
_NO_TREE = bytes(32)


class IndexCacheHeader(NamedTuple):
    """What the sheet is of: a tree, zeros for none; `pages` of text, then `changed` lines."""

    format_version: int
    root_node: bytes
    line_count: int
    page_count: int
    changed_lines: int

    @property
    def bundle(self) -> Bundle:
        """As much of the bundle of the sheet as the index depends on."""
        return (
            {SKILLS_SECTION: TreeRoot(self.root_node, 0, 0)}
            if self.root_node != _NO_TREE
            else EMPTY_BUNDLE
        )

    def encode(self) -> bytes:
        """Return the bytes of the note."""
        return _HEADER_STRUCT.pack(*self)


class IndexLines(NamedTuple):
    """A sheet and the number of its lines."""

    pages: IndexPages
    line_count: int

    @property
    def text(self) -> str:
        """The lines with no newline after the last."""
        return b"".join(self.pages).decode().rstrip("\n")

    @property
    def text_bytes(self) -> int:
        """Bytes of that."""
        return max(sum(map(len, self.pages)) - 1, 0)


def read_cached_index(session: Session) -> tuple[IndexCacheHeader, IndexLines] | None:
    """Return the sheet that is kept, None if there is none or it is damaged."""
    try:
        data, rows = session.cache.read_index_text()
    except CacheUnusable:
        return None
    header = decode_header(data)
    if header is None:
        return None
    pages = rows[: header.page_count]
    if header.changed_lines:
        try:
            pages = index_text.change_pages(
                pages, *index_text.decode_line_changes(rows[header.page_count :])
            )
        except FormatError:
            return None
    return header, IndexLines(pages, header.line_count)


def build_header(bundle: Bundle, lines: int, pages: int, changed: int) -> IndexCacheHeader:
    """Return the note on the sheet of a bundle."""
    return IndexCacheHeader(_FORMAT_VERSION, skills_root_node(bundle), lines, pages, changed)


def decode_header(data: bytes) -> IndexCacheHeader | None:
    """Undo `Note.encode`; None for no note, or one that is not of this program's making."""
    if len(data) != _HEADER_STRUCT.size or data[0] != _FORMAT_VERSION:
        return None
    return IndexCacheHeader(*_HEADER_STRUCT.unpack(data))


def skills_root_node(bundle: Bundle) -> bytes:
    """Return the id of the tree of skills, zeros where there is none."""
    root = bundle.get(SKILLS_SECTION)
    return root.node if root else _NO_TREE


def is_built_from(session: Session, lines: IndexLines, places: Iterable[SkillWithCard]) -> bool:
    """Tell whether these are the lines of skills, given as `find.places` yields them."""
    right = build_from_skills(session, places)
    return (lines.line_count, b"".join(lines.pages)) == (right.line_count, b"".join(right.pages))


def build_from_skills(session: Session, places: Iterable[SkillWithCard]) -> IndexLines:
    """Return the lines of skills, given with their cards."""
    pages = index_text.build_pages(_render_all_lines(session, places))
    return IndexLines(pages, sum(page.count(b"\n") for page in pages))


def _render_all_lines(session: Session, places: Iterable[SkillWithCard]) -> Iterator[bytes]:
    """Yield the lines of skills, made many at a time, which is faster, and not all."""
    skills = ((card.name or name, card.description) for _, name, _, card in places)
    done = 0
    while some := list(islice(skills, _LINES_PER_BATCH)):
        done += len(some)
        session.report_progress("index", done, 0)
        yield from (line.encode() for line in index_lines.format_lines(some))
