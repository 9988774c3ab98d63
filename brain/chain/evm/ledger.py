"""`EvmLedger`: the ledger protocol over a BrainRegistry on an EVM chain."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import BrainError, Conflict, NotFound
from ..protocol import (
    FAILED,
    FINALIZED,
    NO_PARENT,
    PENDING,
    REPLACED,
    Commitment,
    Fault,
    LedgerHead,
    not_open,
)
from . import abi, files, journal, wire
from .abi import State
from .anchoring import Anchoring
from .capturing import Capturing
from .deploying import Deploying
from .fees import Quote
from .journal import GIVEN_UP, Intent, Record
from .nodes import View
from .owning import Owning
from .sending import Sender

_STATES = {
    journal.LIVE: PENDING,
    journal.DONE: PENDING,  # it was included, and the chain reorganised meanwhile
    journal.FAILED: FAILED,
    journal.REPLACED: REPLACED,
}


class EvmLedger(Deploying, Owning, Capturing, Anchoring):
    """A ledger on an EVM chain; see `Ledger` for what the methods promise."""

    def head(self, brain: bytes) -> LedgerHead | None:
        """Return the last commitment that is in a block, None if the brain was never opened."""
        state = self._state(self._view(), self.id_of(brain))
        return state and LedgerHead(state.seq, state.head, state.owner, state.signer)

    def open(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Make the first commitment of a brain of this account.

        Raises `Conflict` (`already_open`, `pending`), and as `commit` does.
        """
        intent = Intent("open", brain, snapshot, NO_PARENT)
        return self._committed(intent, abi.open_brain(brain, snapshot))

    def commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Commitment:
        """Record `snapshot` after `parent`, which must be the head; see `Ledger.commit`.

        Raises `Conflict` (`stale_parent`, `pending`), `NotFound` (`not_open`),
        `InvalidInput` (`no_key`, `fee_cap`, `unfunded`, `unauthorized`, `no_code`,
        `wrong_code`, `wrong_chain`), `LedgerError` (`reverted`, `replaced`, `refused`).
        """
        intent = Intent("commit", brain, snapshot, parent)
        return self._committed(intent, abi.commit(self.id_of(brain), snapshot, parent))

    def status(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Return how far the last commitment of a snapshot is, by the state of the chain."""
        view = self._view()
        id = self.id_of(brain)
        state = self._state(view, id)
        found = state and self._reading.find(view, brain, id, state, snapshot)
        if state is None or found is None:
            return self._unseen(view, brain, snapshot, state)
        self._compare(found)
        self._settle(view, id, state, found)
        return found

    def history(self, brain: bytes) -> list[Commitment]:
        """Return all commitments that are in blocks; `sender` tells who sent each."""
        view = self._view()
        id = self.id_of(brain)
        state = self._state(view, id)
        if state is None:
            return []
        found = self._reading.history(view, brain, id, state)
        self._settle(view, id, state, found[-1])
        return found

    def verify(self) -> list[Fault]:
        """Check that the nodes agree on the pinned chain and have the contract on it."""
        try:
            self._registry.check_code(self._view())
        except BrainError as error:
            return [Fault(error.code, error.message)]
        return []

    def trust_level(self, commitment: Commitment) -> str:
        """Return "L2" for what several nodes call final and is proven here, else "L1"."""
        several = self.config.quorum > 1 and commitment.status == FINALIZED
        proven = several and self._kept(commitment.brain, commitment.snapshot) is not None
        return "L2" if proven else "L1"

    def quote_open(self, brain: bytes, snapshot: bytes) -> Quote:
        """Return what `open` would cost, and send nothing; raises as it does."""
        return self._quote(abi.open_brain(brain, snapshot))

    def quote_commit(self, brain: bytes, snapshot: bytes, parent: bytes) -> Quote:
        """Return what `commit` would cost, and send nothing; raises as it does."""
        return self._quote(abi.commit(self.id_of(brain), snapshot, parent))

    def speed_up(self, brain: bytes, snapshot: bytes) -> Commitment:
        """Offer more for a commitment that waits. Raises `NotFound` (`not_pending`)."""
        sender = self._sender
        with sender.alone():
            view = self._view()
            live = sender.live(view, self._bounds(view).final)
            same = [one for one in live if one.intent[1:3] == (brain, snapshot)]
            if not same:
                raise NotFound("no commitment of this snapshot waits", code="not_pending")
            record = sender.replace(view, same[0])
        self._awaited(record)
        return self.status(brain, snapshot)

    def _committed(self, intent: Intent, data: bytes) -> Commitment:
        """Send a commitment, unless the chain has it already, and tell how far it is."""
        sender = self._sender
        record = None
        with sender.alone():
            view = self._view()
            state = self._state(view, self.id_of(intent.brain))
            if intent.kind == "open" or not state or state.head != intent.snapshot:
                record = self._put(sender, view, intent, data, state)
        if record is not None:
            self._awaited(record)
        return self.status(intent.brain, intent.snapshot)

    def _put(
        self, sender: Sender, view: View, intent: Intent, data: bytes, state: State | None
    ) -> Record:
        """Send a commitment, or again the same one if it waits.

        Another one for this brain is in the way, unless it can only fail: then its nonce
        is taken.
        """
        contract, head = self.config.contract, state.head if state else NO_PARENT
        live = [
            one
            for one in sender.live(view, self._bounds(view).final)
            if (one.to, one.intent.brain) == (contract, intent.brain)
        ]
        for record in live:
            if record.intent == intent and intent.parent == head:
                return sender.again(view, record)
            if record.intent.parent == head:
                raise Conflict(
                    f"the commitment of {record.intent.snapshot.hex()[:12]} is still pending",
                    code="pending",
                    hint="wait until it is included, or offer more for it",
                )
        _refuse(self.name, intent, state)
        for record in live:
            sender.give_up(record)
        return sender.send(view, intent, contract, data)

    def _settle(self, view: View, id: bytes, state: State, found: Commitment) -> None:
        """Remember a commitment for good once it is final, and have a proof of it by then."""
        if found.status == FINALIZED:
            self._memory.settle(id, found.seq)
            self._capture(found)
        elif found.seq == state.seq:
            self._prepare(view, found)

    def _compare(self, found: Commitment) -> None:
        """Hold what the nodes tell of a transaction of ours against what was sent."""
        for address, record in self._records(found.brain, found.snapshot):
            hashes = [one.hash for one in record.attempts]
            sent = (address, record.intent.parent)
            if found.transaction in hashes and sent != (found.sender, found.parent):
                wire.refuse("account of our transaction", f"{found.sender} {found.parent.hex()}")

    def _records(self, brain: bytes, snapshot: bytes) -> Iterator[tuple[str, Record]]:
        """Yield the transactions for a snapshot that keys here have sent, with their address."""
        for address in files.names(self._keys, ""):
            record = self._journal(address).about(brain, snapshot)
            if record is not None and record.to == self.config.contract:
                yield address, record

    def _unseen(self, view: View, brain: bytes, snapshot: bytes, state: State | None) -> Commitment:
        """Return how far a commitment is that the chain does not show."""
        for address, record in self._records(brain, snapshot):
            outcome = self._watch.outcome(record, address, view)
            if record.state == GIVEN_UP and outcome.state == journal.LIVE:
                continue
            return Commitment(
                self.name,
                self.identity,
                brain,
                (state.seq if state else 0) + 1,
                snapshot,
                record.intent.parent,
                _STATES[outcome.state],
                0,
                transaction=record.last.hash,
                sender=address,
            )
        raise NotFound(
            f"{self.name} holds no commitment of {snapshot.hex()[:12]}", code="not_committed"
        )


def _refuse(ledger: str, intent: Intent, state: State | None) -> None:
    """Refuse what the contract would, before it costs anything."""
    if intent.kind == "open":
        if state is not None:
            raise Conflict("the brain was opened in this ledger already", code="already_open")
    elif state is None:
        raise not_open(ledger)
    elif state.head != intent.parent:
        raise abi.stale(state.head, state.seq)
