"""The cost of transactions on a chain, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .human_format import format_ether

if TYPE_CHECKING:
    from brain.chain.evm.fees import Quote
    from brain.chain.evm.tx_sender import SentTransaction
    from brain.results import CostQuote

_WEI_PER_GWEI = 10**9
PENDING_ADVICE = (
    "If it stays pending, run the same command again: it is sent again, or for more within the caps"
)


def price_lines(price: CostQuote) -> Iterator[str]:
    """Describe an estimated cost."""
    if not price.gas:
        yield "No cost"
        return
    yield cost_line(price)


def transaction_lines(sent: SentTransaction | None) -> Iterator[str]:
    """Describe a transaction and its cost."""
    if sent is None:
        return
    where = f" in block {sent.block}" if sent.block is not None else ""
    yield f"Transaction {sent.transaction}, {sent.status}{where}"
    if sent.status == "pending":
        yield PENDING_ADVICE
    if sent.gas is not None and sent.fee is not None:
        yield f"Gas {sent.gas:,}, {format_ether(sent.fee)}"


def pending_prefix(sent: SentTransaction, what: str) -> str:
    """Return `what` a transaction does, marked if it is not in a block yet."""
    from brain.chain.ledger_protocol import PENDING

    return f"Not yet in a block: {what}" if sent.status == PENDING else what


def cost_line(price: CostQuote | Quote) -> str:
    """Return a price as one line."""
    return (
        f"About {format_ether(price.expected)} for {price.expected_gas:,} gas at"
        f" {price.base_fee / _WEI_PER_GWEI:g} gwei; at most {format_ether(price.worst)}"
    )
