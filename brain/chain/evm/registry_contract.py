"""Reads the contract BrainRegistry, at a block on which a quorum of nodes agrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...errors import InvalidInput
from .. import contracts
from ..ledger_protocol import LedgerHead, Offer
from . import abi, rpc_decode
from .events import BrainView
from .evm_config import EvmLedgerConfig
from .node_quorum import NodeQuorum, QuorumView
from .rpc import MAX_BATCH_CALLS, RefusedCall, RpcCall
from .rpc_decode import BlockInfo

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
            lambda answer: rpc_decode.decode_word(answer, "checkpoint"),
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
            rpc_decode.refuse_answer("number of commitments", seq)
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
            return tuple(map(rpc_decode.decode_block, answers))

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
            entries = rpc_decode.decode_array(answer.get("logs"), "log")
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
                int.from_bytes(rpc_decode.decode_word(answer, "commitment"), "big")
                for answer in answers
            )

        found = []
        answers = self._nodes.ask_quorum_many(at.view, read, calls)
        for since, number in zip(answers, numbers, strict=True):
            if since >= number:
                rpc_decode.refuse_answer("commitment before the one that disowned it", since)
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
