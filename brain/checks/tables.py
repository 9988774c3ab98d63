"""Checks of the rows that stand beside objects and blobs: each table has them read once.

Signatures are read where they are judged, and refs where the walk begins.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..actions import midst
from ..actions.announced import of_head
from ..digest import SIZE
from ..errors import BrainError, printable
from ..results import Finding
from ..session import Session
from ..store.protocol import Pending


def check(session: Session) -> Iterator[Finding]:
    """Yield what is wrong with files to be written, redactions, dictionaries and the like."""
    for part in (_pending, _redactions, _midst, _rest):
        try:
            yield from part(session)
        except BrainError as error:
            yield _error(error.code, error.message)


def _pending(session: Session) -> Iterator[Finding]:
    """A file that is still to be written is one of the head's, or one that it lacks."""
    head, rows, damaged = _of_one_moment(session)
    for problem in damaged:
        yield _error("corrupt_pending", problem)
    for path in of_head(session, rows, head).foreign:
        yield _error("foreign_pending", f"{printable(path)} is to be written, which the head lacks")


def _of_one_moment(session: Session) -> tuple[bytes, list[Pending], list[str]]:
    """Return the head of the folder and the files to be written, with no writer in between."""
    while True:
        head = session.folder_head()
        rows, damaged = session.reader.pending_notes()
        if session.folder_head() == head:
            return head, rows, damaged


def _redactions(session: Session) -> Iterator[Finding]:
    for blob, snapshot in session.reader.all_redacted().items():
        if (len(blob), len(snapshot)) != (SIZE, SIZE):
            yield _error("corrupt_redaction", "the note of a redaction names no blob or snapshot")


def _midst(session: Session) -> Iterator[Finding]:
    """A merge that waits is one that can be gone on with: all that it names is here."""
    waiting = midst.load(session)
    if waiting is not None:
        session.load(waiting.theirs)
        chosen = [row.chosen for row in waiting.rows if row.chosen]
        for blob in sorted(session.reader.missing(chosen)):
            yield _error("missing_object", f"a merge waits that names blob {blob.hex()}")


def _rest(session: Session) -> Iterator[Finding]:
    for fault in session.reader.strays():
        yield _error("damaged_store", fault)


def _error(code: str, message: str) -> Finding:
    return Finding(code, "error", "", "", message)
