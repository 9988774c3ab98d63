"""Calldata for BrainRegistry, and decoding of its answers, events and reverts.

All calls consist of words of 32 bytes. Selectors and topics are constants, which
tests/chain/test_evm_abi.py compares with the compiled contract.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ...errors import BrainError, Conflict, InvalidInput, LedgerError
from ..evidence.offline_check import encode_uint256
from ..evidence.state_proof import keccak256
from ..ledger_protocol import LedgerHead, Offer
from . import rpc

ABI_WORD_BYTES = 32
_ADDRESS_HEX = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
ZERO_ADDRESS = "0x" + "00" * 20

OPEN_SELECTOR = bytes.fromhex("be42c1a8")
COMMIT_SELECTOR = bytes.fromhex("e4e5b258")
OFFER_OF_SELECTOR = bytes.fromhex("171966d7")
SET_SIGNER_SELECTOR = bytes.fromhex("ca839c5b")
OFFER_SELECTOR = bytes.fromhex("cae9d9fe")
ACCEPT_SELECTOR = bytes.fromhex("1b4f6c46")
SUPERSEDE_SELECTOR = bytes.fromhex("dc2f39d8")
ANCHOR_SELECTOR = bytes.fromhex("a21f3c6a")
BRAIN_SELECTOR = bytes.fromhex("c2fd2e16")
ANCHOR_OF_SELECTOR = bytes.fromhex("ecbe7ca5")
DISOWNED_BY_SELECTOR = bytes.fromhex("37eeba69")

COMMITTED_TOPIC = "0x83e5a21050c28149f48a38b27f29840c469cdee6532e5fa62a94bb778c11c434"
"""The topic of `Committed(bytes32 indexed, bytes32 indexed, bytes32 indexed, uint64, address)`."""

ANCHORED_TOPIC = "0xb1d5c7988740a31dc57f1b85a7d7c1c10f2009388bc0ee67ef142b5386ea4447"
"""The topic of `Anchored(address indexed, bytes32 indexed, bytes32 indexed)`."""

STALE_PARENT_SELECTOR = bytes.fromhex("753109bd")
UNAUTHORIZED_SELECTOR = bytes.fromhex("82b42900")
EXISTS_SELECTOR = bytes.fromhex("846ec056")
EXPIRED_SELECTOR = bytes.fromhex("203d82d8")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedEvent:
    """The event `Committed` of one commitment; `author` had the right."""

    seq: int
    author: str
    snapshot: bytes
    parent: bytes
    block: int
    block_hash: str
    transaction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchoredEvent:
    """The event `Anchored` of one checkpoint of a log."""

    checkpoint: bytes
    block: int
    transaction: str


def encode_call(selector: bytes, *arguments: bytes | str | int) -> bytes:
    """Return the calldata of a function: ids as they are, addresses and numbers as words."""
    words = [
        argument
        if isinstance(argument, bytes)
        else encode_uint256(int(argument, 16) if isinstance(argument, str) else argument)
        for argument in arguments
    ]
    return selector + b"".join(words)


def decode_state(answer: bytes) -> LedgerHead | None:
    """Return the head of a brain from the answer of `brain(id)`, None if it was never opened."""
    if len(answer) != 6 * ABI_WORD_BYTES:
        rpc.refuse_answer("state of a brain", answer.hex())
    owner, seq_word, snapshot, signer, *counters = (
        answer[at : at + ABI_WORD_BYTES] for at in range(0, len(answer), ABI_WORD_BYTES)
    )
    seq, epoch, repairs = (int.from_bytes(word, "big") for word in (seq_word, *counters))
    if (
        seq >> 64
        or epoch >> 64
        or repairs >> 32
        or any(owner[:12])
        or any(signer[:12])
        or any(owner) != (seq > 0)
    ):
        rpc.refuse_answer("state of a brain", answer.hex())
    if not seq:
        return None
    return LedgerHead(
        seq=seq,
        snapshot=snapshot,
        owner=f"0x{owner[12:].hex()}",
        signer=f"0x{signer[12:].hex()}" if any(signer) else "",
        epoch=epoch,
        repairs=repairs,
    )


def decode_offer(value: Any) -> Offer | None:
    """Return the offer of a brain from the answer of `offerOf(id)`, None if there is none."""
    answer = rpc.decode_bytes(value, "offer of a brain")
    to, ends = answer[:ABI_WORD_BYTES], int.from_bytes(answer[ABI_WORD_BYTES:], "big")
    if len(answer) != 2 * ABI_WORD_BYTES or any(to[:12]) or ends >> 64:
        rpc.refuse_answer("offer of a brain", value)
    return Offer(f"0x{to[12:].hex()}", ends) if any(to) else None


def decode_event(value: Any, contract: str, id: bytes) -> CommittedEvent:
    """Return a commitment from a log entry, which must be of this contract and this brain."""
    answer, topics = _decode_log_entry(value, contract)
    data = rpc.decode_bytes(answer.get("data"), "data of a log entry")
    number, author = data[:ABI_WORD_BYTES], data[ABI_WORD_BYTES:]
    if (
        topics[0].hex() != COMMITTED_TOPIC[2:]
        or topics[1] != id
        or len(author) != ABI_WORD_BYTES
        or any(number[:24])
        or any(author[:12])
    ):
        rpc.refuse_answer("log entry of this brain", value)
    return CommittedEvent(
        seq=int.from_bytes(number, "big"),
        author=f"0x{author[12:].hex()}",
        snapshot=topics[2],
        parent=topics[3],
        block=rpc.decode_uint64(answer.get("blockNumber"), "block number"),
        block_hash=rpc.decode_hash(answer.get("blockHash"), "block hash"),
        transaction=rpc.decode_hash(answer.get("transactionHash"), "transaction"),
    )


def decode_author(value: Any, contract: str) -> tuple[bytes, str] | None:
    """Return the id of a brain and its author from a commitment, None for any other log entry."""
    answer = rpc.decode_object(value, "log entry")
    topics = rpc.decode_array(answer.get("topics"), "topics")
    address = rpc.decode_address(answer.get("address"), "address")
    if address != contract or len(topics) < 2 or topics[0] != COMMITTED_TOPIC:
        return None
    id = rpc.decode_word(topics[1], "topic")
    return id, decode_event(value, contract, id).author


def decode_anchored(value: Any, contract: str, sender: str, log: bytes) -> AnchoredEvent:
    """Return an anchor from a log entry, which must be of this contract, account and log."""
    answer, topics = _decode_log_entry(value, contract)
    named = (ANCHORED_TOPIC[2:], sender[2:].rjust(2 * ABI_WORD_BYTES, "0"), log.hex())
    if tuple(topic.hex() for topic in topics[:3]) != named or answer.get("data") != "0x":
        rpc.refuse_answer("log entry of this log", value)
    return AnchoredEvent(
        checkpoint=topics[3],
        block=rpc.decode_uint64(answer.get("blockNumber"), "block number"),
        transaction=rpc.decode_hash(answer.get("transactionHash"), "transaction"),
    )


def _decode_log_entry(value: Any, contract: str) -> tuple[dict[str, Any], list[bytes]]:
    """Return an entry and its topics, if it is of this contract and not taken back."""
    answer = rpc.decode_object(value, "log entry")
    topics = [
        rpc.decode_word(topic, "topic")
        for topic in rpc.decode_array(answer.get("topics"), "topics")
    ]
    if (
        answer.get("removed", False) is not False
        or rpc.decode_address(answer.get("address"), "address") != contract
        or len(topics) != 4
    ):
        rpc.refuse_answer("log entry of this contract", value)
    return answer, topics


def revert_error(data: bytes, message: str) -> BrainError:
    """Return the error for the data, and the node's message, of a reverted call."""
    selector, rest = data[:4], data[4:]
    if selector == STALE_PARENT_SELECTOR and len(rest) == 2 * ABI_WORD_BYTES:
        return stale_parent_error(
            rest[:ABI_WORD_BYTES], int.from_bytes(rest[ABI_WORD_BYTES:], "big")
        )
    if selector == EXISTS_SELECTOR:
        return Conflict(
            "this account has opened the brain already",
            code="already_open",
            hint="commit after its head, with `brain chain commit`",
        )
    if selector == EXPIRED_SELECTOR:
        return Conflict(
            "the offer has expired",
            code="expired",
            hint="ask the owner for a new one",
        )
    if selector == UNAUTHORIZED_SELECTOR:
        return InvalidInput(
            "this key is neither the owner nor the signer of this brain",
            code="unauthorized",
            hint="use the key of the owner, or let the owner make this one the signer",
        )
    return LedgerError(
        f"the contract refuses the call: {message or data.hex() or 'it gives no reason'}",
        code="reverted",
        hint="check the ledger with `brain chain status`, and try again",
    )


