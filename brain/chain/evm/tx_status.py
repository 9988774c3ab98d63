"""The status of a transaction, read from the chain for all attempts to send it."""

from __future__ import annotations

import time
from typing import NamedTuple

from ...errors import LedgerError
from ..ledger_protocol import FAILED, INCLUDED, PENDING, REPLACED
from . import rpc
from .journal import TxJournals, TxRecord
from .nodes import NodeQuorum, QuorumView
from .registry import RegistryContract, TxReceipt

FIRST_POLL_SECONDS = 0.05
MAX_POLL_SECONDS = 3.0
"""Seconds between two looks for a transaction that was sent; each is twice the one before."""


class TxOutcome(NamedTuple):
    """`status` is PENDING, INCLUDED, FAILED or REPLACED.

    `receipt` is that of the attempt that used the nonce, None if no attempt of ours did.
    """

    status: str
    receipt: TxReceipt | None = None


class SentTransaction(NamedTuple):
    """A transaction: `status` is one of a commitment; `fee` is in wei."""

    transaction: str
    status: str
    block: int | None
    gas: int | None
    fee: int | None


class TxTracker:
    """Follows transactions by their nonce. Raises what `NodeQuorum` raises."""

    def __init__(self, nodes: NodeQuorum, registry: RegistryContract, journals: TxJournals) -> None:
        self._nodes = nodes
        self._registry = registry
        self._journals = journals

    def find_outcome(self, record: TxRecord, sender: str, view: QuorumView) -> TxOutcome:
        """Return the outcome of a transaction as of a block.

        Any attempt may have the receipt. A nonce that was used without a receipt of ours
        was used by another program with the same key.
        """
        used = self.count_included(sender, view) > record.nonce
        receipts = self._registry.read_receipts(view, [attempt.hash for attempt in record.attempts])
        for attempt, receipt in zip(record.attempts, receipts, strict=True):
            if receipt is None:
                continue
            if receipt.sender != sender:
                rpc.refuse_answer("sender of our transaction", receipt.sender)
            if attempt.data != record.data:
                return TxOutcome(REPLACED, receipt)
            return TxOutcome(INCLUDED if receipt.succeeded else FAILED, receipt)
        return TxOutcome(REPLACED if used else PENDING)

    def count_included(self, sender: str, view: QuorumView) -> int:
        """Return how many transactions of an account are included up to a block."""
        return self._nodes.ask_quorum(
            view, lambda answer: rpc.decode_uint64(answer, "nonce"),
            "eth_getTransactionCount", sender, view.tag,
        )  # fmt: skip

    def wait_until_included(
        self, record: TxRecord, sender: str, patience: float
    ) -> SentTransaction:
        """Wait up to `patience` seconds until a transaction is in a block.

        Raises `LedgerError` (`reverted`, `replaced`).
        """
        sent = self.wait_for_outcome(record, sender, patience)
        if sent.status == FAILED:
            raise LedgerError(
                f"the contract reverted the transaction {record.last_attempt.hash}",
                code="reverted",
                hint="the state changed before it was included; check the ledger, try again",
            )
        if sent.status == REPLACED:
            raise LedgerError(
                f"another transaction took the place of {record.last_attempt.hash}",
                code="replaced",
                hint="another program uses this key, or it was cancelled: run the command again",
            )
        return sent

    def wait_for_outcome(self, record: TxRecord, sender: str, patience: float) -> SentTransaction:
        """Wait as `wait_until_included`; the status may also be `failed` or `replaced`."""
        deadline, pause = time.monotonic() + patience, FIRST_POLL_SECONDS
        seems_replaced = False
        while True:
            view = self._nodes.latest_view()
            # Another process may have offered more for it.
            record = self._journals.journal(sender).read_again(record)
            status, receipt = self.find_outcome(record, sender, view)
            if receipt is not None:
                included = self._describe_included(receipt, view)
                return included if status == INCLUDED else included._replace(status=status)
            # A node knows that a nonce is used a moment before it has the receipt: look twice.
            remaining = deadline - time.monotonic()
            if (status == REPLACED and seems_replaced) or (status == PENDING and remaining <= 0):
                return SentTransaction(record.last_attempt.hash, status, None, None, None)
            seems_replaced = status == REPLACED
            time.sleep(pause if seems_replaced else min(pause, remaining))
            pause = min(2 * pause, MAX_POLL_SECONDS)

    def _describe_included(self, receipt: TxReceipt, view: QuorumView) -> SentTransaction:
        status = self._nodes.finality_bounds(view).status(receipt.block)
        return SentTransaction(receipt.transaction, status, receipt.block, receipt.gas, receipt.fee)
