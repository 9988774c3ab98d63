"""What is said to BrainRegistry and what it says, in the ABI of Solidity, by hand.

It is few calls of words of 32 bytes. Selectors and topics are constants, so that nothing
has to be hashed; tests/chain/test_evm_abi.py holds them against the artifact.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ...errors import BrainError, Conflict, InvalidInput, LedgerError, printable
from ..evidence.registry import brain_id
from . import wire

WORD = 32
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
NOBODY = "0x" + "00" * 20

OPEN = bytes.fromhex("be42c1a8")
COMMIT = bytes.fromhex("e4e5b258")
COMMIT_FOR = bytes.fromhex("93fb286b")
SET_SIGNER = bytes.fromhex("ca839c5b")
OFFER = bytes.fromhex("1858aaba")
ACCEPT = bytes.fromhex("1b4f6c46")
ANCHOR = bytes.fromhex("db2c4aca")
BRAIN = bytes.fromhex("c2fd2e16")
ANCHOR_OF = bytes.fromhex("d3ed9ba6")

COMMITTED = "0x2b0c1171db144f84e324e342e0a68ed805f3a91f7ba5fac6a0a9c72b10069835"
"""The topic of `Committed(bytes32 indexed, bytes32 indexed, bytes32 indexed, uint64)`."""

STALE_PARENT = bytes.fromhex("753109bd")
UNAUTHORIZED = bytes.fromhex("82b42900")
EXISTS = bytes.fromhex("846ec056")
EXPIRED = bytes.fromhex("203d82d8")


class State(NamedTuple):
    """What the registry knows of a brain. Addresses are 0x…, `signer` is "" for nobody."""

    owner: str
    seq: int
    head: bytes
    signer: str


class Event(NamedTuple):
    """One commitment as the log has it."""

    seq: int
    snapshot: bytes
    parent: bytes
    block: int
    block_hash: str
    transaction: str


def id_of(creator: str, brain: bytes) -> bytes:
    """Return the name of a brain in the registry: bound to who opened it, so nobody squats."""
    return brain_id(bytes.fromhex(creator[2:]), brain)


def open_brain(brain: bytes, snapshot: bytes) -> bytes:
    """Return the call that opens a brain of the sender."""
    return OPEN + brain + snapshot


def commit(id: bytes, snapshot: bytes, parent: bytes) -> bytes:
    """Return the call that moves a head, for its owner or signer."""
    return COMMIT + id + snapshot + parent


def commit_for(id: bytes, snapshot: bytes, parent: bytes, deadline: int, signature: bytes) -> bytes:
    """Return the call that moves a head for whoever brings a signature."""
    padded = signature + bytes(-len(signature) % WORD)
    head = id + snapshot + parent + _number(deadline) + _number(5 * WORD)
    return COMMIT_FOR + head + _number(len(signature)) + padded


def set_signer(id: bytes, signer: str) -> bytes:
    """Return the call that names who may commit beside the owner."""
    return SET_SIGNER + id + _address(signer)


def offer(id: bytes, to: str) -> bytes:
    """Return the call that offers a brain."""
    return OFFER + id + _address(to)


def accept(id: bytes) -> bytes:
    """Return the call that takes over an offered brain."""
    return ACCEPT + id


def anchor(root: bytes, size: int) -> bytes:
    """Return the call that anchors the root of a log."""
    return ANCHOR + root + _number(size)


def brain(id: bytes) -> bytes:
    """Return the question that `state` reads the answer of."""
    return BRAIN + id


def anchor_of(account: str) -> bytes:
    """Return the question for the last root an account anchored."""
    return ANCHOR_OF + _address(account)


def state(said: bytes) -> State | None:
    """Return what the registry knows of a brain, None if it was never opened."""
    if len(said) != 4 * WORD:
        wire.refuse("state of a brain", said.hex())
    owner, seq, head, signer = (said[at : at + WORD] for at in range(0, len(said), WORD))
    if int.from_bytes(seq, "big") >> 64 or any(owner[:12]) or any(signer[:12]):
        wire.refuse("state of a brain", said.hex())
    found = State(
        "0x" + owner[12:].hex(),
        int.from_bytes(seq, "big"),
        head,
        "0x" + signer[12:].hex() if any(signer) else "",
    )
    if (found.owner == NOBODY) != (found.seq == 0):
        wire.refuse("state of a brain", said.hex())
    return found if found.seq else None


def event(value: Any, contract: str, id: bytes) -> Event:
    """Return a commitment from the log, which must be of this contract and this brain."""
    said = wire.mapping(value, "log entry")
    topics = [wire.word(one, "topic") for one in wire.items(said.get("topics"), "topics")]
    number = wire.word(said.get("data"), "data of a log entry")
    if (
        said.get("removed", False) is not False
        or wire.address(said.get("address"), "address") != contract
        or len(topics) != 4
        or topics[0].hex() != COMMITTED[2:]
        or topics[1] != id
        or any(number[:24])
    ):
        wire.refuse("log entry of this brain", value)
    return Event(
        int.from_bytes(number, "big"),
        topics[2],
        topics[3],
        wire.number(said.get("blockNumber"), "block number"),
        wire.digest(said.get("blockHash"), "block hash"),
        wire.digest(said.get("transactionHash"), "transaction"),
    )


def reverted(data: bytes, words: str) -> BrainError:
    """Return the error for what a call reverted with."""
    selector, rest = data[:4], data[4:]
    if selector == STALE_PARENT and len(rest) == 2 * WORD:
        return stale(rest[:WORD], int.from_bytes(rest[WORD:], "big"))
    if selector == EXISTS:
        return Conflict("this account has opened the brain already", code="already_open")
    if selector == EXPIRED:
        return Conflict("the authorization has expired", code="expired", hint="ask for a new one")
    if selector == UNAUTHORIZED:
        return InvalidInput(
            "neither the owner nor the signer of this brain",
            code="unauthorized",
            hint="use the key of the owner, or let the owner name this one as the signer",
        )
    return LedgerError(
        f"the contract refuses: {words or data.hex() or 'no reason'}", code="reverted"
    )


def stale(head: bytes, seq: int) -> Conflict:
    """Return the error for a parent that is not the head."""
    return Conflict(
        f"the ledger is at {head.hex()}, commitment {seq}, and not at the parent",
        code="stale_parent",
        hint="merge what the ledger holds, and commit the merged snapshot",
    )


def address(text: str) -> str:
    """Return an address that a user gave, in lower case. Raises `InvalidInput` (`bad_address`)."""
    if not _ADDRESS.fullmatch(text):
        raise InvalidInput(f"not an address: {printable(text)}", code="bad_address")
    return text.lower()


def account(text: str) -> str:
    """Return the address of somebody, as `address` does: that of nobody has no key."""
    if address(text) == NOBODY:
        raise InvalidInput("nobody has the address 0", code="bad_address")
    return text.lower()


def _address(text: str) -> bytes:
    return bytes(12) + bytes.fromhex(text[2:])


def _number(number: int) -> bytes:
    return number.to_bytes(WORD, "big")
