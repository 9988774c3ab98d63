"""Keccak-256 as Ethereum uses it, with the padding from before SHA-3 (FIPS 202).

Own code instead of pycryptodome's, whose import takes longer than hashing all nodes of a file
of evidence here (docs/decisions.md, 17). Many messages are hashed at once: Python's integers have
any length, so one operation works on one lane of all messages. tests/unit/chain/evidence
compares the two. Not for secrets: the time depends on the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
