"""Transaction fees by EIP-1559: pure arithmetic in wei.

The price of gas is the base fee, which the chain sets for each block, plus a tip. A
transaction names the highest price it pays; the sender keeps the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from ...errors import InvalidInput

MAX_GAS = 3_000_000
"""Gas of one transaction at most; creating the contract takes about 1,200,000."""
GAS_MARGIN_DIVISOR = 4
"""The gas limit is the estimate plus this part of it: state may change until inclusion."""


class Fees(NamedTuple):
    """The highest price of one gas, and the tip in it, in wei."""

    max_fee: int
    tip: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """The cost of a transaction, before it is sent; all but the gas in wei.

    `gas` is the limit, `expected_gas` the estimate. `expected` is the cost at the current
    base fee, `worst` the upper limit of the cost.
    """

    gas: int
    expected_gas: int
    base_fee: int
    max_fee: int
    tip: int
    expected: int
    worst: int

    @property
    def fees(self) -> Fees:
        """The prices that are signed."""
        return Fees(self.max_fee, self.tip)


class FeeCaps(NamedTuple):
    """The most the user pays: for one gas, and for a transaction, in wei."""

    max_fee: int
    max_cost: int


def gas_limit(estimate: int) -> int:
    """Return the gas limit of a transaction. Raises `InvalidInput` (`fee_cap`)."""
    gas = estimate + estimate // GAS_MARGIN_DIVISOR
    if not 0 < gas <= MAX_GAS:
        _refuse_fee(f"the node says it takes {estimate} gas; the most is {MAX_GAS}")
    return gas


def build_quote(gas: int, estimate: int, base_fee: int, offer: Fees, caps: FeeCaps) -> Quote:
    """Return the cost of a transaction with the limit `gas` and an estimate of its gas.

    Raises `InvalidInput` (`fee_cap`).
    """
    needed = base_fee + offer.tip
    if needed > caps.max_fee:
        _refuse_fee(
            f"one gas costs {format_gwei(needed)} gwei now; the cap is {format_gwei(caps.max_fee)}"
        )
    max_fee = min(offer.max_fee, caps.max_fee)
    worst = gas * max_fee
    _require_cost(worst, caps)
    return Quote(
        gas=gas,
        expected_gas=estimate,
        base_fee=base_fee,
        max_fee=max_fee,
        tip=offer.tip,
        expected=estimate * needed,
        worst=worst,
    )


def quote_signed(gas: int, estimate: int, base_fee: int, offer: Fees, caps: FeeCaps) -> Quote:
    """Return the cost of a transaction whose limit and price are signed already.

    Raises `InvalidInput` (`fee_cap`).
    """
    if offer.max_fee > caps.max_fee:
        _refuse_fee(
            f"it offers {format_gwei(offer.max_fee)} gwei for one gas;"
            f" the cap is {format_gwei(caps.max_fee)}"
        )
    _require_cost(gas * offer.max_fee, caps)
    return Quote(
        gas=gas,
        expected_gas=estimate,
        base_fee=base_fee,
        max_fee=offer.max_fee,
        tip=offer.tip,
        expected=estimate * min(offer.max_fee, base_fee + offer.tip),
        worst=gas * offer.max_fee,
    )


def _require_cost(worst: int, caps: FeeCaps) -> None:
    if worst > caps.max_cost:
        _refuse_fee(f"it may cost {worst} wei; the cap is {caps.max_cost}")


def market_fees(base_fee: int, tip: int) -> Fees:
    """Return an offer that is high enough for six full blocks in a row."""
    return Fees(2 * base_fee + tip, tip)


def bump_fees(before: Fees, market: Fees, caps: FeeCaps) -> Fees:
    """Return an offer that replaces a transaction: both raised by an eighth, or to the market.

    Nodes require 10 % (geth) or 12.5 % (others) more of both. Raises `InvalidInput` (`fee_cap`).
    """
    least = Fees(_raise_by_eighth(before.max_fee), _raise_by_eighth(before.tip))
    if least.max_fee > caps.max_fee:
        _refuse_fee(
            f"replacing it takes {format_gwei(least.max_fee)} gwei;"
            f" the cap is {format_gwei(caps.max_fee)}"
        )
    return Fees(max(least.max_fee, market.max_fee), max(least.tip, market.tip))


def _raise_by_eighth(wei: int) -> int:
    return max(wei + 1, -(-wei * 9 // 8))


def format_gwei(wei: int) -> str:
    """Return wei as decimal text in gwei."""
    gwei, rest = divmod(wei, 10**9)
    return f"{gwei}.{rest:09}".rstrip("0") if rest else str(gwei)


def _refuse_fee(reason: str) -> NoReturn:
    raise InvalidInput(
        reason,
        code="fee_cap",
        hint="wait for a lower price, or raise max_fee_gwei or max_cost_wei of the ledger",
    )
