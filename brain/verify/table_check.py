"""Check the rows of the store that stand beside objects and blobs.

Signatures are read where they are judged, and refs where the walk begins.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..digest import DIGEST_SIZE
from ..errors import BrainError, printable_text
from ..repo.open.session import Session
from ..repo.read.merge_state_format import load_merge_state
from ..repo.read.pending_check import check_against_head
from ..results import Finding
from ..store.protocol import PendingWrite


def check_tables(session: Session) -> Iterator[Finding]:
    """Yield what is wrong with files to be written, redactions, dictionaries and the like."""
    for part in (
        _check_pending_writes,
        _check_redaction_rows,
        _check_waiting_merge,
        _check_stray_rows,
    ):
        try:
            yield from part(session)
        except BrainError as error:
            yield _error_finding(error.code, error.message)


def _check_pending_writes(session: Session) -> Iterator[Finding]:
    """A file that is still to be written is one of the head's, or one that it lacks."""
    head, rows, damaged = _read_consistently(session)
    for problem in damaged:
        yield _error_finding("corrupt_pending", problem)
    for path in check_against_head(session, rows, head).not_in_head:
        yield _error_finding(
            "foreign_pending", f"{printable_text(path)} is to be written, which the head lacks"
        )


def _read_consistently(session: Session) -> tuple[bytes, list[PendingWrite], list[str]]:
    """Return the head of the folder and the files to be written, with no writer in between."""
    while True:
        head = session.folder_head()
        rows, damaged = session.reader.inspect_pending_writes()
        if session.folder_head() == head:
            return head, rows, damaged


def _check_redaction_rows(session: Session) -> Iterator[Finding]:
    for blob, snapshot in session.reader.list_redaction_rows().items():
        if (len(blob), len(snapshot)) != (DIGEST_SIZE, DIGEST_SIZE):
            yield _error_finding(
                "corrupt_redaction", "the note of a redaction names no blob or snapshot"
            )


def _check_waiting_merge(session: Session) -> Iterator[Finding]:
    """A merge that waits is one that can be gone on with: all that it names is here."""
    waiting = load_merge_state(session)
    if waiting is not None:
        session.load_snapshot(waiting.theirs)
        chosen = [row.chosen for row in waiting.rows if row.chosen]
        for blob in sorted(session.reader.find_missing(chosen)):
            yield _error_finding("missing_object", f"a merge waits that names blob {blob.hex()}")


def _check_stray_rows(session: Session) -> Iterator[Finding]:
    for fault in session.reader.check_stray_rows():
        yield _error_finding("damaged_store", fault)


def _error_finding(code: str, message: str) -> Finding:
    return Finding(code, "error", "", "", message)
