"""Transaction fees by EIP-1559: pure arithmetic in wei.

The price of gas is the base fee, which the chain sets for each block, and a tip. One
names the most one would pay; what is over the base fee and the tip is not taken.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from ...errors import InvalidInput

MAX_GAS = 3_000_000
"""Gas of one transaction at most; making the contract takes about 1,200,000."""
GAS_MARGIN_DIVISOR = 4
"""An estimate is exceeded by one in so many: state may change before it is included."""


class Fees(NamedTuple):
    """The most to be paid for one gas, and the tip in it, in wei."""

    max_fee: int
    tip: int


class Quote(NamedTuple):
    """What a transaction costs, told before it is sent; all but the gas in wei.

    `gas` is the limit, `expected_gas` the estimate. `expected` is the cost at the base
    fee now, `worst` what it cannot exceed.
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
        """What is signed of it beside the gas."""
        return Fees(self.max_fee, self.tip)


class FeeCaps(NamedTuple):
    """What the user is ready to pay: for one gas, and for a transaction, in wei."""

    max_fee: int
    max_cost: int


def gas_limit(estimate: int) -> int:
    """Return how much gas to allow a transaction. Raises `InvalidInput` (`fee_cap`)."""
    gas = estimate + estimate // GAS_MARGIN_DIVISOR
    if not 0 < gas <= MAX_GAS:
        _refuse_fee(f"the node says it takes {estimate} gas; the most is {MAX_GAS}")
    return gas


def build_quote(gas: int, estimate: int, base_fee: int, offer: Fees, caps: FeeCaps) -> Quote:
    """Return the cost of a transaction that may take `gas`, and is estimated to take less.

    Raises `InvalidInput` (`fee_cap`).
    """
    needed = base_fee + offer.tip
    if needed > caps.max_fee:
        _refuse_fee(
            f"one gas costs {format_gwei(needed)} gwei now; the cap is {format_gwei(caps.max_fee)}"
        )
    max_fee = min(offer.max_fee, caps.max_fee)
    worst = gas * max_fee
    if worst > caps.max_cost:
        _refuse_fee(f"it may cost {worst} wei; the cap is {caps.max_cost}")
    return Quote(gas, estimate, base_fee, max_fee, offer.tip, estimate * needed, worst)


def market_fees(base_fee: int, tip: int) -> Fees:
    """Return what to offer: enough for six blocks in a row that are full."""
    return Fees(2 * base_fee + tip, tip)


def bump_fees(before: Fees, market: Fees, caps: FeeCaps) -> Fees:
    """Return what replaces a transaction: both fields raised by an eighth, or to the market.

    Nodes want 10 % (geth) or 12.5 % (others), of both. Raises `InvalidInput` (`fee_cap`).
    """
    least = Fees(_raise_by_eighth(before.max_fee), _raise_by_eighth(before.tip))
    if least.max_fee > caps.max_fee:
        _refuse_fee(
            f"replacing it takes {format_gwei(least.max_fee)} gwei; the cap is {format_gwei(caps.max_fee)}"
        )
    return Fees(max(least.max_fee, market.max_fee), max(least.tip, market.tip))


def _raise_by_eighth(wei: int) -> int:
    return max(wei + 1, -(-wei * 9 // 8))


def format_gwei(wei: int) -> str:
    """Return wei as decimal text in gwei."""
    whole, rest = divmod(wei, 10**9)
    return f"{whole}.{rest:09}".rstrip("0") if rest else str(whole)


def _refuse_fee(why: str) -> NoReturn:
    raise InvalidInput(
        why,
        code="fee_cap",
        hint="wait for a lower price, or raise max_fee_gwei or max_cost_wei of the ledger",
    )
