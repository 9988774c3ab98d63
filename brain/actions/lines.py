"""The sheet of the index: the lines of all skills, kept ready as one text in the user's cache.

A note says of which tree of skills the sheet is. Who writes, and who reads at the head,
brings it along (`lining`): an upsert that leaves name and description alone moves the
note, one that does not adds the lines that came and went, and when these are many the text
is written anew. A reader whose tree is another one goes by what differs between the two.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from ..cache.cache import Unusable
from ..errors import FormatError
from ..objects.bundle import EMPTY, Bundle
from ..objects.tree import Root
from ..session import Session
from ..skills import sheet
from ..skills.sheet import Sheet

SECTION = "skills"
_FORMAT = 1
"""Raised when lines are made otherwise; a sheet of another format is made anew."""
_NOTE = Struct(">B32sIII")
_NOTHING = bytes(32)


class Note(NamedTuple):
    """What the sheet is of: a tree, zeros for none; `pages` of text, then `changed` lines."""

    format: int
    node: bytes
    lines: int
    pages: int
    changed: int

    @property
    def bundle(self) -> Bundle:
        """As much of the bundle of the sheet as the index depends on."""
        return {SECTION: Root(self.node, 0, 0)} if self.node != _NOTHING else EMPTY

    def encode(self) -> bytes:
        """Return the bytes of the note."""
        return _NOTE.pack(*self)


class Lines(NamedTuple):
    """A sheet and the number of its lines."""

    sheet: Sheet
    total: int

    @property
    def text(self) -> str:
        """The lines with no newline after the last."""
        return b"".join(self.sheet).decode().rstrip("\n")

    @property
    def size(self) -> int:
        """Bytes of that."""
        return max(sum(map(len, self.sheet)) - 1, 0)


def of(session: Session, bundle: Bundle) -> Lines:
    """Return the lines of all skills of a bundle."""
    found = kept(session)
    if found is not None and found[0].node == node_of(bundle):
        return found[1]
    from . import lining

    return lining.made(session, bundle, found)


def kept(session: Session) -> tuple[Note, Lines] | None:
    """Return the sheet that is kept, None if there is none or it is damaged."""
    try:
        said, rows = session.cache.sheet()
    except Unusable:
        return None
    note = decode(said)
    if note is None:
        return None
    pages = rows[: note.pages]
    if note.changed:
        try:
            pages = sheet.change(pages, *sheet.decode_changes(rows[note.pages :]))
        except FormatError:
            return None
    return note, Lines(pages, note.lines)


def new_note(bundle: Bundle, lines: int, pages: int, changed: int) -> Note:
    """Return the note on the sheet of a bundle."""
    return Note(_FORMAT, node_of(bundle), lines, pages, changed)


def decode(said: bytes) -> Note | None:
    """Undo `Note.encode`; None for no note, or one that is not of this program's making."""
    if len(said) != _NOTE.size or said[0] != _FORMAT:
        return None
    return Note(*_NOTE.unpack(said))


def node_of(bundle: Bundle) -> bytes:
    """Return the id of the tree of skills, zeros where there is none."""
    root = bundle.get(SECTION)
    return root.node if root else _NOTHING
