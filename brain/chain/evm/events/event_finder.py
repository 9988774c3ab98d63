"""Finds the events of a contract, also on nodes that give those of few blocks at a time.

Commitments of a brain are looked for in this order:

1. In the log, in one query if the nodes allow it.
2. If they do not, in the receipts of the transactions that are known here: those in the
   journals of the user's keys, and those found before.
3. In the log of the last `MAX_SCAN_QUERIES` ranges of blocks.
4. By bisection of the number of commitments at older blocks, one commitment at a time.

Whatever a file here says, a quorum of nodes has to give every event.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ....errors import BrainError, LedgerError
from ...ledger_protocol import LedgerHead
from .. import abi, durable_files, rpc_decode
from ..abi import AnchoredEvent, CommittedEvent
from ..evm_config import EvmLedgerConfig
from ..journal import TxJournals
from ..node_quorum import NodeQuorum, QuorumView
from ..transport import UNAVAILABLE_CODES
from .log_ranges import EventT, LogRanges, TooManyRanges

MAX_SCAN_QUERIES = 64
"""Ranges of blocks to ask for before other ways are tried."""
MAX_BLIND_QUERIES = 2000
"""Ranges of blocks to ask for where there is no other way."""


class BrainView(NamedTuple):
    """A brain in the contract at a block; `head` is None if it was never opened there."""

    brain: bytes
    id: bytes
    view: QuorumView
    head: LedgerHead | None


class EventQuery(NamedTuple):
    """Commitments to look for: all, or those of a snapshot or after a parent.

    The search ends at a commitment that matches and whose number is `down_to` or lower.
    """

    snapshot: bytes = b""
    parent: bytes = b""
    down_to: int = 1

    def matches(self, event: CommittedEvent) -> bool:
        """Tell whether an event is one of those to look for."""
        wanted = (self.snapshot or event.snapshot, self.parent or event.parent)
        return (event.snapshot, event.parent) == wanted


class EventFinder:
    """Finds events of one contract. `folder` holds the transactions found of each brain."""

    def __init__(
        self, config: EvmLedgerConfig, nodes: NodeQuorum, folder: Path, journals: TxJournals
    ) -> None:
        self._config = config
        self._nodes = nodes
        self._ranges = LogRanges(config, nodes)
        self._folder = folder
        self._journals = journals

    def find_committed(self, at: BrainView, query: EventQuery) -> list[CommittedEvent]:
        """Return the commitments of a brain that a query asks for, oldest first."""
        events: list[CommittedEvent] = []
        known: dict[int, CommittedEvent] | None = None
        try:
            # 1. and 3. Scan the log.
            for events_in_range in self._scan_committed(at, query):
                events = [*events_in_range, *events]
                if any(event.seq <= query.down_to for event in events_in_range):
                    break
                if known is None and self._ranges.is_capped(at.view):
                    # 2. Read the receipts of known transactions.
                    known = self._read_known(at)
                    if _has_all(known, at, query):
                        return self._find_by_number(at, query, known)
        except TooManyRanges:
            # 4. Bisect the number of commitments.
            return self._find_by_number(at, query, known or {})
        return events

    def find_anchored(self, view: QuorumView, sender: str, log: bytes) -> list[AnchoredEvent]:
        """Return the anchors of an account and a log up to a block, oldest first.

        All of them; or those of this machine, where the log is too long for its nodes.
        """
        contract = self._config.contract
        account = "0x" + sender[2:].rjust(2 * abi.ABI_WORD_BYTES, "0")
        topics = [abi.ANCHORED_TOPIC, account, "0x" + log.hex()]

        def decode(entry: Any) -> AnchoredEvent:
            return abi.decode_anchored(entry, contract, sender, log)

        known = None
        ranges: list[tuple[AnchoredEvent, ...]] = []
        try:
            for events_in_range in self._ranges.scan(view, topics, decode, MAX_BLIND_QUERIES):
                ranges.insert(0, events_in_range)
                if known is None and self._ranges.is_capped(view):
                    calldata = abi.encode_call(abi.ANCHOR_SELECTOR, log)
                    known = self._read_receipts(
                        view, self._journals.transactions(b"", calldata), topics, decode
                    )
                    if known:
                        return sorted(known, key=lambda event: event.block)
        except TooManyRanges as error:
            raise self._too_narrow_error() from error
        return [event for events_in_range in ranges for event in events_in_range]

    def _scan_committed(
        self, at: BrainView, query: EventQuery
    ) -> Iterator[tuple[CommittedEvent, ...]]:
        words = ["0x" + word.hex() if word else None for word in (query.snapshot, query.parent)]
        topics = [*_topics(at.id), *words]
        for events_in_range in self._ranges.scan(
            at.view, topics, self._decoder(at.id), MAX_SCAN_QUERIES
        ):
            for event in events_in_range:
                if not query.matches(event):
                    rpc_decode.refuse_answer("log entry for the query", event.snapshot.hex())
            yield events_in_range

    def _find_by_number(
        self, at: BrainView, query: EventQuery, found: dict[int, CommittedEvent]
    ) -> list[CommittedEvent]:
        """Return the commitments of a query, from the last one backwards, by their numbers.

        `found` holds those that need not be looked for.
        """
        head_seq = at.head.seq if at.head else 0
        seq_at_block = {at.view.block.number: head_seq}
        events: list[CommittedEvent] = []
        searched: list[str] = []
        try:
            for number in range(head_seq, 0, -1):
                if number not in found:
                    block = self._bisect_block(at, number, seq_at_block)
                    in_block = self._ranges.read_block(
                        at.view, _topics(at.id), self._decoder(at.id), block
                    )
                    found |= {event.seq: event for event in in_block}
                    searched += [event.transaction for event in in_block]
                event = found.get(number)
                if event is None:
                    rpc_decode.refuse_answer("log of commitment", number)
                before = event.block - 1
                seq_at_block[before] = min(number - 1, seq_at_block.get(before, number))
                if query.matches(event):
                    events.insert(0, event)
                    if number <= query.down_to:
                        break
        finally:
            self._remember(at.id, searched)
        return events

    def _bisect_block(self, at: BrainView, number: int, seq_at_block: dict[int, int]) -> int:
        """Return the block of a commitment; `seq_at_block` keeps the answers of nodes."""
        after = min(block for block, seq in seq_at_block.items() if seq >= number)
        before = max(
            (block for block, seq in seq_at_block.items() if seq < number and block < after),
            default=self._config.since - 1,
        )
        while after - before > 1:
            middle = (before + after) // 2
            seq_at_block[middle] = self._read_seq(at, middle)
            if seq_at_block[middle] >= number:
                after = middle
            else:
                before = middle
        return after

    def _read_seq(self, at: BrainView, block: int) -> int:
        """Return how many commitments a brain had at a block."""

        def read(answer: Any) -> int:
            state = rpc_decode.decode_bytes(answer, "state of a brain")
            head = abi.decode_state(state) if state else None
            return head.seq if head else 0

        data = "0x" + abi.encode_call(abi.BRAIN_SELECTOR, at.id).hex()
        call = {"to": self._config.contract, "data": data}
        try:
            return self._nodes.ask_quorum(at.view, read, "eth_call", call, hex(block))
        except LedgerError as error:
            if error.code in UNAVAILABLE_CODES:
                raise
            raise self._too_narrow_error() from error

    def _read_known(self, at: BrainView) -> dict[int, CommittedEvent]:
        """Return the commitments in the receipts of known transactions, by their numbers."""
        known = dict.fromkeys([*self._journals.transactions(at.brain), *self._found_before(at.id)])
        events = self._read_receipts(at.view, [*known], _topics(at.id), self._decoder(at.id))
        return {event.seq: event for event in events}

    def _read_receipts(
        self,
        view: QuorumView,
        transactions: Sequence[str],
        topics: Sequence[str],
        decode: Callable[[Any], EventT],
    ) -> list[EventT]:
        """Return the events with these first topics in the receipts of transactions."""
        contract, last = self._config.contract, view.block.number

        def read(answers: list[Any]) -> tuple[EventT, ...]:
            return tuple(
                decode(entry)
                for transaction, answer in zip(transactions, answers, strict=True)
                for entry in _log_entries(transaction, answer, last)
                if entry.get("address") == contract and entry["topics"][: len(topics)] == topics
            )

        calls = [("eth_getTransactionReceipt", [each]) for each in transactions]
        return [*self._nodes.ask_quorum_many(view, read, calls)] if calls else []

    def _decoder(self, id: bytes) -> Callable[[Any], CommittedEvent]:
        return lambda entry: abi.decode_event(entry, self._config.contract, id)

    def _remember(self, id: bytes, transactions: Iterable[str]) -> None:
        """Store transactions that committed a brain, so that they need not be looked for."""
        known = self._found_before(id)
        added = [each for each in dict.fromkeys(transactions) if each not in known]
        if added:
            with suppress(BrainError):  # a user without write access may still read the ledger
                durable_files.make_private_folder(self._folder)
                durable_files.write_durably(
                    self._file(id), json.dumps([*known, *added]).encode() + b"\n"
                )

    def _found_before(self, id: bytes) -> list[str]:
        content = durable_files.read_if_exists(self._file(id))
        with suppress(ValueError, TypeError, LedgerError):
            return [
                rpc_decode.decode_hash(each, "transaction") for each in json.loads(content or b"[]")
            ]
        return []

    def _file(self, id: bytes) -> Path:
        return self._folder / f"{id.hex()}.json"

    def _too_narrow_error(self) -> LedgerError:
        name = self._config.name
        return LedgerError(
            f"the nodes of {name} give the events of {self._ranges.widest} blocks at a time, and"
            " no old states by which to find those that are needed",
            code="bad_rpc",
            hint="add a node without that limit, or one that keeps old states (an archive node)",
        )


def _topics(id: bytes) -> list[str]:
    """Return the first topics of the commitments of a brain."""
    return [abi.COMMITTED_TOPIC, "0x" + id.hex()]


def _has_all(known: dict[int, CommittedEvent], at: BrainView, query: EventQuery) -> bool:
    """Tell whether known commitments reach from the head down to the end of a query."""
    ends = [seq for seq, event in known.items() if seq <= query.down_to and query.matches(event)]
    head_seq = at.head.seq if at.head else 0
    return all(seq in known for seq in range(max(ends, default=1), head_seq + 1))


def _log_entries(transaction: str, answer: Any, last: int) -> Iterator[dict[str, Any]]:
    """Yield the log entries of a receipt, undecoded, unless its block is after `last`."""
    if answer is None:
        return
    receipt = rpc_decode.decode_object(answer, "receipt")
    if rpc_decode.decode_hash(receipt.get("transactionHash"), "transaction") != transaction:
        rpc_decode.refuse_answer("receipt of this transaction", receipt.get("transactionHash"))
    if rpc_decode.decode_uint64(receipt.get("blockNumber"), "block number") > last:
        return
    for entry in rpc_decode.decode_array(receipt.get("logs"), "log"):
        fields = rpc_decode.decode_object(entry, "log entry")
        rpc_decode.decode_array(fields.get("topics"), "topics")
        yield fields
