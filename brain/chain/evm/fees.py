"""Transaction fees by EIP-1559: pure arithmetic in wei.

The price of gas is the base fee, which the chain sets for each block, plus a tip. A
transaction names the highest price it pays; the sender keeps the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from ...errors import InvalidInput

MAX_GAS = 3_000_000
"""Gas of one transaction at most; creating the contract takes 2,125,013."""
GAS_MARGIN_DIVISOR = 4
"""The gas limit is the estimate plus this part of it: state may change until inclusion."""


WEI_PER_GWEI = 10**9
CAPPED_GAS = 200_000
"""The default cap of a transaction is that of the price times this: some five commitments."""
MAX_UNKNOWN_FEE = 100 * WEI_PER_GWEI
"""The cap where nothing is known of a chain, and the highest that follows from its prices."""
PRICE_FACTOR = 20
"""The cap on a chain without one of its own is its price times this."""

_MAX_FEE_GWEI = {
    1: 100.0,  # Ethereum
    10: 1.0,  # OP Mainnet
    56: 10.0,  # BNB Smart Chain
    100: 50.0,  # Gnosis
    130: 1.0,  # Unichain
    137: 2000.0,  # Polygon
    480: 1.0,  # World Chain
    8453: 1.0,  # Base
    42161: 5.0,  # Arbitrum One
    43114: 100.0,  # Avalanche
    59144: 5.0,  # Linea
    534352: 5.0,  # Scroll
    17000: 100.0,  # Holesky
    31337: 100.0,  # development nodes
    84532: 1.0,  # Base Sepolia
    421614: 5.0,  # Arbitrum Sepolia
    560048: 100.0,  # Hoodi
    11155111: 100.0,  # Sepolia
    11155420: 1.0,  # OP Sepolia
}
"""By chain id, in gwei: ten times and more what is usual, and below what would hurt."""


def known_max_fee(chain_id: int) -> int | None:
    """Return the cap on the price of gas on a known chain, in wei; None on others.

    A price that is usual on one chain is a thousand times too much on another.
    """
    gwei = _MAX_FEE_GWEI.get(chain_id)
    return None if gwei is None else int(gwei * WEI_PER_GWEI)


def max_fee_for_price(price: int) -> int:
    """Return the cap on the price of gas for the present price of a chain, in wei."""
    return min(max(PRICE_FACTOR * price, 1), MAX_UNKNOWN_FEE)


def default_max_cost(max_fee: int) -> int:
    """Return the cap on the cost of a transaction, in wei, for one on the price of gas."""
    return CAPPED_GAS * max_fee


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
    if worst > caps.max_cost:
        _refuse_fee(f"it may cost {worst} wei; the cap is {caps.max_cost}")
    return Quote(
        gas=gas,
        expected_gas=estimate,
        base_fee=base_fee,
        max_fee=max_fee,
        tip=offer.tip,
        expected=estimate * needed,
        worst=worst,
    )


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
