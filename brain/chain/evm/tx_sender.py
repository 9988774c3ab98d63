"""Sends transactions: journals, signs, broadcasts, resends and replaces them.

What happened is read from the chain, whatever a node answered to a transaction: `already
known` and `nonce too low` only mean that there is something to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ...errors import InvalidInput, LedgerError
from . import abi, fees, rpc_decode
from .account import Account, UnsignedTransaction
from .evm_config import EvmLedgerConfig
from .fees import FeeCaps, Fees, Quote
from .journal import TX_ABANDONED, TX_LIVE, TxIntent, TxJournal, TxRecord
from .node_quorum import NodeQuorum, QuorumView
from .rpc import RpcRefusal
from .tx_status import TxTracker

MAX_FOREIGN_PENDING = 64
"""Transactions of other programs that may wait before ours; a node that claims more lies."""

STUCK_BLOCKS = 20
"""Blocks after which more is offered for a transaction that is in none of them."""

_ALREADY_KNOWN_PHRASES = (
    "already known",
    "known transaction",
    "already imported",
    "nonce too low",
    "already exists",
)

ApproveQuote = Callable[[Quote], None]


class TxSender:
    """Sends for one account; everything that sends is done within `alone`."""

    def __init__(
        self,
        config: EvmLedgerConfig,
        nodes: NodeQuorum,
        watch: TxTracker,
        journal: TxJournal,
        account: Account,
        approve: ApproveQuote,
    ) -> None:
        self._config = config
        self._nodes = nodes
        self._watch = watch
        self._journal = journal
        self._account = account
        self._approve = approve

    @contextmanager
    def exclusive_lock(self) -> Iterator[None]:
        """Be the only one who sends with this key. Raises `Locked`."""
        with self._journal.exclusive_lock():
            yield

    def resend_waiting(self, view: QuorumView, final: int) -> list[TxRecord]:
        """Return the transactions that wait, sent again in case nodes forgot them.

        Those that are final by block `final` are settled by the way; those in between
        are in blocks, and may come back.
        """
        records = self._journal.unsettled_records()
        used = self._watch.count_included(self._account.address, view)
        if any(record.nonce < used for record in records):
            self._settle_final(records, view, final)
        waiting = [one for one in records if one.nonce >= used and one.state == TX_LIVE]
        for record in waiting:
            self._nodes.broadcast(record.last_attempt.raw)
        return waiting

    def send(self, view: QuorumView, intent: TxIntent, to: str, data: bytes) -> TxRecord:
        """Price, sign, note and send a new transaction.

        Raises `InvalidInput` (`fee_cap`, `unfunded`), what the contract would revert
        with, or `LedgerError` (`refused`, `unreachable`).
        """
        nonce, previous = self._next_nonce(view)
        price = self.quote(view, to, data, previous)
        self._require_funds(view, price)
        self._approve(price)
        signed = self._account.sign_transaction(
            self._build_transaction(nonce, to, data, price.gas, price.fees)
        )
        attempts = previous.attempts if previous else ()
        record = TxRecord(nonce, intent, to, data, price.gas, attempts)
        record = record.with_attempt(signed, price.fees, view.block.number)
        self._journal.write_record(record)
        return self._broadcast(record)

    def resend(self, view: QuorumView, record: TxRecord) -> TxRecord:
        """Send a transaction that waits: as it is, or for more if it is stuck."""
        overtaken = record.last_attempt.fees.max_fee < view.block.base_fee
        if overtaken or view.block.number - record.last_attempt.block >= STUCK_BLOCKS:
            return self.replace(view, record)
        return self._broadcast(record)

    def replace(self, view: QuorumView, record: TxRecord) -> TxRecord:
        """Send the same with the same nonce for at least an eighth more, within the caps."""
        price = self._price(view, record.gas, record.gas, record.last_attempt.fees)
        self._require_funds(view, price)
        self._approve(price)
        transaction = self._build_transaction(
            record.nonce, record.to, record.data, record.gas, price.fees
        )
        record = record.with_attempt(
            self._account.sign_transaction(transaction), price.fees, view.block.number
        )
        self._journal.write_record(record)
        return self._broadcast(record)

    def abandon(self, record: TxRecord) -> None:
        """Note that a transaction is not wanted any more: its nonce is free for the next."""
        self._journal.write_record(record._replace(state=TX_ABANDONED))

    def quote(
        self, view: QuorumView, to: str, data: bytes, previous: TxRecord | None = None
    ) -> Quote:
        """Return what a transaction would cost; raises what the contract would revert with."""
        call = {"from": self._account.address, "data": "0x" + data.hex()}
        if to:
            call["to"] = to
        answer = self._nodes.ask_first_or_refusal(view, "eth_estimateGas", call, "latest")
        if isinstance(answer, RpcRefusal):
            raise abi.revert_error(answer.data, answer.message)
        estimate = rpc_decode.decode_uint64(answer, "estimate of gas")
        gas = fees.gas_limit(estimate)
        return self._price(view, gas, estimate, previous.last_attempt.fees if previous else None)

    def _price(self, view: QuorumView, gas: int, estimate: int, previous: Fees | None) -> Quote:
        caps = FeeCaps(self._config.max_fee, self._config.max_cost)
        tip = self._nodes.ask_first(
            view,
            lambda answer: rpc_decode.decode_uint256(answer, "tip"),
            "eth_maxPriorityFeePerGas",
        )
        base_fee = view.block.base_fee
        offer = fees.market_fees(base_fee, tip)
        if previous is not None:
            offer = fees.bump_fees(previous, offer, caps)
        return fees.build_quote(gas, estimate, base_fee, offer, caps)

    def _require_funds(self, view: QuorumView, price: Quote) -> None:
        """Refuse before signing what the account cannot pay for."""
        balance = self._nodes.ask_quorum(
            view, lambda answer: rpc_decode.decode_uint256(answer, "balance"),
            "eth_getBalance", self._account.address, view.tag,
        )  # fmt: skip
        if balance < price.worst:
            raise InvalidInput(
                f"{self._account.address} has {balance} wei, and it may cost {price.worst}",
                code="unfunded",
                hint="send some of the chain's money to this account",
            )

    def _broadcast(self, record: TxRecord) -> TxRecord:
        """Hand a transaction to the nodes; it counts as sent unless all of them refuse it."""
        refusals = self._nodes.broadcast(record.last_attempt.raw)
        if refusals and not any(map(_is_already_known, refusals)):
            self.abandon(record)
            raise LedgerError(
                f"no node takes the transaction: {refusals[0].message}",
                code="refused",
                hint="nothing was recorded; try again",
            )
        return record

    def _next_nonce(self, view: QuorumView) -> tuple[int, TxRecord | None]:
        """Return the next nonce, and the transaction given up that it replaces, if any."""
        used = self._watch.count_included(self._account.address, view)
        by_nonce = {record.nonce: record for record in self._journal.unsettled_records()}
        pending = self._nodes.ask_first(
            view, lambda answer: rpc_decode.decode_uint64(answer, "nonce"),
            "eth_getTransactionCount", self._account.address, "pending",
        )  # fmt: skip
        nonce = used
        while (record := by_nonce.get(nonce)) is not None or nonce < min(
            pending, used + MAX_FOREIGN_PENDING
        ):
            if record is not None and record.state == TX_ABANDONED:
                return nonce, record
            nonce += 1
        return nonce, None

    def _build_transaction(
        self, nonce: int, to: str, data: bytes, gas: int, fee_offer: Fees
    ) -> UnsignedTransaction:
        return UnsignedTransaction(
            self._config.chain_id, nonce, to, data, gas, fee_offer.max_fee, fee_offer.tip
        )

    def _settle_final(self, records: Sequence[TxRecord], view: QuorumView, final: int) -> None:
        """Put aside what no reorganisation can change any more."""
        try:
            final_view = self._nodes.view_at_number(final) if final >= 0 else None
            used = (
                self._watch.count_included(self._account.address, final_view) if final_view else 0
            )
        except LedgerError:  # nodes forget old states; then it is settled another time
            return
        for record in records:
            if record.nonce < used:
                outcome = self._watch.find_outcome(record, self._account.address, view)
                self._journal.settle_record(record._replace(state=outcome.state))


def _is_already_known(refusal: RpcRefusal) -> bool:
    words = refusal.message.lower()
    return any(fine in words for fine in _ALREADY_KNOWN_PHRASES)
