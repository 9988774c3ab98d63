"""Transactions of the user's key that are in no block yet: resend, speed up, cancel.

A transaction waits if its price was overtaken, if nodes forgot it, or if the nonce before it
is free. All transactions of a key wait for the one with the lowest nonce.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...errors import InvalidInput, LedgerError, NotFound
from ..ledger_protocol import REPLACED
from .journal import TxIntent, TxRecord
from .ledger_context import LedgerContext
from .node_quorum import QuorumView
from .tx_sender import TxSender
from .tx_status import SentTransaction


class MendedTransaction(NamedTuple):
    """A transaction that was pending: its nonce now, its purpose, and what became of it."""

    nonce: int
    intent: TxIntent
    sent: SentTransaction


class PendingTransactions:
    """Mends transactions of the user's key on one chain, in the journal of this machine.

    Methods raise as `EvmLedger.commit` does.
    """

    def __init__(self, context: LedgerContext) -> None:
        self._context = context

    def resend(self) -> list[MendedTransaction]:
        """Broadcast all pending transactions again, and wait for them; none if none is pending.

        One that waits behind a free nonce moves there, and stuck ones offer more.
        """
        sender = self._context.sender
        with sender.exclusive_lock():
            records = sender.resend_all(self._context.nodes.latest_view())
        if records:
            self._context.wait_for_outcome(records[-1])
        return [self._describe(record) for record in records]

    def speed_up(self, nonce: int | None = None) -> MendedTransaction:
        """Offer an eighth more for a pending transaction, or the market price.

        Without a nonce, for the only one. Raises `NotFound` (`not_pending`), `InvalidInput`
        (`which_transaction`, `fee_cap`), `LedgerError` (`refused`).
        """
        return self._describe(self._change(nonce, TxSender.replace))

    def cancel(self, nonce: int | None = None) -> MendedTransaction:
        """Take back a pending transaction: an empty one to the key's own account replaces it.

        Raises as `speed_up`, and `LedgerError` (`replaced`) if it was included meanwhile.
        """
        mended = self._describe(self._change(nonce, TxSender.cancel))
        if mended.sent.status == REPLACED:
            raise LedgerError(
                f"the transaction with nonce {mended.nonce} was included before it was cancelled:"
                f" {mended.sent.transaction}",
                code="replaced",
                hint="see `brain chain status` for what it did",
            )
        return mended

    def _change(
        self, nonce: int | None, change: Callable[[TxSender, QuorumView, TxRecord], TxRecord]
    ) -> TxRecord:
        sender = self._context.sender
        with sender.exclusive_lock():
            view = self._context.nodes.latest_view()
            return change(sender, view, _choose_record(sender.resend_pending(view), nonce))

    def _describe(self, record: TxRecord) -> MendedTransaction:
        return MendedTransaction(
            record.nonce, record.intent, self._context.wait_for_outcome(record)
        )


def _choose_record(pending: list[TxRecord], nonce: int | None) -> TxRecord:
    if nonce is None and len(pending) > 1:
        choices = ", ".join(f"{record.nonce} ({record.intent.kind})" for record in pending)
        raise InvalidInput(
            f"{len(pending)} transactions are pending: {choices}",
            code="which_transaction",
            hint="name one with --nonce; all wait for the first",
        )
    found = [record for record in pending if nonce in (None, record.nonce)]
    if not found:
        raise NotFound(
            "no transaction of this key is pending"
            if nonce is None
            else f"no transaction with nonce {nonce} of this key is pending",
            code="not_pending",
            hint="`brain chain resend` lists what is pending here; `brain chain status` shows"
            " what was committed",
        )
    return found[0]
