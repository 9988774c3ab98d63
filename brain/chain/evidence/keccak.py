"""Keccak-256 as Ethereum has it: the padding is that of the submission, not of SHA-3 (FIPS 202).

It stands here in full because a check has to be short: a file of evidence takes some
40 permutations, about 25 ms, where the compiled one of pycryptodome takes 85 ms to
import before it hashes anything (it asks cffi to parse C). tests/unit/chain/evidence
compare the two. Nothing secret is ever hashed with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

_RATE = 136
"""Bytes taken in by one permutation."""
_LANE = 8
_MASK = (1 << 64) - 1


def _constants() -> list[int]:
    """Return what is added in each of the 24 rounds, from the LFSR that defines it."""
    out = []
    register = 1
    for _ in range(24):
        constant = 0
        for power in range(7):
            if register & 1:
                constant |= 1 << (1 << power) - 1
            register = register << 1 ^ (register >> 7) * 0x171
        out.append(constant)
    return out


def _moves() -> list[tuple[int, int, int, int]]:
    """Return for each lane where it comes from, in which column that is, and how it is rotated."""
    out = [(0, 0, 0, 64)] * 25
    x, y = 1, 0
    for step in range(24):
        turn = (step + 1) * (step + 2) // 2 % 64
        source = x + 5 * y
        x, y = y, (2 * x + 3 * y) % 5
        out[x + 5 * y] = (source, source % 5, turn, 64 - turn)
    return out


_CONSTANTS = _constants()
_MOVES = _moves()


@lru_cache(256)
def keccak256(data: bytes) -> bytes:
    """Return the 32 bytes of Keccak-256 over `data`.

    The last ones are kept: nodes near a root stand in the proofs of all slots.
    """
    fill = _RATE - len(data) % _RATE
    padded = data + (b"\x81" if fill == 1 else b"\x01" + bytes(fill - 2) + b"\x80")
    state = [0] * 25
    for start in range(0, len(padded), _RATE):
        for lane in range(_RATE // _LANE):
            at = start + lane * _LANE
            state[lane] ^= int.from_bytes(padded[at : at + _LANE], "little")
        state = _permuted(state)
    return b"".join(lane.to_bytes(_LANE, "little") for lane in state[:4])


def _permuted(lanes: Sequence[int]) -> list[int]:
    """Return the state after Keccak-f[1600]; lane x of row y stands at x + 5y."""
    state = list(lanes)
    for constant in _CONSTANTS:
        rows = state[:5], state[5:10], state[10:15], state[15:20], state[20:]
        parity = [a ^ b ^ c ^ d ^ e for a, b, c, d, e in zip(*rows, strict=True)]
        theta = [
            parity[x - 1] ^ (parity[x - 4] << 1 | parity[x - 4] >> 63) & _MASK for x in range(5)
        ]
        moved = [
            ((lane := state[source] ^ theta[x]) << left | lane >> right) & _MASK
            for source, x, left, right in _MOVES
        ]
        state = []
        for y in range(0, 25, 5):
            a, b, c, d, e = moved[y : y + 5]
            state += a ^ ~b & c, b ^ ~c & d, c ^ ~d & e, d ^ ~e & a, e ^ ~a & b
        state[0] ^= constant
    return state