def stale_parent_error(head: bytes, seq: int) -> Conflict:
    """Return the error for a parent that is not the head."""
    return Conflict(
        f"the ledger has the brain at {head.hex()}, commitment {seq}, not at the parent",
        code="stale_parent",
        hint="merge the snapshot of the ledger, and commit the merged snapshot",
    )


def parse_address(text: str) -> str:
    """Return an address in lower case. Raises `InvalidInput` (`bad_address`)."""
    if not _ADDRESS_HEX.fullmatch(text):
        raise InvalidInput(
            f'"{text}" is not the address of an account',
            code="bad_address",
            hint="an address is 0x and 40 hex digits",
        )
    if text[2:] not in (text[2:].lower(), text[2:].upper()) and text != checksum_address(text):
        raise InvalidInput(
            f"{text} is mistyped: its capital letters are not those of its checksum (EIP-55)",
            code="bad_address",
            hint="copy it once more, or write it in lower case if it is right",
        )
    return text.lower()


def checksum_address(address: str) -> str:
    """Return an address with the capital letters of its checksum (EIP-55)."""
    digits = address[2:].lower()
    marks = keccak256(digits.encode()).hex()
    pairs = zip(digits, marks, strict=False)
    return "0x" + "".join(one.upper() if int(mark, 16) > 7 else one for one, mark in pairs)


def parse_account(text: str) -> str:
    """Return an address other than 0 in lower case. Raises as `parse_address`."""
    if parse_address(text) == ZERO_ADDRESS:
        raise InvalidInput(
            "the address 0x0 belongs to nobody, so it cannot own or sign",
            code="bad_address",
            hint="name the address of an account whose key somebody holds",
        )
    return text.lower()
