"""Transactions that survive: written down, sent, looked for, sent again, replaced.

What happened is read from the chain, whatever a node answered to a transaction: `already
known` and `nonce too low` only mean that there is something to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ...errors import InvalidInput, LedgerError
from . import abi, fees, wire
from .account import Account, Transaction
from .config import LedgerConfig
from .fees import Caps, Fees, Quote
from .journal import GIVEN_UP, LIVE, Intent, Journal, Record
from .nodes import Nodes, View
from .rpc import Refusal
from .watching import Watch

FAR = 64
"""Transactions of other programs that may wait before ours; a node that claims more lies."""

STUCK = 20
"""Blocks after which more is offered for a transaction that is in none of them."""

_FINE = (
    "already known",
    "known transaction",
    "already imported",
    "nonce too low",
    "already exists",
)

Approve = Callable[[Quote], None]


class Sender:
    """Sends for one account; everything that sends is done within `alone`."""

    def __init__(
        self,
        config: LedgerConfig,
        nodes: Nodes,
        watch: Watch,
        journal: Journal,
        account: Account,
        approve: Approve,
    ) -> None:
        self._config = config
        self._nodes = nodes
        self._watch = watch
        self._journal = journal
        self._account = account
        self._approve = approve

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be the only one who sends with this key. Raises `Locked`."""
        with self._journal.alone():
            yield

    def live(self, view: View, final: int) -> list[Record]:
        """Return the transactions that wait, sent again in case nodes forgot them.

        Those that are final by block `final` are settled by the way; those in between
        are in blocks, and may come back.
        """
        records = self._journal.unsettled()
        used = self._watch.count(self._account.address, view)
        if any(record.nonce < used for record in records):
            self._settle(records, view, final)
        waiting = [one for one in records if one.nonce >= used and one.state == LIVE]
        for record in waiting:
            self._nodes.told(record.last.raw)
        return waiting

    def send(self, view: View, intent: Intent, to: str, data: bytes) -> Record:
        """Price, sign, note and send a new transaction.

        Raises `InvalidInput` (`fee_cap`, `unfunded`), what the contract would revert
        with, or `LedgerError` (`refused`, `unreachable`).
        """
        nonce, before = self._nonce(view)
        price = self.quote(view, to, data, before)
        self._afford(view, price)
        self._approve(price)
        signed = self._account.sign(self._transaction(nonce, to, data, price.gas, price.fees))
        attempts = before.attempts if before else ()
        record = Record(nonce, intent, to, data, price.gas, attempts)
        record = record.tried(signed, price.fees, view.block.number)
        self._journal.write(record)
        return self._told(record)

    def again(self, view: View, record: Record) -> Record:
        """Send a transaction that waits: as it is, or for more if it is stuck."""
        overtaken = record.last.fees.max_fee < view.block.base_fee
        if overtaken or view.block.number - record.last.block >= STUCK:
            return self.replace(view, record)
        return self._told(record)

    def replace(self, view: View, record: Record) -> Record:
        """Send the same with the same nonce for at least an eighth more, within the caps."""
        price = self._priced(view, record.gas, record.gas, record.last.fees)
        self._afford(view, price)
        self._approve(price)
        form = self._transaction(record.nonce, record.to, record.data, record.gas, price.fees)
        record = record.tried(self._account.sign(form), price.fees, view.block.number)
        self._journal.write(record)
        return self._told(record)

    def give_up(self, record: Record) -> None:
        """Note that a transaction is not wanted any more: its nonce is free for the next."""
        self._journal.write(record._replace(state=GIVEN_UP))

    def quote(self, view: View, to: str, data: bytes, before: Record | None = None) -> Quote:
        """Return what a transaction would cost; raises what the contract would revert with."""
        call = {"from": self._account.address, "data": "0x" + data.hex()}
        if to:
            call["to"] = to
        said = self._nodes.openly(view, "eth_estimateGas", call, "latest")
        if isinstance(said, Refusal):
            raise abi.reverted(said.data, said.words)
        estimate = wire.number(said, "estimate of gas")
        gas = fees.limit(estimate)
        return self._priced(view, gas, estimate, before.last.fees if before else None)

    def _priced(self, view: View, gas: int, estimate: int, before: Fees | None) -> Quote:
        caps = Caps(self._config.max_fee, self._config.max_cost)
        tip = self._nodes.first(
            view, lambda said: wire.amount(said, "tip"), "eth_maxPriorityFeePerGas"
        )
        base_fee = view.block.base_fee
        offer = fees.market(base_fee, tip)
        if before is not None:
            offer = fees.bumped(before, offer, caps)
        return fees.quote(gas, estimate, base_fee, offer, caps)

    def _afford(self, view: View, price: Quote) -> None:
        """Refuse before signing what the account cannot pay for."""
        balance = self._nodes.agreed(
            view, lambda said: wire.amount(said, "balance"),
            "eth_getBalance", self._account.address, view.tag,
        )  # fmt: skip
        if balance < price.worst:
            raise InvalidInput(
                f"{self._account.address} has {balance} wei, and it may cost {price.worst}",
                code="unfunded",
                hint="send some of the chain's money to this account",
            )

    def _told(self, record: Record) -> Record:
        """Hand a transaction to the nodes; it counts as sent unless all of them refuse it."""
        refusals = self._nodes.told(record.last.raw)
        if refusals and not any(map(_is_fine, refusals)):
            self.give_up(record)
            raise LedgerError(
                f"no node takes the transaction: {refusals[0].words}",
                code="refused",
                hint="nothing was recorded; try again",
            )
        return record

    def _nonce(self, view: View) -> tuple[int, Record | None]:
        """Return the next nonce, and the transaction given up that it replaces, if any."""
        used = self._watch.count(self._account.address, view)
        mine = {record.nonce: record for record in self._journal.unsettled()}
        pending = self._nodes.first(
            view, lambda said: wire.number(said, "nonce"),
            "eth_getTransactionCount", self._account.address, "pending",
        )  # fmt: skip
        nonce = used
        while (record := mine.get(nonce)) is not None or nonce < min(pending, used + FAR):
            if record is not None and record.state == GIVEN_UP:
                return nonce, record
            nonce += 1
        return nonce, None

    def _transaction(
        self, nonce: int, to: str, data: bytes, gas: int, offered: Fees
    ) -> Transaction:
        return Transaction(
            self._config.chain_id, nonce, to, data, gas, offered.max_fee, offered.tip
        )

    def _settle(self, records: Sequence[Record], view: View, final: int) -> None:
        """Put aside what no reorganisation can change any more."""
        try:
            at = self._nodes.at(final) if final >= 0 else None
            used = self._watch.count(self._account.address, at) if at else 0
        except LedgerError:  # nodes forget old states; then it is settled another time
            return
        for record in records:
            if record.nonce < used:
                outcome = self._watch.outcome(record, self._account.address, view)
                self._journal.settle(record._replace(state=outcome.state))


def _is_fine(refusal: Refusal) -> bool:
    words = refusal.words.lower()
    return any(fine in words for fine in _FINE)
