"""The header of a block: decoding, encoding, and its hash.

Forks append fields and never move one (EIP-1559, 4895, 4844 with 4788, 7685), so unknown
fields of later forks are accepted at the end: the hash covers them, and nothing reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import LedgerError, ProofError
from . import rlp
from .evidence_model import require_evidence
from .keccak import keccak256

OTHER_NODE_HINT = "use another node: `brain config ledger.NAME.rpc URL`"
"""The hint if a node gives a wrong answer."""
MAX_HEADER_BYTES = 16 << 10
"""Most headers have about 640 bytes; some chains list their validators in `extraData`."""
MAX_BLOCK_TIME = 253_402_300_799
"""The last second of the year 9999."""

_HASH_BYTES, _ADDRESS_BYTES, _BLOOM_BYTES, _NONCE_BYTES = 32, 20, 256, 8
_ANY_SIZE = 0
_INTEGER = -1
_HEADER_FIELDS = {
    "parentHash": _HASH_BYTES,
    "sha3Uncles": _HASH_BYTES,
    "miner": _ADDRESS_BYTES,
    "stateRoot": _HASH_BYTES,
    "transactionsRoot": _HASH_BYTES,
    "receiptsRoot": _HASH_BYTES,
    "logsBloom": _BLOOM_BYTES,
    "difficulty": _INTEGER,
    "number": _INTEGER,
    "gasLimit": _INTEGER,
    "gasUsed": _INTEGER,
    "timestamp": _INTEGER,
    "extraData": _ANY_SIZE,
    "mixHash": _HASH_BYTES,
    "nonce": _NONCE_BYTES,
    "baseFeePerGas": _INTEGER,
    "withdrawalsRoot": _HASH_BYTES,
    "blobGasUsed": _INTEGER,
    "excessBlobGas": _INTEGER,
    "parentBeaconBlockRoot": _HASH_BYTES,
    "requestsHash": _HASH_BYTES,
}
"""The size in bytes of each field, by its name in JSON-RPC."""
_FIELD_COUNTS = (15, 16, 17, 20, *range(21, 33))
"""The number of fields since Frontier, London, Shanghai, Cancun, Prague, and later forks."""


class BlockHeader(NamedTuple):
    """A block: `time` is in seconds since 1970."""

    hash: bytes
    number: int
    time: int
    state_root: bytes


def decode_block_header(data: bytes) -> BlockHeader:
    """Return the header that `data` encodes.

    Raises `ProofError` (`bad_rlp`, `bad_header`).
    """
    require_evidence(
        len(data) <= MAX_HEADER_BYTES,
        "bad_header",
        f"the header of its block has {len(data)} bytes",
    )
    items = rlp.read_list(rlp.decode_rlp(data))
    require_evidence(
        len(items) in _FIELD_COUNTS,
        "bad_header",
        f"the header of its block has {len(items)} fields",
    )
    for item, size in zip(items, _HEADER_FIELDS.values(), strict=False):
        _check_field(item, size)
    for item in items[len(_HEADER_FIELDS) :]:
        rlp.read_string(item)
    fields = dict(zip(_HEADER_FIELDS, items, strict=False))
    time = rlp.read_rlp_integer(fields["timestamp"], 8)
    require_evidence(
        time <= MAX_BLOCK_TIME, "bad_header", "the time of its block is past the year 9999"
    )
    return BlockHeader(
        keccak256(data),
        rlp.read_rlp_integer(fields["number"], 8),
        time,
        rlp.read_fixed_string(fields["stateRoot"], _HASH_BYTES),
    )


def encode_rpc_header(block: Mapping[str, Any]) -> bytes:
    """Return the encoded header of a block from the answer of a node to `eth_getBlockBy…`.

    Raises `LedgerError` (`bad_rpc`) if it does not have the hash that the node states.
    """
    try:
        encoded = rlp.encode_rlp(
            [
                _encode_rpc_field(block[name], size)
                for name, size in _HEADER_FIELDS.items()
                if block.get(name) is not None
            ]
        )
        has_stated_hash = "0x" + decode_block_header(encoded).hash.hex() == block["hash"]
    except (KeyError, TypeError, ValueError, OverflowError, ProofError) as error:
        raise LedgerError(
            "the node returned a malformed block", code="bad_rpc", hint=OTHER_NODE_HINT
        ) from error
    if not has_stated_hash:
        raise LedgerError(
            "the node returned a block whose header does not have its hash",
            code="bad_rpc",
            hint="use another node; or the chain has headers that evidence does not support",
        )
    return encoded


def _encode_rpc_field(value: str, size: int) -> bytes:
    if size == _INTEGER:
        return rlp.encode_integer(int(value, 16))
    return bytes.fromhex(value[2:])


def _check_field(item: rlp.RlpItem, size: int) -> None:
    if size == _INTEGER:
        rlp.read_rlp_integer(item, 32)
    elif size == _ANY_SIZE:
        rlp.read_string(item)
    else:
        rlp.read_fixed_string(item, size)
