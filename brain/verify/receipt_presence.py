"""Check that the receipts and the statements of binding that snapshots name are stored.

`receipt_verification` checks the claims of receipts, run by run. The content of a snapshot
does not depend on its receipt, so no finding here is an error. `decision_check` reads verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .. import limits
from ..digest import NO_DIGEST
from ..errors import BrainError, FormatError
from ..objects.operation import BINDING_KINDS
from ..objects.snapshot import Snapshot
from ..receipts import Receipt
from ..repo.session import Session
from ..results import Finding

LOOKUP_BATCH_RECEIPTS = 512
"""Receipts that are looked up in one batch."""
_RECEIPT_MARKER = b'"format":"brain v1 receipt"'


class ReceiptPresence:
    """Checks one snapshot after the other.

    With `add_receipt`, receipts are read; it is called with each and the snapshot that carries it.
    """

    def __init__(
        self, session: Session, add_receipt: Callable[[bytes, Receipt], None] | None = None
    ) -> None:
        self._session = session
        self._add_receipt = add_receipt
        self._pending: list[tuple[bytes, bytes, str]] = []

    def add_snapshot(self, snapshot_id: bytes, snapshot: Snapshot) -> list[Finding]:
        """Add the next snapshot; return findings when a batch is full."""
        if snapshot.receipt != NO_DIGEST:
            self._pending.append((snapshot_id, snapshot.receipt, "receipt"))
        if snapshot.operation[0] in BINDING_KINDS:
            self._pending.append((snapshot_id, snapshot.operation[-1], "document"))
        return self.flush() if len(self._pending) >= LOOKUP_BATCH_RECEIPTS else []

    def flush(self) -> list[Finding]:
        """Return the findings about the snapshots added since the last batch."""
        waiting, self._pending = self._pending, []
        return list(self._check_batch(waiting)) if waiting else []

    def _check_batch(self, waiting: list[tuple[bytes, bytes, str]]) -> Iterator[Finding]:
        reader = self._session.reader
        missing = reader.find_missing(blob for _, blob, _ in waiting)
        redacted = reader.find_redactions(list(missing))
        for snapshot_id, blob, label in waiting:
            if blob in redacted:
                message = f"{label} redacted by snapshot {redacted[blob].hex()[:12]}; its id stays"
                yield Finding("redacted", "note", snapshot_id.hex(), "", message)
            elif blob in missing:
                message = f"its {label} {blob.hex()} is missing"
                yield Finding(f"missing_{label}", "warning", snapshot_id.hex(), "", message)
            elif self._add_receipt is not None and label == "receipt":
                yield from self._check_receipt(snapshot_id, blob, self._add_receipt)

    def _check_receipt(
        self, snapshot_id: bytes, blob: bytes, add_receipt: Callable[[bytes, Receipt], None]
    ) -> Iterator[Finding]:
        from ..receipts import decode_receipt

        reader = self._session.reader
        try:
            if reader.blob_size(blob) > limits.MAX_RECEIPT_BYTES:
                yield Finding("foreign_receipt", "note", snapshot_id.hex(), "", _FOREIGN_MESSAGE)
                return
            data = reader.read_blob(blob)
        except BrainError:  # reported where every blob is read
            return
        try:
            add_receipt(snapshot_id, decode_receipt(data))
        except FormatError as error:
            if _RECEIPT_MARKER in data:
                message = f"its receipt is malformed: {error.message}"
                yield Finding("bad_receipt", "warning", snapshot_id.hex(), "", message)
            else:
                yield Finding("foreign_receipt", "note", snapshot_id.hex(), "", _FOREIGN_MESSAGE)


_FOREIGN_MESSAGE = "carries a record of another format than receipts have"
