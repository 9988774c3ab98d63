"""Check the rows of the store other than objects, blobs, refs and signatures."""

from __future__ import annotations

from collections.abc import Iterator

from ..digest import DIGEST_SIZE
from ..errors import BrainError, printable_text
from ..repo.log_entry import check_against_head, load_merge_state
from ..repo.session import Session
from ..results import Finding
from ..store import checks
from ..store.rows import PendingWrite
from .findings import error_finding, finding_from_error


def check_tables(session: Session) -> Iterator[Finding]:
    """Yield findings about pending writes, redactions, a waiting merge and stray rows."""
    for part in (
        _check_pending_writes,
        _check_redaction_rows,
        _check_waiting_merge,
        _check_stray_rows,
    ):
        try:
            yield from part(session)
        except BrainError as error:
            yield finding_from_error(error)


def _check_pending_writes(session: Session) -> Iterator[Finding]:
    head, rows, damaged = _read_consistently(session)
    for problem in damaged:
        yield error_finding("corrupt_pending", problem)
    for path in check_against_head(session, rows, head)[1]:
        yield error_finding(
            "foreign_pending", f"{printable_text(path)} is pending, but the head disagrees"
        )


def _read_consistently(session: Session) -> tuple[bytes, list[PendingWrite], list[str]]:
    while True:
        head = session.folder_head()
        rows, damaged = session.reader.inspect_pending_writes()
        if session.folder_head() == head:
            return head, rows, damaged


def _check_redaction_rows(session: Session) -> Iterator[Finding]:
    for blob, snapshot in session.reader.list_redaction_rows().items():
        if (len(blob), len(snapshot)) != (DIGEST_SIZE, DIGEST_SIZE):
            yield error_finding("corrupt_redaction", "a row of the redactions holds a malformed id")


def _check_waiting_merge(session: Session) -> Iterator[Finding]:
    waiting = load_merge_state(session)
    if waiting is not None:
        session.load_snapshot(waiting.theirs)
        chosen = [row.chosen for row in waiting.rows if row.chosen]
        for blob in sorted(session.reader.find_missing(chosen)):
            yield error_finding(
                "missing_object", f"the waiting merge names blob {blob.hex()}, which is missing"
            )


def _check_stray_rows(session: Session) -> Iterator[Finding]:
    for fault in checks.check_stray_rows(session.reader):
        yield error_finding("damaged_store", fault)
