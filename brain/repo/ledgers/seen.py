"""What was seen in each ledger, kept in the store to detect rollbacks.

That is the last head and, on a chain, the last commitment that was final.

A commitment that is final must stay. The notes are part of the store, so every copy of the brain's
folder has them, and a machine that never read the chain notices a rollback too;
`chain/evm/rollback_guard` remembers more, but only on this machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ...chain.ledger_protocol import (
    FINALIZED,
    NO_PARENT,
    STATUS_ORDER,
    ChainLedger,
    Commitment,
    Ledger,
    LedgerHead,
    PricedLedger,
)
from ...encoding import pack, unpack
from ...errors import BrainError, FormatError, Locked, StoreError
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
        f" {'another log without any' if identity else 'not here: deleted, or on another machine'}"
    )


FINAL_META_KEY = "final"
"""The key of the store's metadata for the last final commitment on each chain."""


class FinalHead(NamedTuple):
    """The last commitment that was seen as final.

    `entry` is the name of the brain in the ledger (`ChainLedger.entry_name`), `block_hash` is
    0x… text. Always built by keyword; a tuple because it is stored as one.
    """

    entry: str
    seq: int
    snapshot: bytes
    block: int
    block_hash: str


def read_final_heads(reader: StoreReader) -> dict[str, FinalHead]:
    """Return the last final commitment of each entry. Raises `FormatError` (`bad_note`)."""
    rows = read_note_rows(reader, FINAL_META_KEY, [str, int, bytes, int, str])
    return {row.entry: row for row in map(FinalHead._make, rows)}


def note_final_head(session: Session, ledger: Ledger, commitments: Iterable[Commitment]) -> None:
    """Note the last of `commitments` that is final, unless a later one is noted.

    A user who may not write to the brain can still read the ledger: then nothing is noted.
    """
    final = [each for each in commitments if each.status == FINALIZED]
    if not final or not isinstance(ledger, ChainLedger):
        return
    last = final[-1]
    head = FinalHead(
        entry=ledger.entry_name(last.brain),
        seq=last.seq,
        snapshot=last.snapshot,
        block=last.block or 0,
        block_hash=last.block_hash,
    )
    with suppress(Locked, StoreError):
        if _is_later(session.store, head):
            _write_final_head(session, ledger, head)


def note_final_parent(session: Session, ledger: Ledger, commitment: Commitment) -> None:
    """Note a new commitment, or the one before it, if it is final.

    A new commitment is rarely final; the one before often is. If the ledger fails to show it, a
    later read notes it.
    """
    candidates = [commitment]
    if isinstance(ledger, ChainLedger) and commitment.parent != NO_PARENT:
        last_final = read_final_heads(session.store).get(ledger.entry_name(commitment.brain))
        if last_final is None or last_final.seq < commitment.seq - 1:
            with suppress(BrainError):
                candidates.insert(0, ledger.status(commitment.brain, commitment.parent))
    note_final_head(session, ledger, candidates)


def read_final_head(reader: StoreReader, ledger: Ledger, brain: bytes) -> FinalHead | None:
    """Return what was noted of a brain in a ledger; None for a ledger that is not a chain."""
    heads = read_final_heads(reader)
    return (
        heads.get(ledger.entry_name(brain)) if heads and isinstance(ledger, ChainLedger) else None
    )


def describe_final_rollback(
    ledger: Ledger, last_final: FinalHead | None, found: Sequence[Commitment | LedgerHead]
) -> str:
    """Describe how a chain contradicts the commitment noted as final; "" if it does not.

    `found` is what the chain has, oldest first: its head, or the whole history, in which a
    commitment below the head is compared too.
    """
    if last_final is None:
        return ""
    last = found[-1].seq if found else 0
    snapshots = {each.seq: each.snapshot for each in found}
    if (
        last >= last_final.seq
        and snapshots.get(last_final.seq, last_final.snapshot) == last_final.snapshot
    ):
        return ""
    change = (
        f"ends at {last}" if last < last_final.seq else f"has another commitment {last_final.seq}"
    )
    return (
        f"commitment {last_final.seq} of this brain was final in {ledger.name}, in block"
        f" {last_final.block} ({last_final.block_hash[:12]}), and now {ledger.name} {change}"
    )


def _write_final_head(session: Session, ledger: Ledger, head: FinalHead) -> None:
    with lock_for_writing(session), store_transaction(session) as tx:
        if not _is_later(tx, head):
            return  # another process was faster
        heads = {**read_final_heads(tx), head.entry: head}
        tx.write_meta(FINAL_META_KEY, pack([tuple(row) for _, row in sorted(heads.items())]))
        description = f"note that {head.snapshot.hex()[:12]} is final in {ledger.name}"
        log_operation(session, tx, "commit", description, [])


def _is_later(reader: StoreReader, head: FinalHead) -> bool:
    last_final = read_final_heads(reader).get(head.entry)
    return last_final is None or last_final.seq < head.seq
