"""Sends transactions that were signed elsewhere, as if the key were here.

Each is checked before it is sent: it is of this chain and calls this contract, the contract
takes it now, its price is within the caps, and its nonce is the next one. It is then journaled,
so that its status is followed, and it can be resent, sped up and cancelled.
"""

from __future__ import annotations

from functools import partial

from ...errors import Conflict, InvalidInput, LedgerError
from ..ledger_protocol import PENDING, REPLACED
from . import abi, fees, rpc_decode
from .account import UnsignedTransaction
from .fees import FeeCaps, Fees, Quote
from .journal import ABANDONED, TxIntent, TxRecord
from .ledger_context import LedgerContext
from .node_quorum import QuorumView
from .signing.calls import DecodedCall, decode_call
from .signing.safe_files import SAFE_NONCE_SELECTOR
from .signing.signed_transaction import ReceivedTransaction
from .signing.unsigned import is_cancellation, is_deployment
from .tx_sender import TxSender
from .tx_status import SentTransaction

COMMITMENT_KINDS = frozenset({"open", "commit", "supersede"})
"""Kinds of intents that commit a snapshot of one brain."""

_KIND_OF_FUNCTION = {
    "open": "open",
    "commit": "commit",
    "supersede": "supersede",
    "setSigner": "signer",
    "offerOwnership": "offer",
    "acceptOwnership": "accept",
    "anchor": "anchor",
}


def signed_kind(received: ReceivedTransaction) -> str:
    """Return the kind of intent of a signed transaction. Raises `InvalidInput` (`not_ours`)."""
    if is_deployment(received.transaction):
        return "deploy"
    if is_cancellation(received.sender, received.transaction):
        return "cancel"
    return _KIND_OF_FUNCTION[decode_call(received.transaction.data).function]


class SignedSender:
    """Sends for the account of the context, which must be the one that signed."""

    def __init__(self, context: LedgerContext) -> None:
        self._context = context

    def read_intent(self, received: ReceivedTransaction, brain: bytes | None) -> TxIntent:
        """Return the purpose of a signed transaction; `brain` is the one that it may commit.

        Raises `InvalidInput` (`not_ours`, `wrong_chain`, `another_brain`).
        """
        config, transaction = self._context.config, received.transaction
        if transaction.chain_id != config.chain_id:
            raise InvalidInput(
                f"the transaction is for chain {transaction.chain_id}, not {config.chain_id}",
                code="wrong_chain",
                hint="name the ledger of that chain with --ledger",
            )
        kind = signed_kind(received)
        if kind in ("deploy", "cancel"):
            return TxIntent(kind)
        if transaction.to != config.contract:
            raise InvalidInput(
                f"the transaction calls {transaction.to}, not the contract of {config.name}",
                code="not_ours",
                hint=f"the contract is {config.contract or 'not set yet'}; name another ledger with"
                " --ledger",
            )
        if kind not in COMMITMENT_KINDS:
            return TxIntent(kind)
        intent = self._commitment_intent(kind, decode_call(transaction.data), brain)
        if kind == "open":
            self._context.require_creator(received.sender)
        return intent

    def read_safe_nonce(self, safe: str) -> int:
        """Return the nonce of the next transaction of a Safe. Raises `InvalidInput` (`no_safe`)."""
        nodes = self._context.nodes
        view = nodes.latest_view()
        call = {"to": safe, "data": "0x" + SAFE_NONCE_SELECTOR.hex()}
        refusal = nodes.find_refusal(view, "eth_call", call, view.tag)
        read = partial(rpc_decode.decode_bytes, what="nonce of a Safe")
        answer = b"" if refusal else nodes.ask_quorum(view, read, "eth_call", call, view.tag)
        if len(answer) != abi.ABI_WORD_BYTES:
            raise InvalidInput(
                f"there is no Safe at {safe}",
                code="no_safe",
                hint="name the Safe with --from; another wallet takes another --format",
            )
        return int.from_bytes(answer, "big")

    def send(self, received: ReceivedTransaction, intent: TxIntent) -> TxRecord:
        """Check, journal and broadcast a transaction; one that was sent before is sent again.

        Raises as `EvmLedger.commit` does; `InvalidInput` (`bad_signed`, `low_gas`, `low_price`);
        `Conflict` (`replaced`, `nonce_taken`, `nonce_gap`).
        """
        context, transaction = self._context, received.transaction
        if context.account.address != received.sender:
            raise InvalidInput(
                f"the transaction was signed by {received.sender}",
                code="bad_signed",
                hint=f"sign it with the key of {context.account.address}",
            )
        sender, journal = context.sender, context.journals.journal(received.sender)
        with sender.exclusive_lock():
            view = context.nodes.latest_view()
            if transaction.to == context.config.contract:
                context.registry.check_code(view)
            by_nonce = {each.nonce: each for each in journal.unsettled_records()}
            taken = by_nonce.get(transaction.nonce)
            record = _join_record(taken, received, intent, view)
            outcome = context.tx_tracker.find_outcome(record, received.sender, view)
            if outcome.status == REPLACED:
                raise Conflict(
                    f"another transaction of {received.sender} has used the nonce"
                    f" {transaction.nonce}",
                    code="replaced",
                    hint="write the transaction again with `--unsigned`, and sign that",
                )
            if outcome.receipt is not None:  # a run before, or another program, has sent it
                journal.write_record(record)
                return record
            _require_free_nonce(taken, record)
            _require_higher_price(taken, record)
            _require_next_nonce(sender, view, record)
            try:
                return sender.send_signed(view, record, self._quote(sender, view, transaction))
            except LedgerError as error:
                if error.code == "refused" and taken and taken.status == PENDING:
                    journal.write_record(taken)  # it is pending as before
                raise

    def transact(self, received: ReceivedTransaction, intent: TxIntent) -> SentTransaction:
        """Send a transaction and wait for it, as long as patience lasts; raises as `send`."""
        return self._context.wait_until_included(self.send(received, intent))

    def _commitment_intent(self, kind: str, call: DecodedCall, brain: bytes | None) -> TxIntent:
        words = {
            name: bytes.fromhex(value[2:])
            for name, value in call.arguments.items()
            if isinstance(value, str)
        }
        if kind == "open":
            intent = TxIntent(kind, words["salt"], words["snapshot"], bytes(32))
            is_here = words["salt"] == brain
        else:
            parent = words["parent" if kind == "commit" else "head"]
            intent = TxIntent(kind, brain or b"", words["snapshot"], parent)
            is_here = brain is not None and words["id"] == self._context.registry_id(brain)
        if not is_here:
            raise InvalidInput(
                "the transaction commits a snapshot of another brain",
                code="another_brain",
                hint="run this in the folder of that brain, or name it with -C; the ledger must"
                " name its creator",
            )
        return intent

    def _quote(self, sender: TxSender, view: QuorumView, transaction: UnsignedTransaction) -> Quote:
        estimate = sender.estimate_gas(view, transaction.to, transaction.data)
        if estimate > transaction.gas:
            raise InvalidInput(
                f"the transaction takes {estimate} gas, and allows {transaction.gas}",
                code="low_gas",
                hint="write it again with `--unsigned`, and sign it without a change",
            )
        config = self._context.config
        return fees.quote_signed(
            transaction.gas,
            estimate,
            view.block.base_fee,
            Fees(transaction.max_fee, transaction.tip),
            FeeCaps(config.max_fee, config.max_cost),
        )


