"""The contract as it is read, always at a block on which the nodes agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...errors import InvalidInput, LedgerError
from .. import contracts
from . import abi, wire
from .abi import Event, State
from .config import LedgerConfig
from .nodes import Nodes, View
from .rpc import Call, Refusal
from .wire import Block

NARROWEST = 1 << 10
"""Blocks below which a range of the log is not halved any more."""


class Receipt(NamedTuple):
    """What became of a transaction that is in a block; `price` in wei per gas."""

    transaction: str
    block: int
    block_hash: str
    good: bool
    sender: str
    gas: int
    price: int


class Registry:
    """A deployed BrainRegistry. Raises what `Nodes` raises."""

    def __init__(self, config: LedgerConfig, nodes: Nodes) -> None:
        self._config = config
        self._nodes = nodes

    def check_code(self, view: View) -> None:
        """Raise `InvalidInput` (`no_code`, `wrong_code`) unless the contract is where it should be.

        A transaction to an address without code succeeds, and records nothing.
        """
        code = self._nodes.agreed(view, _code, "eth_getCode", self._config.contract, view.tag)
        self._check(code)

    def state(self, view: View, id: bytes) -> State | None:
        """Return what the contract knows of a brain, and check its code by the way."""
        contract = self._config.contract
        question = {"to": contract, "data": "0x" + abi.brain(id).hex()}
        calls: list[Call] = [
            ("eth_getCode", [contract, view.tag]),
            ("eth_call", [question, view.tag]),
        ]
        code, said = self._nodes.agreed_all(view, _code_and_state, calls)
        self._check(code)
        return abi.state(said)

    def anchored(self, view: View, account: str) -> bytes:
        """Return the last root that an account anchored, 32 zero bytes if it never did."""
        question = {"to": self._config.contract, "data": "0x" + abi.anchor_of(account).hex()}
        return self._nodes.agreed(
            view, lambda said: wire.word(said, "root"), "eth_call", question, view.tag
        )

    def rehearse(self, view: View, data: bytes) -> None:
        """Make a call that changes nothing, and raise what the contract reverts with."""
        call = {"to": self._config.contract, "data": "0x" + data.hex()}
        said = self._nodes.openly(view, "eth_call", call, view.tag)
        if isinstance(said, Refusal):
            raise abi.reverted(said.data, said.words)

    def events(
        self, view: View, id: bytes, *, snapshot: bytes = b"", parent: bytes = b"", down_to: int = 1
    ) -> list[Event]:
        """Return the commitments of a brain, or those of a snapshot or after a parent.

        The log is read backwards, in as few ranges as the nodes allow, until commitment
        `down_to` or one before it is found.
        """
        words = [None if not word else "0x" + word.hex() for word in (snapshot, parent)]
        found: list[Event] = []
        for some in self._ranges(view, [abi.COMMITTED, "0x" + id.hex(), *words], id):
            for one in some:
                wanted = (snapshot or one.snapshot, parent or one.parent)
                if (one.snapshot, one.parent) != wanted:
                    wire.refuse("log entry of what was asked for", one.snapshot.hex())
            found = [*some, *found]
            if any(one.seq <= down_to for one in some):
                break
        return found

    def blocks(self, view: View, numbers: Sequence[int]) -> list[Block]:
        """Return blocks that are on the chain of the view."""
        calls = [("eth_getBlockByNumber", [hex(one), False]) for one in numbers]

        def read(answers: list[Any]) -> tuple[Block, ...]:
            return tuple(map(wire.block, answers))

        return list(self._nodes.agreed_all(view, read, calls)) if calls else []

    def receipts(self, view: View, hashes: Sequence[str]) -> list[Receipt | None]:
        """Return the receipts of transactions, None for those in no block."""
        calls = [("eth_getTransactionReceipt", [one]) for one in hashes]

        def read(answers: list[Any]) -> tuple[Receipt | None, ...]:
            return tuple(map(receipt, hashes, answers))

        return list(self._nodes.agreed_all(view, read, calls)) if calls else []

    def _check(self, code: bytes) -> None:
        where = f"{self._config.contract} on chain {self._config.chain_id}"
        if not code:
            raise InvalidInput(
                f"there is no contract at {where}",
                code="no_code",
                hint="check the address, or deploy the contract",
            )
        if code != contracts.runtime():
            raise InvalidInput(
                f"another contract than BrainRegistry is at {where}",
                code="wrong_code",
                hint="check the address: only the code itself is trusted",
            )

    def _ranges(
        self, view: View, topics: list[str | None], id: bytes
    ) -> Iterator[tuple[Event, ...]]:
        """Yield the entries of the log range by range, the last one first."""

        def read(value: Any) -> tuple[Event, ...]:
            entries = wire.items(value, "log")
            return tuple(abi.event(one, self._config.contract, id) for one in entries)

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
                some = self._nodes.agreed(view, read, "eth_getLogs", query)
            except LedgerError:
                if span <= NARROWEST:
                    raise
                span = max(span // 8, NARROWEST)  # nodes limit how far, or how much, they look
                continue
            yield some
            last = first - 1


def _code(value: Any) -> bytes:
    return wire.data(value, "code")


def _code_and_state(answers: list[Any]) -> tuple[bytes, bytes]:
    return _code(answers[0]), wire.data(answers[1], "state of a brain")


def receipt(hash: str, value: Any) -> Receipt | None:
    """Return what became of a transaction, None if it is in no block."""
    if value is None:
        return None
    said = wire.mapping(value, "receipt")
    if wire.digest(said.get("transactionHash"), "transaction") != hash:
        wire.refuse("receipt of this transaction", said.get("transactionHash"))
    status = wire.number(said.get("status"), "status")
    if status > 1:
        wire.refuse("status", said.get("status"))
    return Receipt(
        hash,
        wire.number(said.get("blockNumber"), "block number"),
        wire.digest(said.get("blockHash"), "block hash"),
        status == 1,
        wire.address(said.get("from"), "sender"),
        wire.number(said.get("gasUsed"), "gas"),
        wire.amount(said.get("effectiveGasPrice"), "price of gas"),
    )
