"""BrainRegistry on a real node, called by eth-abi with unlocked accounts."""

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import eth_abi.abi
import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_utils.crypto import keccak

from brain.chain import contracts
from tests.support.anvil_node import Anvil, RpcError

ZERO_WORD = bytes(32)
ZERO_ADDRESS = "0x" + "00" * 20
ENOUGH_GAS = hex(500_000)
"""Gas for any call of a test, given so that the node sends also what will revert."""


class ContractEvent(NamedTuple):
    name: str
    fields: tuple[Any, ...]


class BrainHead(NamedTuple):
    """What `brain(id)` returns."""

    owner: str
    seq: int
    head: bytes
    signer: str
    epoch: int = 0
    repairs: int = 0


class Reverted(Exception):
    """The contract refused: `error` is the name and the fields of its error."""

    def __init__(self, data: bytes) -> None:
        entry = next(
            e
            for e in contracts.load_artifact()["abi"]
            if e["type"] == "error" and function_selector(e) == data[:4]
        )
        self.error = (entry["name"], *eth_abi.abi.decode(abi_types(entry), data[4:]))
        super().__init__(self.error)


def abi_types(entry: dict[str, Any], side: str = "inputs") -> list[str]:
    return [field["type"] for field in entry[side]]


def event_topic(entry: dict[str, Any]) -> bytes:
    return keccak(text=f"{entry['name']}({','.join(abi_types(entry))})")


def function_selector(entry: dict[str, Any]) -> bytes:
    return event_topic(entry)[:4]


def function_abi(name: str) -> dict[str, Any]:
    return _find_entry("function", name)


def encode_call(name: str, *values: object) -> bytes:
    """Return the calldata of a function."""
    types = abi_types(function_abi(name))
    return _selector_of("function", name) + eth_abi.abi.encode(types, values)


def encode_static_call(name: str, *values: object) -> bytes:
    """Return the calldata of a function of words, with bytes as its last argument if it has any.

    The same as `encode_call`, for campaigns that need millions of them.
    """
    if abi_types(function_abi(name))[-1] != "bytes":
        return _selector_of("function", name) + encode_words(values)
    *words, tail = values
    assert isinstance(tail, bytes)
    head = encode_words([*words, 32 * len(values), len(tail)])
    return _selector_of("function", name) + head + tail.ljust(-(-len(tail) // 32) * 32, b"\0")


def encode_words(values: Iterable[object]) -> bytes:
    """Return numbers, addresses and words of 32 bytes as the ABI has them, each in a word."""
    return b"".join(map(_encode_word, values))


@cache
def _encode_word(value: object) -> bytes:
    if isinstance(value, int):
        return value.to_bytes(32)
    if isinstance(value, str):
        return bytes.fromhex(value[2:]).rjust(32, b"\0")
    assert isinstance(value, bytes) and len(value) == 32
    return value


def encode_error(name: str, *fields: object) -> bytes:
    """Return what a call that is refused with this error returns."""
    return _selector_of("error", name) + encode_words(fields)


def encode_event(event: ContractEvent) -> tuple[list[bytes], bytes]:
    """Return the topics and the data of an event."""
    entry = _find_entry("event", event.name)
    fields = list(zip(entry["inputs"], event.fields, strict=True))
    topics = [encode_words([value]) for field, value in fields if field["indexed"]]
    data = encode_words(value for field, value in fields if not field["indexed"])
    return [_topic_of(event.name), *topics], data


@cache
def _find_entry(kind: str, name: str) -> dict[str, Any]:
    entries = contracts.load_artifact()["abi"]
    return next(entry for entry in entries if entry["type"] == kind and entry["name"] == name)


@cache
def _topic_of(name: str) -> bytes:
    return event_topic(_find_entry("event", name))


@cache
def _selector_of(kind: str, name: str) -> bytes:
    return function_selector(_find_entry(kind, name))


def decode_event(log: dict[str, Any]) -> ContractEvent:
    """Return the event a log of the contract tells, its fields in the order of the ABI."""
    first, *topics = [bytes.fromhex(word[2:]) for word in log["topics"]]
    entry = next(
        e
        for e in contracts.load_artifact()["abi"]
        if e["type"] == "event" and event_topic(e) == first
    )
    plain = [field["type"] for field in entry["inputs"] if not field["indexed"]]
    values = iter(eth_abi.abi.decode(plain, bytes.fromhex(log["data"][2:])))
    words = iter(topics)
    return ContractEvent(
        entry["name"],
        tuple(
            eth_abi.abi.decode([field["type"]], next(words))[0]
            if field["indexed"]
            else next(values)
            for field in entry["inputs"]
        ),
    )


def wallet_key(name: str) -> LocalAccount:
    """Return a key of the tests; its account has no money."""
    key: LocalAccount = Account.from_key(keccak(text=f"brain test key {name}"))
    return key


def word_of(name: object) -> bytes:
    """Return 32 bytes that stand for a snapshot, a salt or a root."""
    return keccak(text=f"brain test word {name}")


class RegistryContract:
    """A deployed BrainRegistry, or another contract with its interface."""

    def __init__(self, node: Anvil, creation: bytes | None = None) -> None:
        self.node = node
        self.address = node.deploy(creation or contracts.creation_code())

    def call(self, name: str, *values: object, sender: str | None = None) -> tuple[Any, ...]:
        """Return what a function returns, changing nothing. Raises `Reverted`."""
        try:
            answer = self.node.eth_call(self.address, encode_call(name, *values), sender)
        except RpcError as error:
            raise Reverted(bytes.fromhex(error.data[2:])) from None
        return eth_abi.abi.decode(abi_types(function_abi(name), "outputs"), answer)

    def brain(self, brain_id: bytes) -> BrainHead:
        return BrainHead(*self.call("brain", brain_id))

    def send(self, sender: str, name: str, *values: object) -> list[ContractEvent]:
        """Call a function in a transaction; return what it told. Raises `Reverted`."""
        self.call(name, *values, sender=sender)
        receipt = self.node.transact(
            sender, self.address, encode_call(name, *values), gas=ENOUGH_GAS
        )
        assert receipt["status"] == "0x1"
        return [decode_event(log) for log in receipt["logs"]]

    def send_and_expect_revert(self, sender: str, name: str, *values: object) -> tuple[object, ...]:
        """Return why a call is refused, having sent it all the same: it fails and tells nothing."""
        with pytest.raises(Reverted) as raised:
            self.call(name, *values, sender=sender)
        receipt = self.node.transact(
            sender, self.address, encode_call(name, *values), gas=ENOUGH_GAS
        )
        assert (receipt["status"], receipt["logs"]) == ("0x0", [])
        return raised.value.error

    def open_brain(self, owner: str, salt: bytes, snapshot: bytes) -> bytes:
        """Open a brain; return its id."""
        self.send(owner, "open", salt, snapshot)
        brain_id: bytes = self.call("idOf", owner, salt)[0]
        return brain_id
