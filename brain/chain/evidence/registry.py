"""Where BrainRegistry keeps what: the slots of a brain, and that of an anchor.

The layout is that of contracts/BrainRegistry.sol and the same at every address:
slot 0 maps ids to brains, slot 1 senders to the root they anchored last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .account import WORD
from .holds import require
from .keccak import keccak256

ADDRESS = 20
"""Bytes of an address."""

_BRAINS, _ANCHORS = 0, 1


class Head(NamedTuple):
    """What a contract holds of a brain; `signer` is 20 zeros where there is none."""

    owner: bytes
    seq: int
    snapshot: bytes
    signer: bytes


def brain_id(creator: bytes, brain: bytes) -> bytes:
    """Return the id under which the account `creator` has opened `brain`.

    It names the creator, so that nobody can open a brain in another's place.
    """
    return keccak256(_padded(creator) + brain)


def brain_slots(id: bytes) -> list[bytes]:
    """Return the slots of a brain: of owner and seq, of its head, of its signer."""
    first = int.from_bytes(keccak256(id + _number(_BRAINS)), "big")
    return [_number((first + place) % (1 << 8 * WORD)) for place in range(3)]


def anchor_slot(sender: bytes) -> bytes:
    """Return the slot of the root that `sender` anchored last."""
    return keccak256(_padded(sender) + _number(_ANCHORS))


def head(words: Sequence[bytes]) -> Head:
    """Return what the words in `brain_slots` say. Raises `ProofError` (`no_head`)."""
    first, snapshot, signer = words
    owner, seq = first[-ADDRESS:], int.from_bytes(first[:-ADDRESS], "big")
    says = any(owner) and 0 < seq < 1 << 64 and not any(signer[:-ADDRESS])
    require(says, "no_head", "no brain was opened there")
    return Head(owner, seq, snapshot, signer[-ADDRESS:])


def _number(value: int) -> bytes:
    return value.to_bytes(WORD, "big")


def _padded(address: bytes) -> bytes:
    return address.rjust(WORD, b"\0")
