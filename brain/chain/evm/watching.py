"""What became of a transaction, read from the chain by all the forms it was sent in."""

from __future__ import annotations

from typing import NamedTuple

from . import wire
from .journal import DONE, FAILED, LIVE, REPLACED, Record
from .nodes import Nodes, View
from .registry import Receipt, Registry


class Outcome(NamedTuple):
    """A state of the journal, and the receipt if the nonce was used by us."""

    state: str
    receipt: Receipt | None = None


class Watch:
    """Looks for transactions. Raises what `Nodes` raises."""

    def __init__(self, nodes: Nodes, registry: Registry) -> None:
        self._nodes = nodes
        self._registry = registry

    def outcome(self, record: Record, sender: str, view: View) -> Outcome:
        """Return what became of a transaction as of a block.

        It is the nonce that is followed: a receipt may be of any attempt, and a nonce
        that was used without one was used by somebody else with the key.
        """
        used = self.count(sender, view) > record.nonce
        receipts = self._registry.receipts(view, [one.hash for one in record.attempts])
        for attempt, receipt in zip(record.attempts, receipts, strict=True):
            if receipt is not None and receipt.sender != sender:
                wire.refuse("sender of our transaction", receipt.sender)
            if receipt is not None:
                good = DONE if receipt.good else FAILED
                return Outcome(good if attempt.data == record.data else REPLACED, receipt)
        return Outcome(REPLACED if used else LIVE)

    def count(self, sender: str, view: View) -> int:
        """Return how many transactions of an account are included up to a block."""
        return self._nodes.agreed(
            view, lambda said: wire.number(said, "nonce"),
            "eth_getTransactionCount", sender, view.tag,
        )  # fmt: skip
