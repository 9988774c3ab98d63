"""Checks that the receipts which snapshots carry are there, and deeply that they are receipts.

Also that the document is there by which a snapshot says that something was decided.

What a receipt says is checked by `actions.receipt_checks`, run by run. A snapshot stays
what it is without its receipt, so nothing here is an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import limits
from ..digest import EMPTY
from ..errors import BrainError, FormatError
from ..objects import operation
from ..objects.snapshot import Snapshot
from ..results import Finding
from ..session import Session

TOGETHER = 512
"""Receipts that are looked up together."""
_MARK = b'"format":"brain v1 receipt"'


class Receipts:
    """Checks one snapshot after the other. With `deeply` each receipt is read."""

    def __init__(self, session: Session, deeply: bool) -> None:
        self._session = session
        self._deeply = deeply
        self._waiting: list[tuple[bytes, bytes, str]] = []

    def take(self, here: bytes, snapshot: Snapshot) -> list[Finding]:
        """Note the receipt of a snapshot; return what is wrong with those noted, now and then."""
        if snapshot.receipt != EMPTY:
            self._waiting.append((here, snapshot.receipt, "receipt"))
        if (document := operation.evidence(snapshot.operation)) != EMPTY:
            self._waiting.append((here, document, "document"))
        return self.settle() if len(self._waiting) >= TOGETHER else []

    def settle(self) -> list[Finding]:
        """Return what is wrong with the receipts noted since."""
        waiting, self._waiting = self._waiting, []
        return list(self._checked(waiting)) if waiting else []

    def _checked(self, waiting: list[tuple[bytes, bytes, str]]) -> Iterator[Finding]:
        reader = self._session.reader
        lost = reader.missing(blob for _, blob, _ in waiting)
        redacted = reader.redacted(list(lost))
        for here, blob, what in waiting:
            if blob in redacted:
                message = f"{what} redacted by snapshot {redacted[blob].hex()[:12]}; its id stays"
                yield Finding("redacted", "note", here.hex(), "", message)
            elif blob in lost:
                message = f"its {what} {blob.hex()} is missing"
                yield Finding(f"missing_{what}", "warning", here.hex(), "", message)
            elif self._deeply and what == "receipt":
                yield from self._read(here, blob)

    def _read(self, here: bytes, blob: bytes) -> Iterator[Finding]:
        from ..receipts import decode

        reader = self._session.reader
        try:
            if reader.blob_size(blob) > limits.MAX_RECEIPT_BYTES:
                yield Finding("foreign_receipt", "note", here.hex(), "", _FOREIGN)
                return
            data = reader.read_blob(blob)
        except BrainError:  # told where every blob is read
            return
        try:
            decode(data)
        except FormatError as error:
            if _MARK in data:
                message = f"its receipt is none: {error.message}"
                yield Finding("bad_receipt", "warning", here.hex(), "", message)
            else:
                yield Finding("foreign_receipt", "note", here.hex(), "", _FOREIGN)


_FOREIGN = "carries a record of another format than receipts have"
