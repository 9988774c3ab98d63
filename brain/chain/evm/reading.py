"""Commitments as the chain has them: events held against the state, and how final they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from ...errors import LedgerError
from ..protocol import FINALIZED, INCLUDED, NO_PARENT, SAFE, Commitment
from . import config as configured
from . import wire
from .abi import Event, State
from .config import LedgerConfig
from .nodes import Nodes, View
from .registry import Registry

PAUSES = (0.1, 0.4)
"""Seconds before a node is asked again for events that do not fit the state."""


class Bounds(NamedTuple):
    """The last block that is final, and the last that is safe; -1 where there is none."""

    final: int
    safe: int

    def status(self, block: int) -> str:
        """Return how hard it is to take back what is in a block."""
        if block <= self.final:
            return FINALIZED
        return SAFE if block <= self.safe else INCLUDED


def bounds(config: LedgerConfig, nodes: Nodes, view: View) -> Bounds:
    """Return how far the chain is final, as the ledger is configured to take it."""
    if isinstance(config.finality, int):
        return Bounds(view.block.number - config.finality, -1)
    safe = _number(nodes.view(configured.SAFE), view)
    if config.finality == configured.SAFE:
        return Bounds(safe, safe)
    return Bounds(_number(nodes.view(configured.FINALIZED), view), safe)


def _number(found: View | None, view: View) -> int:
    return min(found.block.number, view.block.number) if found else -1


class Reading:
    """Reads the commitments of brains. Raises what `Nodes` raises."""

    def __init__(self, config: LedgerConfig, nodes: Nodes, registry: Registry) -> None:
        self._config = config
        self._nodes = nodes
        self._registry = registry

    def history(self, view: View, brain: bytes, id: bytes, state: State) -> list[Commitment]:
        """Return all commitments of a brain, which have to lead to its state."""

        def check(events: Sequence[Event]) -> None:
            before = NO_PARENT
            for number, one in enumerate(events, 1):
                if one.seq != number or one.parent != before:
                    wire.refuse(f"log of {state.seq} commitments one after the other", one.seq)
                before = one.snapshot
            if (len(events), before) != (state.seq, state.head):
                wire.refuse("log that leads to the head", before.hex())

        return self.told(view, brain, _fitting(lambda: self._registry.events(view, id), check))

    def find(
        self, view: View, brain: bytes, id: bytes, state: State, snapshot: bytes
    ) -> Commitment | None:
        """Return the last commitment of a snapshot, None if the chain has none."""

        def look() -> Iterable[Event]:  # one is enough, and it is the last one that counts
            return self._registry.events(view, id, snapshot=snapshot, down_to=state.seq)

        def check(events: Sequence[Event]) -> None:
            seq = events[-1].seq if events else 0
            if seq > state.seq or (seq == state.seq) != (snapshot == state.head):
                wire.refuse("log that fits the head", seq)

        events = _fitting(look, check)
        return self.told(view, brain, events[-1:])[0] if events else None

    def told(self, view: View, brain: bytes, events: Sequence[Event]) -> list[Commitment]:
        """Return commitments with what blocks and receipts say of them."""
        if not events:
            return []
        numbers = sorted({one.block for one in events})
        blocks = dict(zip(numbers, self._registry.blocks(view, numbers), strict=True))
        receipts = self._registry.receipts(view, [one.transaction for one in events])
        limits = bounds(self._config, self._nodes, view)
        out = []
        for one, receipt in zip(events, receipts, strict=True):
            block = blocks[one.block]
            if receipt is None or not receipt.good:
                wire.refuse("receipt of a commitment", one.transaction)
            if not one.block_hash == block.hash == receipt.block_hash:
                wire.refuse("block of a commitment", one.block_hash)
            out.append(
                Commitment(
                    ledger=self._config.name,
                    identity=self._config.identity,
                    brain=brain,
                    seq=one.seq,
                    snapshot=one.snapshot,
                    parent=one.parent,
                    status=limits.status(one.block),
                    time=block.time * 1000,
                    block=one.block,
                    transaction=one.transaction,
                    block_hash=one.block_hash,
                    sender=receipt.sender,
                    gas=receipt.gas,
                    fee=receipt.gas * receipt.price,
                )
            )
        return out


def _fitting(
    look: Callable[[], Iterable[Event]], check: Callable[[Sequence[Event]], None]
) -> list[Event]:
    """Return events that fit the state, sorted.

    A node, or one of several behind an address, may have a block's state a moment before
    it finds its events; so it is asked again before it is taken to lie.
    """
    for pause in PAUSES:
        events = sorted(look())
        with suppress(LedgerError):
            check(events)
            return events
        time.sleep(pause)
    events = sorted(look())
    check(events)
    return events