def _join_record(
    taken: TxRecord | None, received: ReceivedTransaction, intent: TxIntent, view: QuorumView
) -> TxRecord:
    """Return the record of a transaction; `taken` is the one that the journal has at its nonce."""
    transaction, hash = received.transaction, received.signed.hash
    before = taken.attempts if taken else ()
    was_sent = hash in [attempt.hash for attempt in before]
    if taken is not None and was_sent and _is_same_call(taken, transaction):
        return taken.with_status(PENDING)
    record = TxRecord(
        nonce=transaction.nonce,
        intent=intent,
        to=transaction.to,
        data=transaction.data,
        gas=transaction.gas,
        attempts=tuple(attempt for attempt in before if attempt.hash != hash),
    )
    offer = Fees(transaction.max_fee, transaction.tip)
    return record.with_attempt(received.signed, offer, view.block.number)


def _is_same_call(taken: TxRecord, other: TxRecord | UnsignedTransaction) -> bool:
    return (taken.to, taken.data) == (other.to, other.data)


def _require_free_nonce(taken: TxRecord | None, record: TxRecord) -> None:
    """Refuse to replace a pending transaction, unless it is by the same call or a cancellation."""
    if (
        taken is None
        or taken.status == ABANDONED
        or record.intent.kind == "cancel"
        or _is_same_call(taken, record)
    ):
        return
    raise Conflict(
        f"the nonce {record.nonce} is that of a pending transaction: {taken.intent.kind}",
        code="nonce_taken",
        hint="wait until it is included, then write this one again; or cancel it first, with"
        " `brain chain cancel`",
    )


def _require_higher_price(taken: TxRecord | None, record: TxRecord) -> None:
    """Refuse what nodes would: to replace a pending transaction without offering more."""
    if taken is None or taken.status == ABANDONED or taken.last_attempt == record.last_attempt:
        return
    before, offer = taken.last_attempt.fees, record.last_attempt.fees
    if offer.max_fee <= before.max_fee or offer.tip <= before.tip:
        raise InvalidInput(
            f"the transaction offers {fees.format_gwei(offer.max_fee)} gwei, and the pending one"
            f" {fees.format_gwei(before.max_fee)}: more must be offered, also as tip",
            code="low_price",
            hint="write it again with `--unsigned`, and sign it without a change",
        )


def _require_next_nonce(sender: TxSender, view: QuorumView, record: TxRecord) -> None:
    free = sender.first_free_nonce(view)
    if record.nonce > free:
        raise Conflict(
            f"the transaction has the nonce {record.nonce}, and none has {free} yet",
            code="nonce_gap",
            hint=f"send the one with the nonce {free} first, or write this one again",
        )
