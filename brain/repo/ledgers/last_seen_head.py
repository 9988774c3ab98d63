"""The last head seen in each ledger, kept in the store to detect rollbacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...chain.ledger_protocol import STATUS_ORDER, Commitment, Ledger, LedgerHead, PricedLedger
from ...encoding import pack, unpack
from ...errors import FormatError
from ...store.reader import StoreReader
from ..session import Session
from ..transaction import lock_for_writing, log_operation, store_transaction

LOG_IDENTITY_PREFIX = "tlog:"
"""The start of the identity of every log of a machine."""
LAST_SEEN_META_KEY = "ledgers"
"""The key of the store's metadata for the last commitment seen in each ledger."""


class LastSeenHead(NamedTuple):
    """The last commitment that was seen in a ledger."""

    identity: str
    seq: int
    snapshot: bytes


def read_last_seen_heads(reader: StoreReader) -> dict[str, LastSeenHead]:
    """Return the last commitment seen in each ledger, by its identity.

    Raises `FormatError` (`bad_note`) for a damaged record.
    """
    rows = read_note_rows(reader, LAST_SEEN_META_KEY, [str, int, bytes])
    return {row.identity: row for row in map(LastSeenHead._make, rows)}


def read_note_rows(reader: StoreReader, key: str, types: list[type]) -> list[list[Any]]:
    """Return the rows of a record about ledgers; each has values of these `types`.

    Raises `FormatError` (`bad_note`) for a damaged record.
    """
    data = reader.read_meta(key)
    if data is None:
        return []
    try:
        rows = [list(row) for row in unpack(data)]
        if any(list(map(type, row)) != types for row in rows):
            raise TypeError(rows)
    except (TypeError, ValueError) as error:
        raise FormatError(
            "the record of the last commitments is damaged",
            code="bad_note",
            hint="run `brain verify`, and restore the folder .brain from a copy",
        ) from error
    return rows


def record_last_seen_head(session: Session, commitment: Commitment) -> None:
    """Record a commitment as the last one seen, if the ledger holds it and it is the newest.

    On a chain, another commitment may replace one of the same `seq` until it is final.
    """
    newest = LastSeenHead(commitment.identity, commitment.seq, commitment.snapshot)
    if commitment.status not in STATUS_ORDER[1:] or not _is_newer(
        read_last_seen_heads(session.store), newest
    ):
        return
    with lock_for_writing(session), store_transaction(session) as tx:
        last_seen = read_last_seen_heads(tx)
        if not _is_newer(last_seen, newest):
            return  # another process was faster
        last_seen[commitment.identity] = newest
        tx.write_meta(
            LAST_SEEN_META_KEY, pack([tuple(row) for _, row in sorted(last_seen.items())])
        )
        description = f"commit {commitment.snapshot.hex()[:12]} to {commitment.ledger}"
        log_operation(session, tx, "commit", description, [])


def _is_newer(last_seen: Mapping[str, LastSeenHead], head: LastSeenHead) -> bool:
    last = last_seen.get(head.identity)
    return last is None or (last.seq <= head.seq and last != head)


def describe_rollback(ledger: Ledger, head: LedgerHead | None, last: LastSeenHead | None) -> str:
    """Describe how a ledger is behind the last commitment seen in it; "" if it is not.

    Always "" for a chain, which may take back a commitment that is not final: `final_head`
    compares what was.
    """
    seq = head.seq if head else 0
    if last is None or seq >= last.seq or isinstance(ledger, PricedLedger):
        return ""
    return f"{ledger.name} held commitment {last.seq} of this brain, and now ends at {seq}"


def describe_other_log(
    ledger: Ledger, head: LedgerHead | None, last_seen: Mapping[str, LastSeenHead]
) -> str:
    """Describe the log that had commitments of the brain, if `ledger` is one without any.

    A log that was deleted as a whole is created again under another identity. "" if the ledger
    has a commitment, is on a chain, or no other log had one.
    """
    identity = ledger.identity
    if head is not None or (identity and not identity.startswith(LOG_IDENTITY_PREFIX)):
        return ""
    logs = [seen for seen in last_seen.values() if seen.identity.startswith(LOG_IDENTITY_PREFIX)]
    if not logs or identity in last_seen:
        return ""
    last = max(logs, key=lambda seen: seen.seq)
    return (
        f"commitment {last.seq} of this brain is in the log {last.identity}, and {ledger.name} is"
        f" {'another log without any' if identity else 'gone'}"
    )
