"""The last final commitment seen on each chain, kept in the store to detect rollbacks.

A commitment that is final must stay. The note is part of the store, so every copy of the
brain's folder has it, and a machine that never read the chain notices a rollback too;
`chain/evm/rollback_guard` remembers more, but only on this machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from ...chain.ledger_protocol import (
    FINALIZED,
    NO_PARENT,
    ChainLedger,
    Commitment,
    Ledger,
    LedgerHead,
)
from ...encoding import pack
from ...errors import BrainError, Locked, StoreError
from ...store.reader import StoreReader
from ..session import Session
from ..transaction import lock_for_writing, log_operation, store_transaction
from .last_seen_head import read_note_rows

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
