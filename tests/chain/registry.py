"""BrainRegistry as the tests drive it: its ABI by eth-abi, on a real node, by unlocked accounts."""

from __future__ import annotations

from typing import Any, NamedTuple

import eth_abi.abi
import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_utils.crypto import keccak

from brain.chain import contracts
from tests.anvil import Anvil, Refused

ZERO = bytes(32)
NOBODY = "0x" + "00" * 20
ENOUGH = hex(500_000)
"""Gas for any call of a test, given so that the node sends also what will revert."""


class Event(NamedTuple):
    name: str
    fields: tuple[Any, ...]


class Head(NamedTuple):
    """What `brain(id)` returns."""

    owner: str
    seq: int
    head: bytes
    signer: str


class Reverted(Exception):
    """The contract refused: `error` is the name and the fields of its error."""

    def __init__(self, data: bytes) -> None:
        entry = next(e for e in contracts.abi() if e["type"] == "error" and sign(e) == data[:4])
        self.error = (entry["name"], *eth_abi.abi.decode(types(entry), data[4:]))
        super().__init__(self.error)


def types(entry: dict[str, Any], side: str = "inputs") -> list[str]:
    return [field["type"] for field in entry[side]]


def topic(entry: dict[str, Any]) -> bytes:
    return keccak(text=f"{entry['name']}({','.join(types(entry))})")


def sign(entry: dict[str, Any]) -> bytes:
    return topic(entry)[:4]


def function(name: str) -> dict[str, Any]:
    return next(e for e in contracts.abi() if e["type"] == "function" and e["name"] == name)


def encoded(name: str, *values: object) -> bytes:
    """Return the calldata of a function."""
    entry = function(name)
    return sign(entry) + eth_abi.abi.encode(types(entry), values)


def event_of(log: dict[str, Any]) -> Event:
    """Return the event a log of the contract tells, its fields in the order of the ABI."""
    first, *topics = [bytes.fromhex(word[2:]) for word in log["topics"]]
    entry = next(e for e in contracts.abi() if e["type"] == "event" and topic(e) == first)
    plain = [field["type"] for field in entry["inputs"] if not field["indexed"]]
    values = iter(eth_abi.abi.decode(plain, bytes.fromhex(log["data"][2:])))
    words = iter(topics)
    return Event(
        entry["name"],
        tuple(
            eth_abi.abi.decode([field["type"]], next(words))[0]
            if field["indexed"]
            else next(values)
            for field in entry["inputs"]
        ),
    )


def wallet(name: str) -> LocalAccount:
    """Return a key of the tests; its account has no money."""
    key: LocalAccount = Account.from_key(keccak(text=f"brain test key {name}"))
    return key


def word(name: object) -> bytes:
    """Return 32 bytes that stand for a snapshot, a salt or a root."""
    return keccak(text=f"brain test word {name}")


class Registry:
    """A deployed BrainRegistry."""

    def __init__(self, node: Anvil) -> None:
        self.node = node
        self.address = node.deploy(contracts.creation())

    def ask(self, name: str, *values: object, sender: str | None = None) -> tuple[Any, ...]:
        """Return what a function returns, changing nothing. Raises `Reverted`."""
        try:
            answer = self.node.read(self.address, encoded(name, *values), sender)
        except Refused as error:
            raise Reverted(bytes.fromhex(error.data[2:])) from None
        return eth_abi.abi.decode(types(function(name), "outputs"), answer)

    def brain(self, brain_id: bytes) -> Head:
        return Head(*self.ask("brain", brain_id))

    def send(self, sender: str, name: str, *values: object) -> list[Event]:
        """Call a function in a transaction; return what it told. Raises `Reverted`."""
        self.ask(name, *values, sender=sender)
        receipt = self.node.transact(sender, self.address, encoded(name, *values), gas=ENOUGH)
        assert receipt["status"] == "0x1"
        return [event_of(log) for log in receipt["logs"]]

    def refuses(self, sender: str, name: str, *values: object) -> tuple[object, ...]:
        """Return why a call is refused, having sent it all the same: it fails and tells nothing."""
        with pytest.raises(Reverted) as raised:
            self.ask(name, *values, sender=sender)
        receipt = self.node.transact(sender, self.address, encoded(name, *values), gas=ENOUGH)
        assert (receipt["status"], receipt["logs"]) == ("0x0", [])
        return raised.value.error

    def opened(self, owner: str, salt: bytes, snapshot: bytes) -> bytes:
        """Open a brain; return its id."""
        self.send(owner, "open", salt, snapshot)
        brain_id: bytes = self.ask("idOf", owner, salt)[0]
        return brain_id
