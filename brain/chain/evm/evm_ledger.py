"""The ledger on an EVM chain: commitments in the contract BrainRegistry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ...errors import BrainError, Conflict, InvalidInput, NotFound
from ..evidence import offline_check
from ..ledger_protocol import (
    FINALIZED,
    INCLUDED,
    NO_PARENT,
    PENDING,
    Commitment,
    LedgerFault,
    LedgerHead,
    Offer,
    already_open_error,
    not_open_error,
)
from . import abi, rpc
from .anchors import Anchors
from .deployment import Deployment
from .evm_config import EvmLedgerConfig
from .fees import Quote
from .journal import ABANDONED, TxIntent, TxRecord
from .ledger_context import LedgerContext
from .nodes import WarnUser, ignore_warning
from .ownership import Ownership
from .proofs import EvidenceCapture, StorageProver
from .registry import BrainView
from .rpc import RPC_TIMEOUT_SECONDS
from .tx_sender import ApproveQuote
from .unsigned import Signer


def _approve_any(quote: Quote) -> None:
    """Send at any cost within the caps of the configuration."""


class EvmLedger:
    """A ledger on an EVM chain; see `Ledger` for the methods of every ledger.

    `deployment` puts the contract on the chain, `ownership` changes the rights of a brain,
    `anchors` are about roots of logs.
    `folder` holds the files that all such ledgers of a user share. `account` signs; a function
    is called for it when it is first needed, and reading needs none. `approve` gets the cost
    of each transaction before it is signed, and may raise to prevent it. `patience` is how
    many seconds to wait until a transaction is in a block; then it is `pending`. `warn`
    gets a line about each node that is left out.
    """

    def __init__(
        self,
        config: EvmLedgerConfig,
        folder: Path,
        account: Signer | Callable[[], Signer] | None = None,
        *,
        approve: ApproveQuote = _approve_any,
        patience: float = 0.0,
        timeout: float = RPC_TIMEOUT_SECONDS,
        warn: WarnUser = ignore_warning,
    ) -> None:
        self.config = config
        self.name = config.name
        self.identity = config.identity
        self.folder = folder
        self._context = LedgerContext(
            config,
            folder,
            account,
            approve=approve,
            patience=patience,
            timeout=timeout,
            warn=warn,
        )
        prover = StorageProver(self._context)
        self._evidence = EvidenceCapture(self._context, prover)
        self.deployment = Deployment(self._context)
        self.ownership = Ownership(self._context)
        self.anchors = Anchors(self._context, prover)

    @property
    def creator(self) -> str:
        """The account to which the ids of brains are bound. Raises `InvalidInput` (`no_key`)."""
        return self._context.creator

    @property
    def sender(self) -> str:
        """The address of the account that signs. Raises `InvalidInput` (`no_key`)."""
        return self._context.account.address

    def registry_id(self, brain: bytes) -> bytes:
        """Return the id of a brain in the contract, which is bound to its creator."""
        return self._context.registry_id(brain)

    def entry_name(self, brain: bytes) -> str:
        """Return the name of a brain here: the identity, the first block, the registry id."""
        return f"{self.identity}/{self.config.genesis}/{self.registry_id(brain).hex()}"

    def head(self, brain: bytes) -> LedgerHead | None:
        """Return the last commitment that is in a block, None if the brain was never opened."""
        return self._context.view_brain(brain).head

    def open(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Make the first commitment of a brain of this account.

        Raises `Conflict` (`already_open`, `pending`), `InvalidInput` (`wrong_creator`), and as
        `commit` does.
        """
        self._context.require_creator(self.sender)
        intent = TxIntent("open", brain, snapshot, NO_PARENT)
        return self._commit_intent(intent, abi.encode_call(abi.OPEN_SELECTOR, brain, snapshot))

    def commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Commitment:
        """Record `snapshot` after `parent`, which must be the head; see `Ledger.commit`.

        Safe to repeat after a crash: `tx_sender` lists the steps. Raises `Conflict`
        (`stale_parent`, `pending`), `NotFound` (`not_open`), `InvalidInput` (`no_key`,
        `fee_cap`, `unfunded`, `unauthorized`, `no_code`, `wrong_code`, `wrong_chain`),
        `LedgerError` (`reverted`, `replaced`, `refused`).
        """
        intent = TxIntent("commit", brain, snapshot, parent)
        calldata = abi.encode_call(abi.COMMIT_SELECTOR, self.registry_id(brain), snapshot, parent)
        return self._commit_intent(intent, calldata)

    def supersede(self, brain: bytes, snapshot: bytes, head: bytes, since: int) -> Commitment:
        """Disown the commitments from `since` to the head, and commit `snapshot` after it.

        Only the owner can, and the signer loses its right. Raises as `commit`; `Conflict`
        (`stale_parent`) if the head is not `head` any more.
        """
        intent = TxIntent("supersede", brain, snapshot, head)
        try:
            return self._commit_intent(intent, self._encode_supersede(intent, since))
        except Conflict as error:
            raise _overtaken_error(error) from error
        except InvalidInput as error:
            if error.code != "unauthorized":
                raise
            raise self.ownership.owner_only_error(self.ownership.read_open_head(brain)) from error

    def find_creator(self, brain: bytes, transaction: str) -> str:
        """Return the account that opened a brain in a transaction, which any wallet may have sent.

        Raises `NotFound` (`not_committed`).
        """
        view = self._context.contract_view()
        for id, author in self._context.registry.read_authors(view, transaction):
            if offline_check.brain_id(bytes.fromhex(author[2:]), brain) == id:
                return author
        raise NotFound(
            f"the transaction {transaction} did not open this brain in {self.name}",
            code="not_committed",
            hint="wait until it is included, and check that it succeeded; for a later commitment,"
            f" name the creator with `brain config ledger.{self.name}.creator ADDRESS`",
        )

    def status(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Return the last commitment of a snapshot with its present status."""
        at = self._context.view_brain(brain)
        commitment = self._context.commitments.find(at, snapshot)
        if commitment is None:
            return self._unconfirmed_commitment(at, snapshot)
        self._check_own_transaction(commitment)
        self._settle_commitment(at, commitment)
        return commitment

    def history(self, brain: bytes) -> list[Commitment]:
        """Return all commitments that are in blocks; `sender` is the account that sent each."""
        at = self._context.view_brain(brain)
        commitments = self._context.commitments.history(at)
        if commitments:
            self._settle_commitment(at, commitments[-1])
        return commitments

    def evidence(self, brain: bytes, snapshot: bytes) -> dict[str, Any]:
        """Return `log`, which is None, and `chain`; see `EvidenceCapture.evidence`."""
        return self._evidence.evidence(brain, snapshot)

    def offer(self, brain: bytes) -> Offer | None:
        """Return the offer of a brain to another owner; see `OwnedLedger`."""
        return self.ownership.read_offer(brain)

    def verify(self) -> list[LedgerFault]:
        """Check that the nodes agree on the pinned chain and that it has the contract."""
        try:
            self._context.registry.check_code(self._context.contract_view())
        except BrainError as error:
            return [LedgerFault(error.code, error.message)]
        return []

    def trust_level(self, commitment: Commitment) -> str:
        """Return "L2" if several nodes call it final and a proof is stored here, else "L1"."""
        several = self.config.quorum > 1 and commitment.status == FINALIZED
        proven = several and self._evidence.is_stored(commitment)
        return "L2" if proven else "L1"

    def quote_open(self, brain: bytes, snapshot: bytes) -> Quote:
        """Return the cost of `open`, and send nothing; raises as it does."""
        self._context.require_creator(self.sender)
        return self._context.quote(abi.encode_call(abi.OPEN_SELECTOR, brain, snapshot))

    def quote_commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Quote:
        """Return the cost of `commit`, and send nothing; raises as it does."""
        return self._context.quote(
            abi.encode_call(abi.COMMIT_SELECTOR, self.registry_id(brain), snapshot, parent)
        )

    def quote_supersede(self, brain: bytes, snapshot: bytes, head: bytes, since: int) -> Quote:
        """Return the cost of `supersede`, and send nothing; raises as it does."""
        intent = TxIntent("supersede", brain, snapshot, head)
        return self._context.quote(self._encode_supersede(intent, since))

    def _encode_supersede(self, intent: TxIntent, since: int) -> bytes:
        id = self.registry_id(intent.brain)
        return abi.encode_call(abi.SUPERSEDE_SELECTOR, id, intent.snapshot, intent.parent, since)

    def _commit_intent(self, intent: TxIntent, calldata: bytes) -> Commitment:
        """Send a commitment, unless the chain has it; the steps are those of `tx_sender`.

        Another pending commitment of this brain is waited for first, once: a node may go on to
        call it pending.
        """
        waited_for: set[int] = set()
        while True:
            record = self._send_intent(intent, calldata)
            if record is None or record.intent == intent:
                break
            if record.nonce in waited_for:
                raise _pending_error(record)
            waited_for.add(record.nonce)
            sent = self._context.wait_for_outcome(record)
            if sent.status == PENDING:
                raise _pending_error(record)
        # 6. Release the lock, and wait until the transaction is in a block.
        if record is not None:
            self._context.wait_until_included(record)
        return self.status(intent.brain, intent.snapshot)

    def _send_intent(self, intent: TxIntent, calldata: bytes) -> TxRecord | None:
        """Send a commitment, or resend the same one if it is pending; None if the chain has it.

        Another pending commitment of this brain is returned instead, unless it can only fail:
        then it is abandoned.
        """
        sender, contract = self._context.sender, self.config.contract
        # 1. Lock the journal of the key.
        with sender.exclusive_lock():
            # 2. Read the chain. If the head is the snapshot already, send nothing.
            at = self._context.view_brain(intent.brain)
            if intent.kind == "commit" and at.head and at.head.snapshot == intent.snapshot:
                return None
            head = at.head.snapshot if at.head else NO_PARENT
            # 3. Broadcast the pending transactions of the journal again.
            pending = [
                record
                for record in sender.resend_pending(at.view)
                if (record.to, record.intent.brain) == (contract, intent.brain)
            ]
            for record in pending:
                if record.intent.parent == head:
                    return sender.resend(at.view, record)
            self._refuse_intent(intent, at.head)
            for record in pending:
                sender.abandon(record)
            # 4. to 6. Price, sign, journal and broadcast the transaction.
            try:
                return sender.send(at.view, intent, contract, calldata)
            except Conflict:  # the newest block may have what the view had not yet
                now = self._context.view_brain(intent.brain).head
                if intent.kind == "commit" and now and now.snapshot == intent.snapshot:
                    return None
                raise

    def _refuse_intent(self, intent: TxIntent, head: LedgerHead | None) -> None:
        """Refuse an intent that the contract would refuse, before it costs gas."""
        if intent.kind == "open":
            if head is not None:
                raise already_open_error(self.name)
        elif head is None:
            raise not_open_error(self.name, self.creator)
        elif head.snapshot != intent.parent:
            raise abi.stale_parent_error(head.snapshot, head.seq)

    def _settle_commitment(self, at: BrainView, commitment: Commitment) -> None:
        """Capture evidence of a final commitment, or prepare the proof of a recent one."""
        if commitment.status == FINALIZED:
            self._context.rollback_guard.mark_final(at.id, commitment.seq)
            self._evidence.try_capture(commitment)
        elif at.head is not None and commitment.seq == at.head.seq:
            self._evidence.prepare_proof(at.view, commitment)

    def _check_own_transaction(self, commitment: Commitment) -> None:
        """Compare the answers of the nodes about our own transaction with the journal."""
        for address, record in self._own_records(commitment.brain, commitment.snapshot):
            hashes = [attempt.hash for attempt in record.attempts]
            sent = (address, record.intent.parent)
            if commitment.transaction in hashes and sent != (commitment.sender, commitment.parent):
                rpc.refuse_answer(
                    "account of our transaction", f"{commitment.sender} {commitment.parent.hex()}"
                )

    def _own_records(self, brain: bytes, snapshot: bytes) -> Iterator[tuple[str, TxRecord]]:
        """Yield the transactions for a snapshot in the journals here, with their sender."""
        for address, record in self._context.journals.find_records(brain, snapshot):
            if record.to == self.config.contract:
                yield address, record

    def _unconfirmed_commitment(self, at: BrainView, snapshot: bytes) -> Commitment:
        """Return a commitment that the chain does not show, from the journals here."""
        for address, record in self._own_records(at.brain, snapshot):
            status, _ = self._context.tx_tracker.find_outcome(record, address, at.view)
            if record.status == ABANDONED and status == PENDING:
                continue
            return Commitment(
                ledger=self.name,
                identity=self.identity,
                brain=at.brain,
                seq=(at.head.seq if at.head else 0) + 1,
                snapshot=snapshot,
                parent=record.intent.parent,
                # Included, but not in the state: the chain was reorganised in between.
                status=PENDING if status == INCLUDED else status,
                time=0,
                transaction=record.last_attempt.hash,
                sender=address,
            )
        raise NotFound(
            f"{self.name} holds no commitment of the snapshot {snapshot.hex()[:12]}",
            code="not_committed",
            hint=f"commit it with `brain chain commit --ledger {self.name}`",
        )


def _pending_error(record: TxRecord) -> Conflict:
    """Return the error for another commitment of the brain that is not in a block yet."""
    return Conflict(
        f"the commitment of snapshot {record.intent.snapshot.hex()[:12]} is pending",
        code="pending",
        hint="wait until it is included, and run it again, which also offers more for a stuck one",
    )


def _overtaken_error(error: Conflict) -> Conflict:
    """Return the error for a head that moved while the owner disowned commitments."""
    if error.code != "stale_parent":
        return error
    return Conflict(
        error.message,
        code=error.code,
        hint="remove the signer first, with `brain chain owner --signer none`; then run it again",
    )
