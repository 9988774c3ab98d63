"""Strict decoding of the JSON-RPC answers of a node, which are untrusted.

Every decoder raises `LedgerError` (`bad_rpc`) for a malformed value. Numbers are below 2^64
and amounts below 2^256, without leading zeros (execution-apis: base types); bytes are hex of
whole bytes in any case; addresses and hashes are returned in lower case.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, NoReturn

from ...errors import LedgerError, printable_text
from ...objects.snapshot import MAX_TIME_MS

MAX_SHOWN_CHARS = 80
OTHER_NODE_HINT = "check that the URL is a node of this chain, or use another node"
_QUANTITY = re.compile(r"0x(?:0|[1-9a-f][0-9a-f]{0,63})", re.ASCII)
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*", re.ASCII)


class BlockInfo(NamedTuple):
    """A block as a node states it; `time` in seconds since 1970, `base_fee` in wei per gas."""

    number: int
    hash: str
    time: int
    base_fee: int


def bad_rpc_error(host: str, what: str) -> LedgerError:
    """Return the error for an invalid answer of a node."""
    return LedgerError(
        f"{host} {what}",
        code="bad_rpc",
        hint=OTHER_NODE_HINT,
    )


def refuse_answer(what: str, value: object) -> NoReturn:
    """Raise for an invalid value in an answer."""
    raise bad_rpc_error(
        "the node", f"returned no valid {what}: {printable_text(repr(value), MAX_SHOWN_CHARS)}"
    )


def decode_uint256(value: Any, what: str) -> int:
    """Return a number below 2^256."""
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value):
        refuse_answer(what, value)
    return int(value, 16)


def decode_uint64(value: Any, what: str) -> int:
    """Return a number below 2^64."""
    number = decode_uint256(value, what)
    if number >> 64:
        refuse_answer(what, value)
    return number


def decode_bytes(value: Any, what: str) -> bytes:
    """Return bytes of any length."""
    if not isinstance(value, str) or not _DATA.fullmatch(value):
        refuse_answer(what, value)
    return bytes.fromhex(value[2:])


def decode_word(value: Any, what: str) -> bytes:
    """Return 32 bytes."""
    word = decode_bytes(value, what)
    if len(word) != 32:
        refuse_answer(what, value)
    return word


def decode_hash(value: Any, what: str) -> str:
    """Return a hash as text in lower case."""
    return "0x" + decode_word(value, what).hex()


def decode_address(value: Any, what: str) -> str:
    """Return an address as text in lower case."""
    address = decode_bytes(value, what)
    if len(address) != 20:
        refuse_answer(what, value)
    return "0x" + address.hex()


def decode_object(value: Any, what: str) -> dict[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        refuse_answer(what, value)
    return value


def decode_array(value: Any, what: str) -> list[Any]:
    """Return a JSON array."""
    if not isinstance(value, list):
        refuse_answer(what, value)
    return value


def decode_block(value: Any) -> BlockInfo:
    """Return a block, of a year up to 9999. Only the first of a chain may have the time 0."""
    fields = decode_object(value, "block")
    block = BlockInfo(
        decode_uint64(fields.get("number"), "block number"),
        decode_hash(fields.get("hash"), "block hash"),
        decode_uint64(fields.get("timestamp"), "block time"),
        decode_uint256(fields.get("baseFeePerGas", "0x0"), "base fee"),
    )
    if block.time * 1000 > MAX_TIME_MS or (block.time == 0 and block.number > 0):
        refuse_answer("block time", fields.get("timestamp"))
    return block
