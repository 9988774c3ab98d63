"""Finds the events of a contract, newest first, in ranges of blocks as wide as the nodes allow.

Nodes limit `eth_getLogs`: many to 10,000 or 1,000 blocks. There, a search for the commitments of
a brain ends at its first one, and a search for anchors at the block that made the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from ...errors import LedgerError
from ..ledger_protocol import LedgerHead
from . import abi, rpc_decode
from .abi import AnchoredEvent, CommittedEvent
from .evm_config import EvmLedgerConfig
from .node_quorum import NodeQuorum, QuorumView
from .transport import UNAVAILABLE_CODES

EventT = TypeVar("EventT", bound=Hashable)

RANGE_WIDTHS = (10_000, 5_000, 2_000, 1_000, 500, 100, 50, 10, 5, 1)
"""Blocks of a range to try, each after the nodes refused a wider one."""
MAX_SCAN_QUERIES = 2000
"""Ranges of blocks to ask for at most."""


class BrainView(NamedTuple):
    """A brain in the contract at a block; `head` is None if it was never opened there."""

    brain: bytes
    id: bytes
    view: QuorumView
    head: LedgerHead | None


class EventFinder:
    """Finds events of one contract. Raises what `NodeQuorum` raises."""

    def __init__(self, config: EvmLedgerConfig, nodes: NodeQuorum) -> None:
        self._config = config
        self._nodes = nodes
        self._widest = 1 << 63  # the most blocks that nodes have allowed so far

    def find_committed(
        self, at: BrainView, snapshot: bytes = b"", parent: bytes = b"", down_to: int = 1
    ) -> list[CommittedEvent]:
        """Return the commitments of a brain, all or those of a snapshot or after a parent.

        Oldest first; those before one whose number is `down_to` or lower may be left out.
        """

        def decode(entry: Any) -> CommittedEvent:
            return abi.decode_event(entry, self._config.contract, at.id)

        def matches(event: CommittedEvent) -> bool:
            wanted = (snapshot or event.snapshot, parent or event.parent)
            return (event.snapshot, event.parent) == wanted

        topics = [abi.COMMITTED_TOPIC, "0x" + at.id.hex()]
        words = ["0x" + word.hex() if word else None for word in (snapshot, parent)]
        blocks = self._config.since, at.view.block.number
        if blocks[1] - blocks[0] < self._widest:
            try:
                events = self._read_range(at.view, [*topics, *words], decode, *blocks)
            except LedgerError as error:
                if error.code in UNAVAILABLE_CODES or blocks[0] == blocks[1]:
                    raise
                self._widest = RANGE_WIDTHS[0]
            else:
                for event in events:
                    if not matches(event):
                        rpc_decode.refuse_answer("log entry for the query", event.snapshot.hex())
                return [*events]
        found: list[CommittedEvent] = []
        for events in self._scan(at.view, topics, decode):
            found = [*filter(matches, events), *found]
            if any(event.seq == 1 or (event.seq <= down_to and matches(event)) for event in events):
                break
        return found

    def find_anchored(self, view: QuorumView, sender: str, log: bytes) -> list[AnchoredEvent]:
        """Return the anchors of an account and a log up to a block, oldest first."""
        account = "0x" + sender[2:].rjust(2 * abi.ABI_WORD_BYTES, "0")
        topics = [abi.ANCHORED_TOPIC, account, "0x" + log.hex()]

        def decode(entry: Any) -> AnchoredEvent:
            return abi.decode_anchored(entry, self._config.contract, sender, log)

        ranges = [*self._scan(view, topics, decode)]
        return [event for events in reversed(ranges) for event in events]

    def _scan(
        self, view: QuorumView, topics: Sequence[str | None], decode: Callable[[Any], EventT]
    ) -> Iterator[tuple[EventT, ...]]:
        """Yield the events of each range of blocks, newest range first."""
        last, since = view.block.number, self._config.since
        for _ in range(MAX_SCAN_QUERIES):
            if last < since:
                return
            first = max(last - self._widest + 1, since)
            try:
                events = self._read_range(view, topics, decode, first, last)
            except LedgerError as error:
                # Nodes limit the blocks, or the entries, of one query.
                width = last - first + 1
                if error.code in UNAVAILABLE_CODES or width == 1:
                    raise
                self._widest = next(each for each in RANGE_WIDTHS if each < width)
                continue
            yield events
            last = first - 1
        if last >= since:
            raise LedgerError(
                f"the nodes of {self._config.name} give the events of {self._widest} blocks at a"
                " time, too few to find those that are needed",
                code="bad_rpc",
                hint="add a node without that limit",
            )

    def _read_range(
        self,
        view: QuorumView,
        topics: Sequence[str | None],
        decode: Callable[[Any], EventT],
        first: int,
        last: int,
    ) -> tuple[EventT, ...]:
        def read(value: Any) -> tuple[EventT, ...]:
            return tuple(map(decode, rpc_decode.decode_array(value, "log")))

        query = {
            "address": self._config.contract,
            "topics": topics,
            "fromBlock": hex(first),
            "toBlock": hex(last),
        }
        return self._nodes.ask_quorum(view, read, "eth_getLogs", query)
