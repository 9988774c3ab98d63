"""The status of a transaction, read from the chain for all attempts to send it."""

from __future__ import annotations

from typing import NamedTuple

from . import rpc_decode
from .journal import TX_DONE, TX_FAILED, TX_LIVE, TX_REPLACED, TxRecord
from .node_quorum import NodeQuorum, QuorumView
from .registry_contract import RegistryContract, TxReceipt


class TxOutcome(NamedTuple):
    """A state of the journal, and the receipt if the nonce was used by us."""

    state: str
    receipt: TxReceipt | None = None


class TxTracker:
    """Looks for transactions. Raises what `Nodes` raises."""

    def __init__(self, nodes: NodeQuorum, registry: RegistryContract) -> None:
        self._nodes = nodes
        self._registry = registry

    def find_outcome(self, record: TxRecord, sender: str, view: QuorumView) -> TxOutcome:
        """Return what became of a transaction as of a block.

        It is the nonce that is followed: a receipt may be of any attempt, and a nonce
        that was used without one was used by somebody else with the key.
        """
        used = self.count_included(sender, view) > record.nonce
        receipts = self._registry.read_receipts(view, [one.hash for one in record.attempts])
        for attempt, receipt in zip(record.attempts, receipts, strict=True):
            if receipt is not None and receipt.sender != sender:
                rpc_decode.refuse_answer("sender of our transaction", receipt.sender)
            if receipt is not None:
                final_state = TX_DONE if receipt.succeeded else TX_FAILED
                return TxOutcome(
                    final_state if attempt.data == record.data else TX_REPLACED, receipt
                )
        return TxOutcome(TX_REPLACED if used else TX_LIVE)

    def count_included(self, sender: str, view: QuorumView) -> int:
        """Return how many transactions of an account are included up to a block."""
        return self._nodes.ask_quorum(
            view, lambda said: rpc_decode.decode_uint64(said, "nonce"),
            "eth_getTransactionCount", sender, view.tag,
        )  # fmt: skip
