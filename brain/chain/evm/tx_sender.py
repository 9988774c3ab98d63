"""Sends transactions: journals, signs, broadcasts, resends and replaces them.

Sending takes seven steps. Steps 1 and 3 to 6 are repeated as comments here, step 2 in
`evm_ledger.py`, step 7 in `repo/ledgers/commit.py`:

1. Lock the journal of the key, so that one process at a time uses its nonces.
2. Read the chain. If the head is the snapshot already, send nothing and go to 7.
3. Broadcast the pending transactions of the journal again. If the same call is among them,
   go to 6.
4. Price and sign the transaction.
5. Write the signed transaction to the journal, durably.
6. Broadcast it, release the lock, and wait until it is in a block.
7. Note the commitment in the brain as the last one seen.

If the process dies, the user runs the same command again, and nothing is sent twice:

- before 5 is done: nothing was sent, and the journal has no trace; the nonce is still free.
- between 5 and 6: step 3 finds the signed bytes and broadcasts them.
- after 6, before a block has it: step 3 broadcasts the same bytes; nodes answer that they
  know them.
- after 6, and a block has it: step 2 finds the snapshot as the head.
- before 7 is done: as the case before; then 7 notes the commitment that the chain shows.
  `open` raises `already_open` then, and `commit` notes the commitment.

A journal entry stays open until its nonce is used in a final block; step 3 then moves it to
`done`. Whatever nodes answer to a broadcast, the outcome is read from the chain.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from ...errors import InvalidInput, LedgerError
from ..ledger_protocol import FAILED, INCLUDED, PENDING, REPLACED
from . import abi, fees, rpc
from .account import UnsignedTransaction
from .evm_config import EvmLedgerConfig
from .fees import FeeCaps, Fees, Quote
from .journal import ABANDONED, TxIntent, TxJournal, TxJournals, TxRecord
from .nodes import NodeQuorum, QuorumView
from .registry import RegistryContract, TxReceipt
from .rpc import RpcRefusal
from .unsigned import AccountElsewhere, Signer

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


MAX_FOREIGN_PENDING = 64
"""Pending transactions of other programs to queue behind; a node that claims more lies."""

STUCK_BLOCKS = 20
"""Blocks without the transaction after which it is replaced at a higher price."""

_ALREADY_KNOWN_PHRASES = (
    "already known",
    "known transaction",
    "already imported",
    "nonce too low",
    "already exists",
)

ApproveQuote = Callable[[Quote], None]
"""Gets the cost of a transaction before it is signed; raises to prevent it."""


class TxSender:
    """Sends for one account; every method that sends needs `exclusive_lock`."""

    def __init__(
        self,
        config: EvmLedgerConfig,
        nodes: NodeQuorum,
        tracker: TxTracker,
        journal: TxJournal,
        account: Signer,
        approve: ApproveQuote,
    ) -> None:
        self._config = config
        self._nodes = nodes
        self._tracker = tracker
        self._journal = journal
        self._account = account
        self._approve = approve

    @contextmanager
    def exclusive_lock(self) -> Iterator[None]:
        """Keep other processes from sending with this key. Raises `Locked`."""
        # 1. Lock the journal of the key.
        with self._journal.exclusive_lock():
            yield

    def resend_pending(self, view: QuorumView) -> list[TxRecord]:
        """Broadcast pending transactions again, in case nodes forgot them, and return them.

        Transactions whose nonce is used in a final block are settled; those in a block
        that is not final stay open, since a reorganisation may take them out again.
        """
        final = self._nodes.finality_bounds(view).final
        records = self._journal.unsettled_records()
        used = self._tracker.count_included(self._account.address, view)
        if any(record.nonce < used for record in records):
            self._settle_final(records, view, final)
        pending = [
            record for record in records if record.nonce >= used and record.status == PENDING
        ]
        # 3. Broadcast the pending transactions of the journal again.
        for record in pending:
            self._broadcast(record)
        return pending

    def send(self, view: QuorumView, intent: TxIntent, to: str, data: bytes) -> TxRecord:
        """Price, sign, journal and broadcast a new transaction.

        Raises `InvalidInput` (`fee_cap`, `unfunded`), the error for the contract's revert,
        or `LedgerError` (`refused`, `unreachable`).
        """
        nonce, previous = self._find_free_nonce(view)
        quote = self.quote(view, to, data, previous)
        record = TxRecord(
            nonce=nonce,
            intent=intent,
            to=to,
            data=data,
            gas=quote.gas,
            attempts=previous.attempts if previous else (),
        )
        return self._post(self._sign(view, record, quote))

    def send_once(
        self,
        view: QuorumView,
        intent: TxIntent,
        to: str,
        data: bytes,
        is_same: Callable[[TxRecord], bool],
    ) -> TxRecord:
        """Send a transaction, or resend the pending one for which `is_same` holds."""
        pending = next(filter(is_same, self.resend_pending(view)), None)
        return self.resend(view, pending) if pending else self.send(view, intent, to, data)

    def resend(self, view: QuorumView, record: TxRecord) -> TxRecord:
        """Broadcast a pending transaction: as it is, or at a higher price if it is stuck.

        It moves to a lower nonce if that is free: it could never be included behind the gap.
        """
        if not isinstance(self._account, AccountElsewhere):  # which signs nothing new by itself
            nonce, previous = self._find_free_nonce(view)
            if nonce < record.nonce:
                return self._move_back(view, record, nonce, previous)
            overtaken = record.last_attempt.fees.max_fee < view.block.base_fee
            if overtaken or view.block.number - record.last_attempt.block >= STUCK_BLOCKS:
                return self.replace(view, record)
        refusal, is_pending = self._broadcast(record)
        if not is_pending:
            raise self._refused_error(record, refusal, is_pending)
        return record

    def replace(self, view: QuorumView, record: TxRecord) -> TxRecord:
        """Send the same call at the same nonce for at least an eighth more, within the caps."""
        quote = self._price(view, record.gas, record.gas, record.last_attempt.fees)
        return self._post(self._sign(view, record, quote))

    def abandon(self, record: TxRecord) -> None:
        """Mark a transaction as abandoned: the next one takes its nonce."""
        self._journal.write_record(record.with_status(ABANDONED))

    def quote(
        self, view: QuorumView, to: str, data: bytes, previous: TxRecord | None = None
    ) -> Quote:
        """Return the cost of a transaction. Raises the error for the contract's revert."""
        estimate = self.estimate_gas(view, to, data)
        gas = fees.gas_limit(estimate)
        return self._price(view, gas, estimate, previous.last_attempt.fees if previous else None)

    def estimate_gas(self, view: QuorumView, to: str, data: bytes) -> int:
        """Return the gas that a call takes now. Raises the error for the contract's revert."""
        call = {"from": self._account.address, "data": "0x" + data.hex()}
        if to:
            call["to"] = to
        estimate = self._nodes.ask_median_or_refusal(
            view,
            lambda answer: rpc.decode_uint64(answer, "estimate of gas"),
            "eth_estimateGas",
            call,
            "latest",
        )
        if isinstance(estimate, RpcRefusal):
            raise abi.revert_error(estimate.data, estimate.message)
        return estimate

    def _price(self, view: QuorumView, gas: int, estimate: int, previous: Fees | None) -> Quote:
        caps = FeeCaps(self._config.max_fee, self._config.max_cost)
        tip = self._nodes.ask_median(
            view,
            lambda answer: rpc.decode_uint256(answer, "tip"),
            "eth_maxPriorityFeePerGas",
        )
        base_fee = view.block.base_fee
        offer = fees.market_fees(base_fee, tip)
        if previous is not None:
            offer = fees.bump_fees(previous, offer, caps)
        return fees.build_quote(gas, estimate, base_fee, offer, caps)

    def _move_back(
        self, view: QuorumView, record: TxRecord, nonce: int, previous: TxRecord | None
    ) -> TxRecord:
        """Send the call of a pending transaction at a lower nonce, and abandon the higher one."""
        quote = self.quote(view, record.to, record.data, previous)
        attempts = previous.attempts if previous else ()
        moved = replace(record, nonce=nonce, gas=quote.gas, attempts=attempts)
        signed = self._sign(view, moved, quote)
        # First: if this process dies in between, the next run sends the call once.
        self.abandon(record)
        return self._post(signed)

    def _sign(self, view: QuorumView, record: TxRecord, quote: Quote) -> TxRecord:
        """Return the record with another attempt, which is not in the journal yet."""
        # 4. Price and sign the transaction.
        if not isinstance(self._account, AccountElsewhere):  # for which others may pay
            self._require_funds(view, quote)
            self._approve(quote)
        signed = self._account.sign_transaction(
            UnsignedTransaction(
                chain_id=self._config.chain_id,
                nonce=record.nonce,
                to=record.to,
                data=record.data,
                gas=record.gas,
                max_fee=quote.fees.max_fee,
                tip=quote.fees.tip,
            )
        )
        return record.with_attempt(signed, quote.fees, view.block.number)

    def _post(self, record: TxRecord) -> TxRecord:
        """Journal a transaction and broadcast its last attempt."""
        # 5. Write the signed transaction to the journal, durably.
        self._journal.write_record(record)
        # 6. Broadcast it.
        refusal, is_pending = self._broadcast(record)
        if refusal:
            raise self._refused_error(record, refusal, is_pending)
        return record

    def _require_funds(self, view: QuorumView, quote: Quote) -> None:
        """Refuse a transaction that the account cannot pay for, before it is signed."""
        balance = self._nodes.ask_quorum(
            view, lambda answer: rpc.decode_uint256(answer, "balance"),
            "eth_getBalance", self._account.address, view.tag,
        )  # fmt: skip
        if balance < quote.worst:
            raise InvalidInput(
                f"{self._account.address} has {balance} wei, and the transaction may cost"
                f" {quote.worst}",
                code="unfunded",
                hint="send some of the chain's currency to this account",
            )

    def _broadcast(self, record: TxRecord) -> tuple[str, bool]:
        """Broadcast the last attempt; if all nodes refuse it, the attempt before, and so on.

        Returns the refusal of the last attempt, "" if a node takes it, and whether a node has
        any attempt.
        """
        refusal = ""
        for attempt in reversed(record.attempts):
            if attempt.data != record.data:
                break  # an abandoned call, which this one replaces
            refusals = self._nodes.broadcast(attempt.raw)
            if not refusals or any(map(_is_already_known, refusals)):
                return refusal, True
            refusal = refusal or refusals[0].message or "no reason"
        return refusal, False

    def _refused_error(self, record: TxRecord, refusal: str, is_pending: bool) -> LedgerError:
        """Abandon a transaction of which no node has an attempt, and return the error."""
        if not is_pending:
            self.abandon(record)
        return LedgerError(
            f"all nodes refuse the transaction: {refusal}",
            code="refused",
            hint="the attempt before may still be included; wait, and run it again"
            if is_pending
            else "no node has it; try again",
        )

    def _claimed_nonce(self, view: QuorumView) -> int:
        """Return the nonce behind the pending transactions that a quorum of nodes has.

        A node may have transactions that it drops later, or lie.
        """
        return self._nodes.ask_reached_number(
            view, lambda answer: rpc.decode_uint64(answer, "nonce"),
            "eth_getTransactionCount", self._account.address, "pending",
        )  # fmt: skip

    def _find_free_nonce(self, view: QuorumView) -> tuple[int, TxRecord | None]:
        """Return a nonce, and the abandoned transaction that it replaces, if any.

        It is the first that no pending transaction has. Those of other programs have the
        nonces below the one that nodes claim.
        """
        claimed = self._claimed_nonce(view)
        used = self._tracker.count_included(self._account.address, view)
        by_nonce = {record.nonce: record for record in self._journal.unsettled_records()}
        first_free = min(claimed, used + MAX_FOREIGN_PENDING)
        nonce = used
        while (record := by_nonce.get(nonce)) is not None or nonce < first_free:
            if record is not None and record.status == ABANDONED:
                return nonce, record
            nonce += 1
        return nonce, None

    def _settle_final(self, records: Sequence[TxRecord], view: QuorumView, final: int) -> None:
        """Settle the transactions that no reorganisation can change any more."""
        try:
            final_view = self._nodes.view_at_number(final) if final >= 0 else None
            used = (
                self._tracker.count_included(self._account.address, final_view) if final_view else 0
            )
        except LedgerError:  # nodes drop old states; a later run settles them
            return
        for record in records:
            if record.nonce < used:
                outcome = self._tracker.find_outcome(record, self._account.address, view)
                self._journal.settle_record(record.with_status(outcome.status))


def _is_already_known(refusal: RpcRefusal) -> bool:
    message = refusal.message.lower()
    return any(phrase in message for phrase in _ALREADY_KNOWN_PHRASES)
