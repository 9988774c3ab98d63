"""The header of a block: what its hash, which pins everything else, is made over.

Forks add fields at the end and never move one (EIP-1559, 4895, 4844 with 4788, 7685),
so what later forks add is taken as it comes: the hash covers it, and nothing reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import LedgerError, ProofError
from . import rlp
from .holds import require
from .keccak import keccak256

MAX_HEADER_BYTES = 16 << 10
"""Some 640 bytes on most chains; some keep their validators in `extraData`."""
MAX_TIME = 253_402_300_799
"""The last second of the year 9999."""

_HASH, _ADDRESS, _BLOOM, _NONCE = 32, 20, 256, 8
_ANY = 0
_NUMBER = -1
_FIELDS = {
    "parentHash": _HASH,
    "sha3Uncles": _HASH,
    "miner": _ADDRESS,
    "stateRoot": _HASH,
    "transactionsRoot": _HASH,
    "receiptsRoot": _HASH,
    "logsBloom": _BLOOM,
    "difficulty": _NUMBER,
    "number": _NUMBER,
    "gasLimit": _NUMBER,
    "gasUsed": _NUMBER,
    "timestamp": _NUMBER,
    "extraData": _ANY,
    "mixHash": _HASH,
    "nonce": _NONCE,
    "baseFeePerGas": _NUMBER,
    "withdrawalsRoot": _HASH,
    "blobGasUsed": _NUMBER,
    "excessBlobGas": _NUMBER,
    "parentBeaconBlockRoot": _HASH,
    "requestsHash": _HASH,
}
"""Fields by the names they have in JSON-RPC, each with its size in bytes."""
_LENGTHS = (15, 16, 17, 20, *range(21, 33))
"""Frontier, London, Shanghai, Cancun, Prague, and what may come."""


class Header(NamedTuple):
    """A block: `time` is in seconds since 1970."""

    hash: bytes
    number: int
    time: int
    state_root: bytes


def decode(data: bytes) -> Header:
    """Return the header that `data` encodes.

    Raises `ProofError` (`bad_rlp`, `bad_header`).
    """
    require(len(data) <= MAX_HEADER_BYTES, "bad_header", f"a header of {len(data)} bytes")
    items = rlp.items(rlp.decode(data))
    require(len(items) in _LENGTHS, "bad_header", f"a header of {len(items)} fields")
    for item, size in zip(items, _FIELDS.values(), strict=False):
        _check(item, size)
    for item in items[len(_FIELDS) :]:
        rlp.string(item)
    fields = dict(zip(_FIELDS, items, strict=False))
    time = rlp.number(fields["timestamp"], 8)
    require(time <= MAX_TIME, "bad_header", "a time past the year 9999")
    return Header(
        keccak256(data),
        rlp.number(fields["number"], 8),
        time,
        rlp.sized(fields["stateRoot"], _HASH),
    )


def from_rpc(block: Mapping[str, Any]) -> bytes:
    """Return the encoded header of a block as a node tells it, by `eth_getBlockBy…`.

    Raises `LedgerError` (`bad_rpc`) if that has not the hash that the node tells.
    """
    try:
        encoded = rlp.encode(
            [
                _from_rpc(block[name], size)
                for name, size in _FIELDS.items()
                if block.get(name) is not None
            ]
        )
        same = "0x" + decode(encoded).hash.hex() == block["hash"]
    except (KeyError, TypeError, ValueError, OverflowError, ProofError) as error:
        raise LedgerError("the node tells no block", code="bad_rpc") from error
    if not same:
        raise LedgerError(
            "the node tells a block that does not have its hash",
            code="bad_rpc",
            hint="its chain may have headers of another kind, of which there is no evidence yet",
        )
    return encoded


def _from_rpc(value: str, size: int) -> bytes:
    if size == _NUMBER:
        return rlp.from_number(int(value, 16))
    return bytes.fromhex(value[2:])


def _check(item: rlp.Item, size: int) -> None:
    if size == _NUMBER:
        rlp.number(item, 32)
    elif size == _ANY:
        rlp.string(item)
    else:
        rlp.sized(item, size)
