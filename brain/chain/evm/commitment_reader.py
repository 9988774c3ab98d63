"""Reads commitments from the chain: events, checked against the head, with their finality."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from ...errors import LedgerError
from ..ledger_protocol import NO_PARENT, Commitment
from . import rpc_decode
from .abi import CommittedEvent
from .events import BrainView, EventFinder
from .evm_config import EvmLedgerConfig
from .node_quorum import RETRY_PAUSES_SECONDS, NodeQuorum
from .registry_contract import DisownedRange, RegistryContract

EventT = TypeVar("EventT", CommittedEvent, DisownedRange)


class CommitmentReader:
    """Reads the commitments of brains. Raises what `NodeQuorum` raises."""

    def __init__(
        self,
        config: EvmLedgerConfig,
        nodes: NodeQuorum,
        registry: RegistryContract,
        events: EventFinder,
    ) -> None:
        self._config = config
        self._nodes = nodes
        self._registry = registry
        self._events = events

    def history(self, at: BrainView) -> list[Commitment]:
        """Return all commitments of a brain, oldest first, which must end at its head."""
        head = at.head
        if head is None:
            return []

        def check(events: Sequence[CommittedEvent]) -> None:
            previous = NO_PARENT
            for seq, event in enumerate(events, 1):
                if event.seq != seq or event.parent != previous:
                    rpc_decode.refuse_answer(f"log of {head.seq} commitments in order", event.seq)
                previous = event.snapshot
            if (len(events), previous) != (head.seq, head.snapshot):
                rpc_decode.refuse_answer("log that leads to the head", previous.hex())

        events = _retry_until_consistent(
            lambda: sorted(self._events.find_committed(at), key=_event_order), check
        )
        return self._build_commitments(at, events)

    def find(self, at: BrainView, snapshot: bytes) -> Commitment | None:
        """Return the last commitment of a snapshot, None if the chain has none."""
        head = at.head
        if head is None:
            return None

        def read_events() -> list[CommittedEvent]:  # down to the last one of the snapshot
            found = self._events.find_committed(at, snapshot, down_to=head.seq)
            return sorted(found, key=_event_order)

        def check(events: Sequence[CommittedEvent]) -> None:
            seq = events[-1].seq if events else 0
            if seq > head.seq or (seq == head.seq) != (snapshot == head.snapshot):
                rpc_decode.refuse_answer("log that matches the head", seq)

        events = _retry_until_consistent(read_events, check)
        return self._build_commitments(at, events[-1:])[0] if events else None

    def _build_commitments(
        self, at: BrainView, events: Sequence[CommittedEvent]
    ) -> list[Commitment]:
        """Return commitments with the time, sender and cost from their blocks and receipts."""
        if not events:
            return []
        view = at.view
        numbers = sorted({event.block for event in events})
        blocks = dict(zip(numbers, self._registry.read_blocks(view, numbers), strict=True))
        receipts = self._registry.read_receipts(view, [event.transaction for event in events])
        finality = self._nodes.finality_bounds(view)
        disowned = self._read_disowned(at)
        commitments = []
        for event, receipt in zip(events, receipts, strict=True):
            block = blocks[event.block]
            if receipt is None or not receipt.succeeded:
                rpc_decode.refuse_answer("receipt of a commitment", event.transaction)
            if not event.block_hash == block.hash == receipt.block_hash:
                rpc_decode.refuse_answer("block of a commitment", event.block_hash)
            commitments.append(
                Commitment(
                    ledger=self._config.name,
                    identity=self._config.identity,
                    brain=at.brain,
                    seq=event.seq,
                    snapshot=event.snapshot,
                    parent=event.parent,
                    status=finality.status(event.block),
                    time=block.time * 1000,
                    block=event.block,
                    transaction=event.transaction,
                    block_hash=event.block_hash,
                    sender=receipt.sender,
                    author=event.author,
                    gas=receipt.gas,
                    fee=receipt.fee,
                    disowned_by=_disowning_seq(disowned, event.seq),
                )
            )
        return commitments

    def _read_disowned(self, at: BrainView) -> list[DisownedRange]:
        """Return what was disowned; it is only asked for if the state counts any."""
        seq, repairs = (at.head.seq, at.head.repairs) if at.head else (0, 0)
        if repairs == 0:
            return []

        def check(events: Sequence[DisownedRange]) -> None:
            ends = [event.until for event in events]
            if len(ends) != repairs or ends != sorted({*ends}) or ends[-1] >= seq:
                rpc_decode.refuse_answer(f"log of {repairs} repairs in order", len(ends))

        return _retry_until_consistent(lambda: self._registry.find_disowned(at), check)


def _disowning_seq(disowned: Sequence[DisownedRange], seq: int) -> int:
    """Return the number of the commitment that first disowned commitment `seq`, 0 for none."""
    return next((each.until + 1 for each in disowned if each.since <= seq <= each.until), 0)


def _retry_until_consistent(
    read_events: Callable[[], list[EventT]], check: Callable[[Sequence[EventT]], None]
) -> list[EventT]:
    """Return events that pass the check against the state.

    A node, or one of several behind an address, may have the state of a block a moment
    before its events, so it is asked again before its answer is refused.
    """
    for pause in RETRY_PAUSES_SECONDS:
        events = read_events()
        with suppress(LedgerError):
            check(events)
            return events
        time.sleep(pause)
    events = read_events()
    check(events)
    return events


def _event_order(event: CommittedEvent) -> int:
    return event.seq
