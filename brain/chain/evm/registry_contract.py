"""Reads the contract BrainRegistry, at a block on which a quorum of nodes agrees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ...errors import InvalidInput, LedgerError
from .. import contracts
from ..ledger_protocol import LedgerHead
from . import abi, rpc_decode
from .abi import AnchoredEvent, CommittedEvent, DisownedEvent
from .evm_config import EvmLedgerConfig
from .node_quorum import NodeQuorum, QuorumView
from .rpc import RpcCall
from .rpc_decode import BlockInfo

EventT = TypeVar("EventT", AnchoredEvent, CommittedEvent, DisownedEvent)

MIN_LOG_RANGE_BLOCKS = 1 << 10
"""Blocks below which a range of the log is not divided any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TxReceipt:
    """The receipt of a transaction that is in a block; `gas_price` in wei."""

    transaction: str
    block: int
    block_hash: str
    succeeded: bool
    sender: str
    gas: int
    gas_price: int

    @property
    def fee(self) -> int:
        """The cost of the transaction, in wei."""
        return self.gas * self.gas_price


class BrainView(NamedTuple):
    """A brain in the contract at a block; `head` is None if it was never opened there."""

    brain: bytes
    id: bytes
    view: QuorumView
    head: LedgerHead | None


class RegistryContract:
    """A deployed BrainRegistry. Raises what `NodeQuorum` raises."""

    def __init__(self, config: EvmLedgerConfig, nodes: NodeQuorum) -> None:
        self._config = config
        self._nodes = nodes

    def check_code(self, view: QuorumView) -> None:
        """Check that the address has the code of BrainRegistry.

        A transaction to an address without code succeeds, and records nothing. Raises
        `InvalidInput` (`no_code`, `wrong_code`).
        """
        code = self._nodes.ask_quorum(
            view, decode_code, "eth_getCode", self._config.contract, view.tag
        )
        self._check_runtime_code(code)

    def read_head(self, view: QuorumView, id: bytes) -> LedgerHead | None:
        """Return the head of a brain, None if it was never opened; raises as `check_code`."""
        contract = self._config.contract
        question = {"to": contract, "data": "0x" + abi.encode_call(abi.BRAIN_SELECTOR, id).hex()}
        calls: list[RpcCall] = [
            ("eth_getCode", [contract, view.tag]),
            ("eth_call", [question, view.tag]),
        ]
        code, answer = self._nodes.ask_quorum_many(view, _decode_code_and_state, calls)
        self._check_runtime_code(code)
        return abi.decode_state(answer)

    def anchored_checkpoint(self, view: QuorumView, account: str, log: bytes) -> bytes:
        """Return the last checkpoint of a log that an account anchored, zero bytes for none."""
        question = {
            "to": self._config.contract,
            "data": "0x" + abi.encode_call(abi.ANCHOR_OF_SELECTOR, account, log).hex(),
        }
        return self._nodes.ask_quorum(
            view,
            lambda answer: rpc_decode.decode_word(answer, "checkpoint"),
            "eth_call",
            question,
            view.tag,
        )

    def offer_end(self, view: QuorumView, id: bytes) -> int:
        """Return the last second since 1970 of the offer of a brain, 0 if it is not offered."""
        question = {
            "to": self._config.contract,
            "data": "0x" + abi.encode_call(abi.OFFER_OF_SELECTOR, id).hex(),
        }
        return self._nodes.ask_quorum(view, abi.decode_offer_end, "eth_call", question, view.tag)

    def simulate_call(self, view: QuorumView, data: bytes) -> None:
        """Simulate a call at a block, and raise the error for the contract's revert."""
        call = {"to": self._config.contract, "data": "0x" + data.hex()}
        refusal = self._nodes.find_refusal(view, "eth_call", call, view.tag)
        if refusal is not None:
            raise abi.revert_error(refusal.data, refusal.message)

    def find_events(
        self,
        at: BrainView,
        *,
        snapshot: bytes = b"",
        parent: bytes = b"",
        down_to: int = 1,
    ) -> list[CommittedEvent]:
        """Return the commitments of a brain, all or those of a snapshot or after a parent.

        Events are read backwards, in as few ranges of blocks as the nodes allow, until
        commitment `down_to` or an earlier one is found.
        """
        words = ["0x" + word.hex() if word else None for word in (snapshot, parent)]
        topics = [abi.COMMITTED_TOPIC, "0x" + at.id.hex(), *words]
        contract = self._config.contract
        events: list[CommittedEvent] = []
        for events_in_range in self._scan_log_ranges(
            at.view, topics, lambda entry: abi.decode_event(entry, contract, at.id)
        ):
            for event in events_in_range:
                expected = (snapshot or event.snapshot, parent or event.parent)
                if (event.snapshot, event.parent) != expected:
                    rpc_decode.refuse_answer("log entry for the query", event.snapshot.hex())
            events = [*events_in_range, *events]
            if any(event.seq <= down_to for event in events_in_range):
                break
        return events

    def find_disowned(self, at: BrainView) -> list[DisownedEvent]:
        """Return what the owner of a brain disowned, oldest first."""
        topics = [abi.DISOWNED_TOPIC, "0x" + at.id.hex()]
        contract, repairs = self._config.contract, at.head.repairs if at.head else 0
        events: list[DisownedEvent] = []
        if repairs == 0:
            return events
        for events_in_range in self._scan_log_ranges(
            at.view, topics, lambda entry: abi.decode_disowned(entry, contract, at.id)
        ):
            events += events_in_range
            if len(events) >= repairs:
                break
        return sorted(events, key=lambda event: event.until)

    def find_anchors(self, view: QuorumView, sender: str, log: bytes) -> list[AnchoredEvent]:
        """Return all anchors of an account and a log up to a block, oldest first."""
        account = "0x" + sender[2:].rjust(2 * abi.ABI_WORD_BYTES, "0")
        topics = [abi.ANCHORED_TOPIC, account, "0x" + log.hex()]
        contract = self._config.contract
        ranges = self._scan_log_ranges(
            view, topics, lambda entry: abi.decode_anchored(entry, contract, sender, log)
        )
        return [event for events_in_range in reversed([*ranges]) for event in events_in_range]

    def read_blocks(self, view: QuorumView, numbers: Sequence[int]) -> list[BlockInfo]:
        """Return blocks that are on the chain of the view."""
        calls = [("eth_getBlockByNumber", [hex(number), False]) for number in numbers]

        def read(answers: list[Any]) -> tuple[BlockInfo, ...]:
            return tuple(map(rpc_decode.decode_block, answers))

        return list(self._nodes.ask_quorum_many(view, read, calls)) if calls else []

    def read_receipts(self, view: QuorumView, hashes: Sequence[str]) -> list[TxReceipt | None]:
        """Return the receipts of transactions, None for those in no block."""
        calls = [("eth_getTransactionReceipt", [hash]) for hash in hashes]

        def read(answers: list[Any]) -> tuple[TxReceipt | None, ...]:
            return tuple(map(_decode_tx_receipt, hashes, answers))

        return list(self._nodes.ask_quorum_many(view, read, calls)) if calls else []

    def _check_runtime_code(self, code: bytes) -> None:
        where = f"{self._config.contract} on chain {self._config.chain_id}"
        if not code:
            raise InvalidInput(
                f"there is no contract at {where}",
                code="no_code",
                hint="check the address, or deploy the contract",
            )
        if code != contracts.runtime_code():
            raise InvalidInput(
                f"the contract at {where} is not BrainRegistry",
                code="wrong_code",
                hint="check the address: only the code itself is trusted",
            )

    def _scan_log_ranges(
        self,
        view: QuorumView,
        topics: Sequence[str | None],
        decode: Callable[[Any], EventT],
    ) -> Iterator[tuple[EventT, ...]]:
        """Yield the events of each range of blocks, newest range first."""

        def read(value: Any) -> tuple[EventT, ...]:
            return tuple(map(decode, rpc_decode.decode_array(value, "log")))

        last = view.block.number
        span = last - self._config.since + 1
        while last >= self._config.since:
            first = max(last - span + 1, self._config.since)
            query = {
                "address": self._config.contract,
                "topics": topics,
                "fromBlock": hex(first),
                "toBlock": hex(last),
            }
            try:
                events_in_range = self._nodes.ask_quorum(view, read, "eth_getLogs", query)
            except LedgerError:
                if span <= MIN_LOG_RANGE_BLOCKS:
                    raise
                # Nodes limit the blocks, or the entries, of one query.
                span = max(span // 8, MIN_LOG_RANGE_BLOCKS)
                continue
            yield events_in_range
            last = first - 1


def decode_code(value: Any) -> bytes:
    """Return the code of an account."""
    return rpc_decode.decode_bytes(value, "code")


def _decode_code_and_state(answers: list[Any]) -> tuple[bytes, bytes]:
    return decode_code(answers[0]), rpc_decode.decode_bytes(answers[1], "state of a brain")


def _decode_tx_receipt(hash: str, value: Any) -> TxReceipt | None:
    if value is None:
        return None
    answer = rpc_decode.decode_object(value, "receipt")
    if rpc_decode.decode_hash(answer.get("transactionHash"), "transaction") != hash:
        rpc_decode.refuse_answer("receipt of this transaction", answer.get("transactionHash"))
    status = rpc_decode.decode_uint64(answer.get("status"), "status")
    if status > 1:
        rpc_decode.refuse_answer("status", answer.get("status"))
    return TxReceipt(
        transaction=hash,
        block=rpc_decode.decode_uint64(answer.get("blockNumber"), "block number"),
        block_hash=rpc_decode.decode_hash(answer.get("blockHash"), "block hash"),
        succeeded=status == 1,
        sender=rpc_decode.decode_address(answer.get("from"), "sender"),
        gas=rpc_decode.decode_uint64(answer.get("gasUsed"), "gas"),
        gas_price=rpc_decode.decode_uint256(answer.get("effectiveGasPrice"), "price of gas"),
    )
