"""The ledger on an EVM chain: commitments in the contract BrainRegistry."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import BrainError, Conflict, NotFound
from ..ledger_protocol import (
    FAILED,
    FINALIZED,
    NO_PARENT,
    PENDING,
    REPLACED,
    Commitment,
    LedgerFault,
    LedgerHead,
    not_open_error,
)
from . import abi, durable_files, journal, rpc_decode
from .abi import ContractState
from .anchors import Anchors
from .deployment import Deployment
from .evidence_capture import EvidenceCapture
from .fees import Quote
from .journal import TX_ABANDONED, TxIntent, TxRecord
from .node_quorum import QuorumView
from .ownership import Ownership
from .tx_sender import TxSender

_STATUS_OF_STATE = {
    journal.TX_LIVE: PENDING,
    journal.TX_DONE: PENDING,  # it was included, and the chain reorganised meanwhile
    journal.TX_FAILED: FAILED,
    journal.TX_REPLACED: REPLACED,
}


class EvmLedger(Deployment, Ownership, EvidenceCapture, Anchors):
    """A ledger on an EVM chain; see `Ledger` for what the methods promise."""

    def head(self, brain: bytes) -> LedgerHead | None:
        """Return the last commitment that is in a block, None if the brain was never opened."""
        state = self._read_state(self._contract_view(), self.registry_id(brain))
        return state and LedgerHead(state.seq, state.head, state.owner, state.signer)

    def open(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Make the first commitment of a brain of this account.

        Raises `Conflict` (`already_open`, `pending`), and as `commit` does.
        """
        intent = TxIntent("open", brain, snapshot, NO_PARENT)
        return self._commit_intent(intent, abi.open_calldata(brain, snapshot))

    def commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Commitment:
        """Record `snapshot` after `parent`, which must be the head; see `Ledger.commit`.

        Raises `Conflict` (`stale_parent`, `pending`), `NotFound` (`not_open`),
        `InvalidInput` (`no_key`, `fee_cap`, `unfunded`, `unauthorized`, `no_code`,
        `wrong_code`, `wrong_chain`), `LedgerError` (`reverted`, `replaced`, `refused`).
        """
        intent = TxIntent("commit", brain, snapshot, parent)
        return self._commit_intent(
            intent, abi.commit_calldata(self.registry_id(brain), snapshot, parent)
        )

    def status(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Return how far the last commitment of a snapshot is, by the state of the chain."""
        view = self._contract_view()
        id = self.registry_id(brain)
        state = self._read_state(view, id)
        commitment = state and self._commitment_reader.find(view, brain, id, state, snapshot)
        if state is None or commitment is None:
            return self._unconfirmed_commitment(view, brain, snapshot, state)
        self._check_own_transaction(commitment)
        self._settle_commitment(view, id, state, commitment)
        return commitment

    def history(self, brain: bytes) -> list[Commitment]:
        """Return all commitments that are in blocks; `sender` tells who sent each."""
        view = self._contract_view()
        id = self.registry_id(brain)
        state = self._read_state(view, id)
        if state is None:
            return []
        commitment = self._commitment_reader.history(view, brain, id, state)
        self._settle_commitment(view, id, state, commitment[-1])
        return commitment

    def verify(self) -> list[LedgerFault]:
        """Check that the nodes agree on the pinned chain and have the contract on it."""
        try:
            self._registry.check_code(self._contract_view())
        except BrainError as error:
            return [LedgerFault(error.code, error.message)]
        return []

    def trust_level(self, commitment: Commitment) -> str:
        """Return "L2" for what several nodes call final and is proven here, else "L1"."""
        several = self.config.quorum > 1 and commitment.status == FINALIZED
        proven = (
            several and self._stored_evidence(commitment.brain, commitment.snapshot) is not None
        )
        return "L2" if proven else "L1"

    def quote_open(self, brain: bytes, snapshot: bytes) -> Quote:
        """Return what `open` would cost, and send nothing; raises as it does."""
        return self._quote(abi.open_calldata(brain, snapshot))

    def quote_commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Quote:
        """Return what `commit` would cost, and send nothing; raises as it does."""
        return self._quote(abi.commit_calldata(self.registry_id(brain), snapshot, parent))

    def speed_up(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Offer more for a commitment that waits. Raises `NotFound` (`not_pending`)."""
        sender = self._sender
        with sender.exclusive_lock():
            view = self._contract_view()
            waiting = sender.resend_waiting(view, self._finality_bounds(view).final)
            matching = [one for one in waiting if one.intent[1:3] == (brain, snapshot)]
            if not matching:
                raise NotFound("no commitment of this snapshot waits", code="not_pending")
            record = sender.replace(view, matching[0])
        self._wait_for(record)
        return self.status(brain, snapshot)

    def _commit_intent(self, intent: TxIntent, data: bytes) -> Commitment:
        """Send a commitment, unless the chain has it already, and tell how far it is."""
        sender = self._sender
        record = None
        with sender.exclusive_lock():
            view = self._contract_view()
            state = self._read_state(view, self.registry_id(intent.brain))
            if intent.kind == "open" or not state or state.head != intent.snapshot:
                record = self._send_intent(sender, view, intent, data, state)
        if record is not None:
            self._wait_for(record)
        return self.status(intent.brain, intent.snapshot)

    def _send_intent(
        self,
        sender: TxSender,
        view: QuorumView,
        intent: TxIntent,
        data: bytes,
        state: ContractState | None,
    ) -> TxRecord:
        """Send a commitment, or again the same one if it waits.

        Another one for this brain is in the way, unless it can only fail: then its nonce
        is taken.
        """
        contract, head = self.config.contract, state.head if state else NO_PARENT
        waiting = [
            one
            for one in sender.resend_waiting(view, self._finality_bounds(view).final)
            if (one.to, one.intent.brain) == (contract, intent.brain)
        ]
        for record in waiting:
            if record.intent == intent and intent.parent == head:
                return sender.resend(view, record)
            if record.intent.parent == head:
                raise Conflict(
                    f"the commitment of {record.intent.snapshot.hex()[:12]} is still pending",
                    code="pending",
                    hint="wait until it is included, or offer more for it",
                )
        _refuse_intent(self.name, intent, state)
        for record in waiting:
            sender.abandon(record)
        return sender.send(view, intent, contract, data)

    def _settle_commitment(
        self, view: QuorumView, id: bytes, state: ContractState, commitment: Commitment
    ) -> None:
        """Remember a commitment for good once it is final, and have a proof of it by then."""
        if commitment.status == FINALIZED:
            self._rollback_guard.mark_final(id, commitment.seq)
            self._try_capture(commitment)
        elif commitment.seq == state.seq:
            self._prepare_proof(view, commitment)

    def _check_own_transaction(self, commitment: Commitment) -> None:
        """Hold what the nodes tell of a transaction of ours against what was sent."""
        for address, record in self._own_records(commitment.brain, commitment.snapshot):
            hashes = [one.hash for one in record.attempts]
            sent = (address, record.intent.parent)
            if commitment.transaction in hashes and sent != (commitment.sender, commitment.parent):
                rpc_decode.refuse_answer(
                    "account of our transaction", f"{commitment.sender} {commitment.parent.hex()}"
                )

    def _own_records(self, brain: bytes, snapshot: bytes) -> Iterator[tuple[str, TxRecord]]:
        """Yield the transactions for a snapshot that keys here have sent, with their address."""
        for address in durable_files.list_files(self._chain_folder, ""):
            record = self._journal(address).find_record(brain, snapshot)
            if record is not None and record.to == self.config.contract:
                yield address, record

    def _unconfirmed_commitment(
        self, view: QuorumView, brain: bytes, snapshot: bytes, state: ContractState | None
    ) -> Commitment:
        """Return how far a commitment is that the chain does not show."""
        for address, record in self._own_records(brain, snapshot):
            outcome = self._tx_tracker.find_outcome(record, address, view)
            if record.state == TX_ABANDONED and outcome.state == journal.TX_LIVE:
                continue
            return Commitment(
                self.name,
                self.identity,
                brain,
                (state.seq if state else 0) + 1,
                snapshot,
                record.intent.parent,
                _STATUS_OF_STATE[outcome.state],
                0,
                transaction=record.last_attempt.hash,
                sender=address,
            )
        raise NotFound(
            f"{self.name} holds no commitment of {snapshot.hex()[:12]}", code="not_committed"
        )


def _refuse_intent(ledger: str, intent: TxIntent, state: ContractState | None) -> None:
    """Refuse what the contract would, before it costs anything."""
    if intent.kind == "open":
        if state is not None:
            raise Conflict("the brain was opened in this ledger already", code="already_open")
    elif state is None:
        raise not_open_error(ledger)
    elif state.head != intent.parent:
        raise abi.stale_parent_error(state.head, state.seq)
