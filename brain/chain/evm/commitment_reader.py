"""Reads commitments from the chain: events checked against the state, and their finality."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from ...errors import LedgerError
from ..ledger_protocol import FINALIZED, INCLUDED, NO_PARENT, SAFE, Commitment
from . import evm_config as configured
from . import rpc_decode
from .abi import CommittedEvent, ContractState
from .evm_config import EvmLedgerConfig
from .node_quorum import NodeQuorum, QuorumView
from .registry_contract import RegistryContract

RETRY_PAUSES_SECONDS = (0.1, 0.4)
"""Seconds before a node is asked again for events that do not fit the state."""


class FinalityBounds(NamedTuple):
    """The last block that is final, and the last that is safe; -1 where there is none."""

    final: int
    safe: int

    def status(self, block: int) -> str:
        """Return how hard it is to take back what is in a block."""
        if block <= self.final:
            return FINALIZED
        return SAFE if block <= self.safe else INCLUDED


def finality_bounds(config: EvmLedgerConfig, nodes: NodeQuorum, view: QuorumView) -> FinalityBounds:
    """Return how far the chain is final, as the ledger is configured to take it."""
    if isinstance(config.finality, int):
        return FinalityBounds(view.block.number - config.finality, -1)
    safe = _block_number(nodes.view_at_tag(configured.SAFE_TAG), view)
    if config.finality == configured.SAFE_TAG:
        return FinalityBounds(safe, safe)
    return FinalityBounds(_block_number(nodes.view_at_tag(configured.FINALIZED_TAG), view), safe)


def _block_number(found: QuorumView | None, view: QuorumView) -> int:
    return min(found.block.number, view.block.number) if found else -1


class CommitmentReader:
    """Reads the commitments of brains. Raises what `Nodes` raises."""

    def __init__(
        self, config: EvmLedgerConfig, nodes: NodeQuorum, registry: RegistryContract
    ) -> None:
        self._config = config
        self._nodes = nodes
        self._registry = registry

    def history(
        self, view: QuorumView, brain: bytes, id: bytes, state: ContractState
    ) -> list[Commitment]:
        """Return all commitments of a brain, which have to lead to its state."""

        def check(events: Sequence[CommittedEvent]) -> None:
            before = NO_PARENT
            for number, event in enumerate(events, 1):
                if event.seq != number or event.parent != before:
                    rpc_decode.refuse_answer(
                        f"log of {state.seq} commitments one after the other", event.seq
                    )
                before = event.snapshot
            if (len(events), before) != (state.seq, state.head):
                rpc_decode.refuse_answer("log that leads to the head", before.hex())

        return self.build_commitments(
            view,
            brain,
            _retry_until_consistent(lambda: self._registry.find_events(view, id), check),
        )

    def find(
        self, view: QuorumView, brain: bytes, id: bytes, state: ContractState, snapshot: bytes
    ) -> Commitment | None:
        """Return the last commitment of a snapshot, None if the chain has none."""

        def look() -> Iterable[CommittedEvent]:  # one is enough, and it is the last one that counts
            return self._registry.find_events(view, id, snapshot=snapshot, down_to=state.seq)

        def check(events: Sequence[CommittedEvent]) -> None:
            seq = events[-1].seq if events else 0
            if seq > state.seq or (seq == state.seq) != (snapshot == state.head):
                rpc_decode.refuse_answer("log that fits the head", seq)

        events = _retry_until_consistent(look, check)
        return self.build_commitments(view, brain, events[-1:])[0] if events else None

    def build_commitments(
        self, view: QuorumView, brain: bytes, events: Sequence[CommittedEvent]
    ) -> list[Commitment]:
        """Return commitments with what blocks and receipts say of them."""
        if not events:
            return []
        numbers = sorted({event.block for event in events})
        blocks = dict(zip(numbers, self._registry.read_blocks(view, numbers), strict=True))
        receipts = self._registry.read_receipts(view, [event.transaction for event in events])
        finality = finality_bounds(self._config, self._nodes, view)
        out = []
        for event, receipt in zip(events, receipts, strict=True):
            block = blocks[event.block]
            if receipt is None or not receipt.succeeded:
                rpc_decode.refuse_answer("receipt of a commitment", event.transaction)
            if not event.block_hash == block.hash == receipt.block_hash:
                rpc_decode.refuse_answer("block of a commitment", event.block_hash)
            out.append(
                Commitment(
                    ledger=self._config.name,
                    identity=self._config.identity,
                    brain=brain,
                    seq=event.seq,
                    snapshot=event.snapshot,
                    parent=event.parent,
                    status=finality.status(event.block),
                    time=block.time * 1000,
                    block=event.block,
                    transaction=event.transaction,
                    block_hash=event.block_hash,
                    sender=receipt.sender,
                    gas=receipt.gas,
                    fee=receipt.gas * receipt.gas_price,
                )
            )
        return out


def _retry_until_consistent(
    look: Callable[[], Iterable[CommittedEvent]], check: Callable[[Sequence[CommittedEvent]], None]
) -> list[CommittedEvent]:
    """Return events that fit the state, sorted.

    A node, or one of several behind an address, may have a block's state a moment before
    it finds its events; so it is asked again before it is taken to lie.
    """
    for pause in RETRY_PAUSES_SECONDS:
        events = sorted(look())
        with suppress(LedgerError):
            check(events)
            return events
        time.sleep(pause)
    events = sorted(look())
    check(events)
    return events
