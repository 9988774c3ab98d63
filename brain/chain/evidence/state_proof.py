"""Proofs of the state of a chain: Keccak-256, canonical RLP, block headers, and Merkle-Patricia
proofs of accounts and storage words under the state root of a block.

The trie is Ethereum's (yellow paper, appendix D) with hashed keys of 32 bytes, as for accounts
and storage: no key is a prefix of another, so branches hold no values. A proof lists the nodes
from the root down; each is referenced by its hash in the node before. Nodes shorter than a
hash are embedded in their parent and not listed.

Own code in place of packages, which take longer to import than a whole check.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from ...errors import LedgerError, ProofError
from .evidence_model import INVALID_EVIDENCE_HINT, require_evidence

MAX_CACHED_DIGESTS = 1024
"""Digests in the cache: the proofs of all slots share the nodes near the root."""

_RATE_BYTES = 136
"""Bytes of a message that one permutation absorbs."""
_LANE_BYTES = 8
_LANE_BITS = 8 * _LANE_BYTES
_STATE_WIDTH = 5


def _round_constants() -> list[int]:
    """Return the constants of the 24 rounds, from the LFSR that defines them."""
    constants = []
    register = 1
    for _ in range(24):
        constant = 0
        for power in range(7):
            if register & 1:
                constant |= 1 << (1 << power) - 1
            register = register << 1 ^ (register >> 7) * 0x171
        constants.append(constant)
    return constants


def _lane_moves() -> list[tuple[int, int]]:
    """Return the source lane, and the rotation in bits, of each lane (steps rho and pi)."""
    moves = [(0, 0)] * _STATE_WIDTH**2
    x, y = 1, 0
    for step in range(24):
        source = x + _STATE_WIDTH * y
        x, y = y, (2 * x + 3 * y) % _STATE_WIDTH
        moves[x + _STATE_WIDTH * y] = source, (step + 1) * (step + 2) // 2 % _LANE_BITS
    return moves


_ROUND_CONSTANTS = _round_constants()
_LANE_MOVES = _lane_moves()
_digest_cache: dict[bytes, bytes] = {}


def keccak256(data: bytes) -> bytes:
    """Return the 32 bytes of Keccak-256 over `data`."""
    digest = _digest_cache.get(data)
    if digest is None:
        hash_ahead([data])
        digest = _digest_cache.get(data) or _hash_messages([data])[0]
    return digest


def hash_ahead(messages: Iterable[bytes]) -> None:
    """Hash many messages at once into the cache of `keccak256`."""
    uncached = [message for message in dict.fromkeys(messages) if message not in _digest_cache]
    if len(_digest_cache) + len(uncached) > MAX_CACHED_DIGESTS:
        _digest_cache.clear()
    _digest_cache.update(zip(uncached, _hash_messages(uncached), strict=True))


def _hash_messages(messages: Sequence[bytes]) -> list[bytes]:
    padded = [_pad_message(message) for message in messages]
    digests = [b""] * len(padded)
    permute = _Permutation(len(padded))
    state = [0] * _STATE_WIDTH**2
    for start in range(0, max(map(len, padded), default=0), _RATE_BYTES):
        for lane in range(_RATE_BYTES // _LANE_BYTES):
            at = start + lane * _LANE_BYTES
            taken = [message[at : at + _LANE_BYTES].ljust(_LANE_BYTES, b"\0") for message in padded]
            state[lane] ^= int.from_bytes(b"".join(taken), "little")
        state = permute(state)
        heads = [lane.to_bytes(_LANE_BYTES * len(padded), "little") for lane in state[:4]]
        for index, message in enumerate(padded):
            if len(message) == start + _RATE_BYTES:
                at = index * _LANE_BYTES
                digests[index] = b"".join(head[at : at + _LANE_BYTES] for head in heads)
    return digests


def _pad_message(message: bytes) -> bytes:
    fill = _RATE_BYTES - len(message) % _RATE_BYTES
    return message + (b"\x81" if fill == 1 else b"\x01" + bytes(fill - 2) + b"\x80")


class _Permutation:
    """Keccak-f[1600] of `count` states at once.

    Lane x of row y has the index x + 5y. The lanes at one index of all states form one
    integer, the first state in its lowest bits.
    """

    def __init__(self, count: int) -> None:
        self._lane_units = sum(1 << _LANE_BITS * index for index in range(count))
        self._full_mask = self._lane_units * ((1 << _LANE_BITS) - 1)
        self._constants = [constant * self._lane_units for constant in _ROUND_CONSTANTS]
        self._moves = [
            (source, source % _STATE_WIDTH, *self._rotation_masks(left))
            for source, left in _LANE_MOVES
        ]
        self._rotation_by_one = self._rotation_masks(1)

    def _rotation_masks(self, left: int) -> tuple[int, int, int, int]:
        """Return the shifts to the left and right, and the masks of the bits after each."""
        wrapped_mask = self._lane_units * ((1 << left) - 1)
        return left, _LANE_BITS - left, self._full_mask ^ wrapped_mask, wrapped_mask

    def __call__(self, state: list[int]) -> list[int]:
        full, (left, right, shifted_mask, wrapped_mask) = self._full_mask, self._rotation_by_one
        for constant in self._constants:
            rows = state[:5], state[5:10], state[10:15], state[15:20], state[20:]
            parity = [a ^ b ^ c ^ d ^ e for a, b, c, d, e in zip(*rows, strict=True)]
            turned = [lane << left & shifted_mask | lane >> right & wrapped_mask for lane in parity]
            theta = [parity[x - 1] ^ turned[x - 4] for x in range(5)]
            moved = [
                (lane := state[source] ^ theta[x]) << up & high | lane >> down & low
                for source, x, up, down, high, low in self._moves
            ]
            state = []
            for y in range(0, 25, 5):
                a, b, c, d, e = moved[y : y + 5]
                state += (
                    a ^ (b ^ full) & c,
                    b ^ (c ^ full) & d,
                    c ^ (d ^ full) & e,
                    d ^ (e ^ full) & a,
                    e ^ (a ^ full) & b,
                )
            state[0] ^= constant
        return state


RlpItem = bytes | list["RlpItem"]
"""A decoded item: a byte string, or a list of items."""
RlpValue = bytes | Sequence["RlpValue"]
"""A value to encode: a byte string, or a sequence of values."""

MAX_LIST_DEPTH = 8
"""Nesting of lists; a trie node with the nodes embedded in it has at most 4 levels."""

_MAX_SHORT_BYTES = 55
"""Longest payload whose length is in the first byte."""
_HINT = "it was changed, or made wrongly: do not rely on it, and ask for new evidence"
_STRING_PREFIX, _LIST_PREFIX = 0x80, 0xC0


def decode_rlp(data: bytes) -> RlpItem:
    """Return the one item that `data` encodes.

    Raises `ProofError` (`bad_rlp`): cut short, followed by more, nested too deeply,
    or encoded in another way than the shortest.
    """
    item, end = _decode_item(data, 0, len(data), MAX_LIST_DEPTH)
    if end != len(data):
        _raise_bad_rlp("bytes follow the outer item")
    return item


def _decode_item(data: bytes, at: int, end: int, depth: int) -> tuple[RlpItem, int]:
    """Return the item at `at`, which must not reach past `end`, and where it ends."""
    if at >= end:
        _raise_bad_rlp("an item is missing")
    first = data[at]
    if first < _STRING_PREFIX:
        return data[at : at + 1], at + 1
    kind = _STRING_PREFIX if first < _LIST_PREFIX else _LIST_PREFIX
    start, stop = _payload_span(data, at, end, first - kind)
    if kind == _STRING_PREFIX:
        if stop - start == 1 and data[start] < _STRING_PREFIX:
            _raise_bad_rlp("a single byte has a length prefix")
        return data[start:stop], stop
    if not depth:
        _raise_bad_rlp("its lists are nested too deeply")
    items: list[RlpItem] = []
    while start < stop:
        item, start = _decode_item(data, start, stop, depth - 1)
        items.append(item)
    return items, stop


def _payload_span(data: bytes, at: int, end: int, size: int) -> tuple[int, int]:
    start = at + 1
    if size > _MAX_SHORT_BYTES:
        start += size - _MAX_SHORT_BYTES
        digits = data[at + 1 : start]
        size = int.from_bytes(digits, "big")
        if start > end or digits[0] == 0 or size <= _MAX_SHORT_BYTES:
            _raise_bad_rlp("a length is not in its shortest form")
    if start + size > end:
        _raise_bad_rlp("an item is cut short")
    return start, start + size


def encode_rlp(value: RlpValue) -> bytes:
    """Return the encoding of byte strings in lists."""
    if isinstance(value, bytes):
        if len(value) == 1 and value[0] < _STRING_PREFIX:
            return value
        return _encode_prefix(len(value), _STRING_PREFIX) + value
    body = b"".join(map(encode_rlp, value))
    return _encode_prefix(len(body), _LIST_PREFIX) + body


def _encode_prefix(size: int, kind: int) -> bytes:
    if size <= _MAX_SHORT_BYTES:
        return bytes([kind + size])
    digits = encode_integer(size)
    return bytes([kind + _MAX_SHORT_BYTES + len(digits)]) + digits


def encode_integer(number: int) -> bytes:
    """Return a number as Ethereum encodes it: big-endian, without leading zeros."""
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def read_rlp_integer(item: RlpItem, size: int) -> int:
    """Return an item as a number of at most `size` bytes."""
    digits = read_string(item)
    if len(digits) > size or digits[:1] == b"\0":
        _raise_bad_rlp(f"an item is not a number of at most {size} bytes")
    return int.from_bytes(digits, "big")


def read_string(item: RlpItem) -> bytes:
    """Return an item that is a byte string."""
    if not isinstance(item, bytes):
        _raise_bad_rlp("an item is a list instead of bytes")
    return item


def read_fixed_string(item: RlpItem, size: int) -> bytes:
    """Return an item that is a byte string of `size` bytes."""
    string = read_string(item)
    if len(string) != size:
        _raise_bad_rlp(f"an item has {len(string)} bytes instead of {size}")
    return string


def read_list(item: RlpItem) -> list[RlpItem]:
    """Return the items of a list."""
    if isinstance(item, bytes):
        _raise_bad_rlp("an item is bytes instead of a list")
    return item


def _raise_bad_rlp(reason: str) -> NoReturn:
    raise ProofError(f"the chain's part is not canonical RLP: {reason}", code="bad_rlp", hint=_HINT)


EMPTY_TRIE_ROOT = bytes.fromhex("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")
"""The root of the empty trie; its proofs have no nodes."""
ABSENT_VALUE = b""
"""The value of a key that is not in the trie."""

MAX_TRIE_NODE_BYTES = 1024
"""A branch of 16 hashes has 532 bytes, a leaf with an account about 110."""
MAX_PROOF_NODES = 64
"""Nodes of one proof: one for each half byte of a key."""

_HASH_BYTES = 32
_BRANCH_ITEMS = 17
_ODD_FLAG, _LEAF_FLAG = 1, 2
"""Flags in the first half byte of the path in a node."""


def read_trie_value(root: bytes, name: bytes, proof: Sequence[bytes]) -> bytes:
    """Return the value at the key keccak256(`name`) in the trie of `root`, or `ABSENT_VALUE`.

    Every node of the proof must be needed, in its order. Raises `ProofError`:
    `bad_rlp`, `bad_trie`, `wrong_node`, `missing_node` or `extra_node`.
    """
    small = len(proof) <= MAX_PROOF_NODES and all(
        len(node) <= MAX_TRIE_NODE_BYTES for node in proof
    )
    require_evidence(small, "bad_trie", "its proof of storage has too many or too long nodes")
    nodes = iter(proof)
    value = (
        ABSENT_VALUE
        if root == EMPTY_TRIE_ROOT
        else _walk_to_value(root, keccak256(name).hex(), nodes)
    )
    require_evidence(
        next(nodes, None) is None,
        "extra_node",
        "its proof of storage has a node that it does not need",
    )
    return value


def _walk_to_value(root: bytes, path: str, nodes: Iterator[bytes]) -> bytes:
    """Return the value at `path`, a hex digit for each step, under the node `root`."""
    reference: RlpItem = root
    while True:
        node = _resolve_node(reference, nodes)
        if len(node) == _BRANCH_ITEMS:
            reference, path = _branch_child(node, path), path[1:]
            if reference == b"":
                return ABSENT_VALUE
            continue
        segment, is_leaf = _decode_path(node[0], len(path))
        if not path.startswith(segment):
            return ABSENT_VALUE
        if is_leaf:
            return _leaf_value(node[1])
        reference, path = node[1], path[len(segment) :]


def _resolve_node(reference: RlpItem, nodes: Iterator[bytes]) -> list[RlpItem]:
    """Return the embedded node, or the next node of the proof, which must have the hash."""
    if isinstance(reference, list):
        require_evidence(
            len(encode_rlp(reference)) < _HASH_BYTES,
            "bad_trie",
            "its proof of storage embeds a node of 32 bytes or more",
        )
        return _check_node_items(reference)
    require_evidence(
        len(reference) == _HASH_BYTES,
        "bad_trie",
        "its proof of storage has a reference that is not a hash",
    )
    encoded = next(nodes, None)
    if encoded is None:
        raise ProofError(
            "the proof of storage does not hold: a node of it is missing",
            code="missing_node",
            hint=INVALID_EVIDENCE_HINT,
        )
    require_evidence(
        keccak256(encoded) == reference,
        "wrong_node",
        "a node of its proof of storage has another hash than its reference",
    )
    return _check_node_items(read_list(decode_rlp(encoded)))


def _check_node_items(node: list[RlpItem]) -> list[RlpItem]:
    require_evidence(
        len(node) in (2, _BRANCH_ITEMS),
        "bad_trie",
        f"its proof of storage has a node of {len(node)} items",
    )
    return node


def _branch_child(branch: list[RlpItem], path: str) -> RlpItem:
    require_evidence(
        path and branch[-1] == b"", "bad_trie", "its proof of storage has a branch where keys end"
    )
    return branch[int(path[0], 16)]


def _decode_path(item: RlpItem, remaining: int) -> tuple[str, bool]:
    """Return the path in a leaf or an extension, and whether it is a leaf.

    A leaf covers the `remaining` digits of the key, an extension fewer.
    """
    digits = read_string(item).hex() or "f"
    flags = int(digits[0], 16)
    fill = "" if flags & _ODD_FLAG else "0"
    require_evidence(
        flags <= _ODD_FLAG | _LEAF_FLAG,
        "bad_trie",
        "its proof of storage has a path of no known kind",
    )
    require_evidence(
        digits.startswith(fill, 1),
        "bad_trie",
        "its proof of storage has a path with a non-zero padding digit",
    )
    segment, is_leaf = digits[1 + len(fill) :], bool(flags & _LEAF_FLAG)
    fits = len(segment) == remaining if is_leaf else 0 < len(segment) < remaining
    require_evidence(fits, "bad_trie", "its proof of storage has a path of a wrong length")
    return segment, is_leaf


def _leaf_value(item: RlpItem) -> bytes:
    value = read_string(item)
    require_evidence(value, "bad_trie", "its proof of storage has a leaf without a value")
    return value


WORD_BYTES = 32
"""Bytes of a word of storage, and of a slot number."""
_ACCOUNT_ITEMS = 4


class AccountState(NamedTuple):
    """An account: `balance` is in wei."""

    nonce: int
    balance: int
    storage_root: bytes
    code_hash: bytes


def read_account(state_root: bytes, address: bytes, proof: Sequence[bytes]) -> AccountState:
    """Return the account at `address`, 20 bytes.

    Raises `ProofError`: `no_account` if the proof shows that there is none, `bad_account`,
    and the codes of `read_trie_value`.
    """
    value = read_trie_value(state_root, address, proof)
    require_evidence(value != ABSENT_VALUE, "no_account", "there is no contract at its address")
    items = read_list(decode_rlp(value))
    require_evidence(
        len(items) == _ACCOUNT_ITEMS, "bad_account", f"its account has {len(items)} fields"
    )
    nonce, balance, storage_root, code_hash = items
    return AccountState(
        read_rlp_integer(nonce, 8),
        read_rlp_integer(balance, WORD_BYTES),
        read_fixed_string(storage_root, 32),
        read_fixed_string(code_hash, 32),
    )


def read_storage_word(storage_root: bytes, slot: bytes, proof: Sequence[bytes]) -> bytes:
    """Return the 32 bytes in a slot of an account, zeros if the proof shows that it is unset.

    Raises `ProofError`: the codes of `read_trie_value`.
    """
    value = read_trie_value(storage_root, slot, proof)
    if value == ABSENT_VALUE:
        return bytes(WORD_BYTES)
    # Chains store no zeros; anvil stores one after a call has read an unset slot.
    return read_rlp_integer(decode_rlp(value), WORD_BYTES).to_bytes(WORD_BYTES, "big")


OTHER_NODE_HINT = "use another node: `brain config ledger.NAME.rpc URL`"
"""The hint if a node gives a wrong answer."""
MAX_HEADER_BYTES = 16 << 10
"""Most headers have about 640 bytes; some chains list their validators in `extraData`."""
MAX_BLOCK_TIME = 253_402_300_799
"""The last second of the year 9999."""

_HEADER_HASH_BYTES, _ADDRESS_BYTES, _BLOOM_BYTES, _NONCE_BYTES = 32, 20, 256, 8
_ANY_SIZE = 0
_INTEGER = -1
_HEADER_FIELDS = {
    "parentHash": _HEADER_HASH_BYTES,
    "sha3Uncles": _HEADER_HASH_BYTES,
    "miner": _ADDRESS_BYTES,
    "stateRoot": _HEADER_HASH_BYTES,
    "transactionsRoot": _HEADER_HASH_BYTES,
    "receiptsRoot": _HEADER_HASH_BYTES,
    "logsBloom": _BLOOM_BYTES,
    "difficulty": _INTEGER,
    "number": _INTEGER,
    "gasLimit": _INTEGER,
    "gasUsed": _INTEGER,
    "timestamp": _INTEGER,
    "extraData": _ANY_SIZE,
    "mixHash": _HEADER_HASH_BYTES,
    "nonce": _NONCE_BYTES,
    "baseFeePerGas": _INTEGER,
    "withdrawalsRoot": _HEADER_HASH_BYTES,
    "blobGasUsed": _INTEGER,
    "excessBlobGas": _INTEGER,
    "parentBeaconBlockRoot": _HEADER_HASH_BYTES,
    "requestsHash": _HEADER_HASH_BYTES,
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
    items = read_list(decode_rlp(data))
    require_evidence(
        len(items) in _FIELD_COUNTS,
        "bad_header",
        f"the header of its block has {len(items)} fields",
    )
    for item, size in zip(items, _HEADER_FIELDS.values(), strict=False):
        _check_field(item, size)
    for item in items[len(_HEADER_FIELDS) :]:
        read_string(item)
    fields = dict(zip(_HEADER_FIELDS, items, strict=False))
    time = read_rlp_integer(fields["timestamp"], 8)
    require_evidence(
        time <= MAX_BLOCK_TIME, "bad_header", "the time of its block is past the year 9999"
    )
    return BlockHeader(
        keccak256(data),
        read_rlp_integer(fields["number"], 8),
        time,
        read_fixed_string(fields["stateRoot"], _HEADER_HASH_BYTES),
    )


def encode_rpc_header(block: Mapping[str, Any]) -> bytes:
    """Return the encoded header of a block from the answer of a node to `eth_getBlockBy…`.

    Raises `LedgerError` (`bad_rpc`) if it does not have the hash that the node states.
    """
    try:
        encoded = encode_rlp(
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
        return encode_integer(int(value, 16))
    return bytes.fromhex(value[2:])


def _check_field(item: RlpItem, size: int) -> None:
    if size == _INTEGER:
        read_rlp_integer(item, 32)
    elif size == _ANY_SIZE:
        read_string(item)
    else:
        read_fixed_string(item, size)
