"""Reads the contract BrainRegistry at a block on which a quorum of nodes agrees: heads, receipts,
events, the commitments that they are, and proofs of its state.

Nodes limit `eth_getLogs`: many to 10,000 or 1,000 blocks. There, a search for the commitments of
a brain ends at its first one, and a search for anchors at the block that made the contract.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ...errors import InvalidInput, LedgerError, ProofError
from .. import contracts
from ..evidence import evidence_builder, state_proof
from ..ledger_protocol import NO_PARENT, Commitment, LedgerHead, Offer
from . import abi, rpc
from .abi import AnchoredEvent, CommittedEvent
from .evm_config import EvmLedgerConfig
from .nodes import RETRY_PAUSES_SECONDS, NodeQuorum, QuorumView
from .rpc import MAX_BATCH_CALLS, UNAVAILABLE_CODES, BlockInfo, RefusedCall, RpcCall

MAX_REPAIRED_SEQ = 1_000_000
"""The most commitments of a brain among which those that disowned others are looked for."""


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


class DisownedRange(NamedTuple):
    """Commitments `since` to `until`, which commitment `until` + 1 disowned."""

    since: int
    until: int


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
        try:
            code, answer = self._nodes.ask_quorum_many(view, _decode_code_and_state, calls)
        except RefusedCall:
            self.check_code(view)  # another contract refuses a call that it does not know
            raise
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
            lambda answer: rpc.decode_word(answer, "checkpoint"),
            "eth_call",
            question,
            view.tag,
        )

    def read_offer(self, view: QuorumView, id: bytes) -> Offer | None:
        """Return the offer of a brain to another owner, None if there is none."""
        question = {
            "to": self._config.contract,
            "data": "0x" + abi.encode_call(abi.OFFER_OF_SELECTOR, id).hex(),
        }
        return self._nodes.ask_quorum(view, abi.decode_offer, "eth_call", question, view.tag)

    def find_disowned(self, at: BrainView) -> list[DisownedRange]:
        """Return what the owner of a brain disowned, oldest first.

        The state tells it of each commitment; it is read backwards until all repairs are found.
        """
        seq, repairs = (at.head.seq, at.head.repairs) if at.head else (0, 0)
        if seq > MAX_REPAIRED_SEQ:  # a node that made it up would keep this process busy
            rpc.refuse_answer("number of commitments", seq)
        found: list[DisownedRange] = []
        while seq > 1 and len(found) < repairs:
            numbers = range(max(seq - MAX_BATCH_CALLS, 1) + 1, seq + 1)
            found = [*self._read_disowned(at, numbers), *found]
            seq = numbers.start - 1
        return found

    def read_blocks(self, view: QuorumView, numbers: Sequence[int]) -> list[BlockInfo]:
        """Return blocks that are on the chain of the view."""
        calls = [("eth_getBlockByNumber", [hex(number), False]) for number in numbers]

        def read(answers: list[Any]) -> tuple[BlockInfo, ...]:
            return tuple(map(rpc.decode_block, answers))

        return list(self._nodes.ask_quorum_many(view, read, calls)) if calls else []

    def read_receipts(self, view: QuorumView, hashes: Sequence[str]) -> list[TxReceipt | None]:
        """Return the receipts of transactions, None for those in no block."""
        calls = [("eth_getTransactionReceipt", [hash]) for hash in hashes]

        def read(answers: list[Any]) -> tuple[TxReceipt | None, ...]:
            return tuple(map(_decode_tx_receipt, hashes, answers))

        return list(self._nodes.ask_quorum_many(view, read, calls)) if calls else []

    def read_authors(self, view: QuorumView, hash: str) -> list[tuple[bytes, str]]:
        """Return the brains, by their ids, that a transaction committed, each with its author.

        Empty if the transaction is in no block up to the view, or failed.
        """
        contract = self._config.contract

        def read(answer: Any) -> tuple[tuple[bytes, str], ...]:
            receipt = _decode_tx_receipt(hash, answer)
            if receipt is None or not receipt.succeeded or receipt.block > view.block.number:
                return ()
            entries = rpc.decode_array(answer.get("logs"), "log")
            return tuple(filter(None, (abi.decode_author(entry, contract) for entry in entries)))

        return list(self._nodes.ask_quorum(view, read, "eth_getTransactionReceipt", hash))

    def _read_disowned(self, at: BrainView, numbers: Sequence[int]) -> list[DisownedRange]:
        """Return what each of these commitments of a brain disowned."""
        calls: list[RpcCall] = []
        for number in numbers:
            data = abi.encode_call(abi.DISOWNED_BY_SELECTOR, at.id, number)
            call = {"to": self._config.contract, "data": "0x" + data.hex()}
            calls.append(("eth_call", [call, at.view.tag]))

        def read(answers: list[Any]) -> tuple[int, ...]:
            return tuple(
                int.from_bytes(rpc.decode_word(answer, "commitment"), "big") for answer in answers
            )

        found = []
        answers = self._nodes.ask_quorum_many(at.view, read, calls)
        for since, number in zip(answers, numbers, strict=True):
            if since >= number:
                rpc.refuse_answer("commitment before the one that disowned it", since)
            if since:
                found.append(DisownedRange(since, number - 1))
        return found

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


def decode_code(value: Any) -> bytes:
    """Return the code of an account."""
    return rpc.decode_bytes(value, "code")


def _decode_code_and_state(answers: list[Any]) -> tuple[bytes, bytes]:
    return decode_code(answers[0]), rpc.decode_bytes(answers[1], "state of a brain")


def _decode_tx_receipt(hash: str, value: Any) -> TxReceipt | None:
    if value is None:
        return None
    answer = rpc.decode_object(value, "receipt")
    if rpc.decode_hash(answer.get("transactionHash"), "transaction") != hash:
        rpc.refuse_answer("receipt of this transaction", answer.get("transactionHash"))
    status = rpc.decode_uint64(answer.get("status"), "status")
    if status > 1:
        rpc.refuse_answer("status", answer.get("status"))
    return TxReceipt(
        transaction=hash,
        block=rpc.decode_uint64(answer.get("blockNumber"), "block number"),
        block_hash=rpc.decode_hash(answer.get("blockHash"), "block hash"),
        succeeded=status == 1,
        sender=rpc.decode_address(answer.get("from"), "sender"),
        gas=rpc.decode_uint64(answer.get("gasUsed"), "gas"),
        gas_price=rpc.decode_uint256(answer.get("effectiveGasPrice"), "price of gas"),
    )


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
                        rpc.refuse_answer("log entry for the query", event.snapshot.hex())
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
            return tuple(map(decode, rpc.decode_array(value, "log")))

        query = {
            "address": self._config.contract,
            "topics": topics,
            "fromBlock": hex(first),
            "toBlock": hex(last),
        }
        return self._nodes.ask_quorum(view, read, "eth_getLogs", query)


ReadT = TypeVar("ReadT", CommittedEvent, DisownedRange)


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
                    rpc.refuse_answer(f"log of {head.seq} commitments in order", event.seq)
                previous = event.snapshot
            if (len(events), previous) != (head.seq, head.snapshot):
                rpc.refuse_answer("log that leads to the head", previous.hex())

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
                rpc.refuse_answer("log that matches the head", seq)

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
                rpc.refuse_answer("receipt of a commitment", event.transaction)
            if not event.block_hash == block.hash == receipt.block_hash:
                rpc.refuse_answer("block of a commitment", event.block_hash)
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
                rpc.refuse_answer(f"log of {repairs} repairs in order", len(ends))

        return _retry_until_consistent(lambda: self._registry.find_disowned(at), check)


def _disowning_seq(disowned: Sequence[DisownedRange], seq: int) -> int:
    """Return the number of the commitment that first disowned commitment `seq`, 0 for none."""
    return next((each.until + 1 for each in disowned if each.since <= seq <= each.until), 0)


def _retry_until_consistent(
    read_events: Callable[[], list[ReadT]], check: Callable[[Sequence[ReadT]], None]
) -> list[ReadT]:
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


class ProofRequest(NamedTuple):
    """Slots of the contract to prove; `kind` and `address` as in `build_chain_part`."""

    kind: str
    address: str
    slots: Sequence[bytes]


class BlockProofs:
    """Proofs of the storage of one contract."""

    def __init__(self, config: EvmLedgerConfig, nodes: NodeQuorum) -> None:
        self._config = config
        self._nodes = nodes

    def prove(
        self, view: QuorumView, request: ProofRequest, check: Callable[[Mapping[str, Any]], object]
    ) -> dict[str, Any]:
        """Return the field `chain` of evidence at the block of a view, once `check` accepts it.

        `check` raises `ProofError` for a proof that does not hold. Raises `LedgerError`
        (`bad_rpc`, `not_proven`).
        """
        nodes, config = self._nodes, self._config
        block_hash = view.block.hash

        def read_block(fields: Any) -> str:
            header = state_proof.decode_block_header(state_proof.encode_rpc_header(fields))
            if "0x" + header.hash.hex() != block_hash:
                raise LedgerError(
                    "the node returned another block than asked for",
                    code="bad_rpc",
                    hint=state_proof.OTHER_NODE_HINT,
                )
            return json.dumps(fields)

        def read_proof(fields: Any) -> str:
            chain_fields = evidence_builder.build_chain_part(
                config.chain_id,
                config.contract,
                request.kind,
                request.address,
                block_fields,
                fields,
            )
            try:
                check(chain_fields)
            except ProofError as error:
                raise LedgerError(
                    f"the node's proof of storage does not hold: {error}",
                    code="bad_rpc",
                    hint=state_proof.OTHER_NODE_HINT,
                ) from error
            return json.dumps(chain_fields)

        block_fields = json.loads(
            nodes.ask_first(view, read_block, "eth_getBlockByHash", block_hash, False)
        )
        names = ["0x" + slot.hex() for slot in request.slots]
        try:
            text = nodes.ask_first(
                view, read_proof, "eth_getProof", config.contract, names, view.tag
            )
        except LedgerError as error:
            raise not_proven_error(error.message) from error
        proven: dict[str, Any] = json.loads(text)
        return proven


def not_proven_error(reason: str) -> LedgerError:
    """Return the error for a state that no node proves."""
    return LedgerError(
        f"no node proves the state of the contract: {reason}",
        code="not_proven",
        hint="use an archive node, or capture evidence earlier: most nodes prove recent blocks",
    )
