"""Read the cached text of the index, the lines of all skills, and derive it from cards.

A header names the bundle that the text is of. `index_update` keeps it up to date:
an upsert that changes neither name nor description replaces the header, another one appends
the removed and added lines, and after many of these the text is written anew. For another
tree the lines are derived from the difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from ..errors import FormatError
from ..objects import bundle as bundles
from ..objects.bundle import EMPTY_BUNDLE, Bundle
from ..skills import index_lines, index_text
from ..skills.index_text import IndexPages
from .derived_db import CacheUnusable
from .session import Session

if TYPE_CHECKING:
    from .derive import SkillWithCard


_LINES_PER_BATCH = 4096
_FORMAT_VERSION = 2
"""Incremented when lines change their format; text of another format is rebuilt."""
_HEADER_STRUCT = Struct(">B32sIII")


class IndexCacheHeader(NamedTuple):
    """The bundle that the cached text is of, by its id, and the size of the text."""

    format_version: int
    bundle_id: bytes
    line_count: int
    page_count: int
    changed_lines: int

    def load_bundle(self, session: Session) -> Bundle:
        """Return the bundle. Raises `NotFound` if it was collected, or is of another copy."""
        if self.bundle_id == bundles.bundle_id(EMPTY_BUNDLE):
            return EMPTY_BUNDLE
        return session.load_bundle(self.bundle_id)

    def encode(self) -> bytes:
        """Return the encoded header."""
        return _HEADER_STRUCT.pack(*self)


class IndexLines(NamedTuple):
    """The text of an index, and its number of lines."""

    pages: IndexPages
    line_count: int

    @property
    def text(self) -> str:
        """The lines with no newline after the last."""
        return b"".join(self.pages).decode().rstrip("\n")

    @property
    def text_bytes(self) -> int:
        """Bytes of the text."""
        return max(sum(map(len, self.pages)) - 1, 0)


def read_cached_index(session: Session) -> tuple[IndexCacheHeader, IndexLines] | None:
    """Return the cached index, None if there is none or it is damaged."""
    try:
        data, rows = session.cache.read_index_text()
    except CacheUnusable:
        return None
    header = decode_index_header(data)
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
    """Return the header for the index of a bundle."""
    return IndexCacheHeader(_FORMAT_VERSION, bundles.bundle_id(bundle), lines, pages, changed)


def decode_index_header(data: bytes) -> IndexCacheHeader | None:
    """Decode a header; None if there is none or it is of another format."""
    if len(data) != _HEADER_STRUCT.size or data[0] != _FORMAT_VERSION:
        return None
    return IndexCacheHeader(*_HEADER_STRUCT.unpack(data))


def is_built_from(session: Session, lines: IndexLines, places: Iterable[SkillWithCard]) -> bool:
    """Tell whether these are the lines of skills, given with their cards."""
    expected = build_from_skills(session, places)
    return (lines.line_count, b"".join(lines.pages)) == (
        expected.line_count,
        b"".join(expected.pages),
    )


def build_from_skills(session: Session, places: Iterable[SkillWithCard]) -> IndexLines:
    """Return the lines of skills, given with their cards."""
    lines = _render_all_lines(session, places)
    return IndexLines(index_text.build_pages(lines), len(lines))


def _render_all_lines(session: Session, places: Iterable[SkillWithCard]) -> list[bytes]:
    """Return the lines of all skills, with their slugs until it is known which are shared."""
    from ..skills.skill_address import address_group
    from . import derive

    skills = iter(places)
    lines: list[bytes] = []
    skill_paths: list[str] = []
    numbers_by_slug: dict[str, list[int]] = {}
    while some := list(islice(skills, _LINES_PER_BATCH)):
        cards = []
        for path, _, _, card in some:
            slug = derive.slug_from_full_path(path)
            numbers_by_slug.setdefault(slug, []).append(len(skill_paths))
            skill_paths.append(path)
            cards.append((slug, index_lines.differing_name(slug, card.name), card.description))
        session.report_progress("index", len(skill_paths), 0)
        lines += [line.encode() for line in index_lines.format_lines(cards)]
    for slug, numbers in numbers_by_slug.items():
        if len(numbers) > 1:
            addresses = address_group(slug, [skill_paths[number] for number in numbers])
            for number in numbers:
                address = addresses[skill_paths[number]]
                lines[number] = index_lines.readdress_line(lines[number], slug, address)
    return lines
