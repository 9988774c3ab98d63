"""Reads the log of a chain backwards, in ranges of blocks as wide as the nodes allow.

Nodes limit `eth_getLogs`: many to 10,000 or 1,000 blocks, some to 10 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar

from ....errors import LedgerError
from .. import rpc_decode
from ..evm_config import EvmLedgerConfig
from ..node_quorum import NodeQuorum, QuorumView
from ..transport import UNAVAILABLE_CODES

EventT = TypeVar("EventT", bound=Hashable)

RANGE_WIDTHS = (10_000, 5_000, 2_000, 1_000, 500, 100, 50, 10, 5, 1)
"""Blocks of a range to try, each after the nodes refused a wider one."""
UNLIMITED = 1 << 63


class TooManyRanges(Exception):
    """A scan took as many queries as it may."""


class LogRanges:
    """The log of one contract. `widest` is the most blocks that nodes have allowed so far."""

    def __init__(self, config: EvmLedgerConfig, nodes: NodeQuorum) -> None:
        self._config = config
        self._nodes = nodes
        self.widest = UNLIMITED

    def is_capped(self, view: QuorumView) -> bool:
        """Tell whether it takes several queries to read the log up to a view."""
        return self.widest <= view.block.number - self._config.since

    def scan(
        self,
        view: QuorumView,
        topics: Sequence[str | None],
        decode: Callable[[Any], EventT],
        most: int,
    ) -> Iterator[tuple[EventT, ...]]:
        """Yield the events of each range of blocks, newest range first.

        Raises `TooManyRanges` after `most` ranges.
        """
        last, since = view.block.number, self._config.since
        for _ in range(most):
            if last < since:
                return
            first, events = self._read_widest(view, topics, decode, last)
            yield events
            last = first - 1
        if last >= since:
            raise TooManyRanges

    def read_block(
        self,
        view: QuorumView,
        topics: Sequence[str | None],
        decode: Callable[[Any], EventT],
        block: int,
    ) -> tuple[EventT, ...]:
        """Return the events of one block."""
        return self._read_range(view, topics, decode, (block, block))

    def _read_widest(
        self,
        view: QuorumView,
        topics: Sequence[str | None],
        decode: Callable[[Any], EventT],
        last: int,
    ) -> tuple[int, tuple[EventT, ...]]:
        """Return the start of the widest range up to a block that nodes give, and its events."""
        blocks = last - self._config.since + 1
        width = min(self.widest, blocks)
        while True:
            first = last - width + 1
            try:
                events = self._read_range(view, topics, decode, (first, last))
            except LedgerError as error:
                # Nodes limit the blocks, or the entries, of one query.
                if error.code in UNAVAILABLE_CODES or width == 1:
                    raise
                width = next(each for each in RANGE_WIDTHS if each < width)
                continue
            if width < blocks:
                self.widest = width
            return first, events

    def _read_range(
        self,
        view: QuorumView,
        topics: Sequence[str | None],
        decode: Callable[[Any], EventT],
        blocks: tuple[int, int],
    ) -> tuple[EventT, ...]:
        def read(value: Any) -> tuple[EventT, ...]:
            return tuple(map(decode, rpc_decode.decode_array(value, "log")))

        query = {
            "address": self._config.contract,
            "topics": topics,
            "fromBlock": hex(blocks[0]),
            "toBlock": hex(blocks[1]),
        }
        return self._nodes.ask_quorum(view, read, "eth_getLogs", query)
