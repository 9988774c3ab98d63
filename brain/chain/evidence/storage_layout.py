"""The storage layout of BrainRegistry: the slots of a brain and of an anchor.

The layout is that of contracts/BrainRegistry.sol and the same at every address:
slot 0 maps ids to brains, slot 1 senders to the root they anchored last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .evidence_model import require_evidence
from .keccak import keccak256
from .state_proof import WORD_BYTES

ADDRESS_BYTES = 20
"""Bytes of an address."""

_BRAINS_SLOT, _ANCHORS_SLOT = 0, 1


class ContractHead(NamedTuple):
    """What a contract holds of a brain; `signer` is 20 zeros where there is none."""

    owner: bytes
    seq: int
    snapshot: bytes
    signer: bytes


def brain_id(creator: bytes, brain: bytes) -> bytes:
    """Return the id under which the account `creator` has opened `brain`.

    It names the creator, so that nobody can open a brain in another's place.
    """
    return keccak256(_pad_address(creator) + brain)


def brain_slots(id: bytes) -> list[bytes]:
    """Return the slots of a brain: of owner and seq, of its head, of its signer."""
    first = int.from_bytes(keccak256(id + _encode_uint256(_BRAINS_SLOT)), "big")
    return [_encode_uint256((first + place) % (1 << 8 * WORD_BYTES)) for place in range(3)]


def anchor_slot(sender: bytes) -> bytes:
    """Return the slot of the root that `sender` anchored last."""
    return keccak256(_pad_address(sender) + _encode_uint256(_ANCHORS_SLOT))


def decode_head(words: Sequence[bytes]) -> ContractHead:
    """Return what the words in `brain_slots` say. Raises `ProofError` (`no_head`)."""
    first, snapshot, signer = words
    owner, seq = first[-ADDRESS_BYTES:], int.from_bytes(first[:-ADDRESS_BYTES], "big")
    is_valid = any(owner) and 0 < seq < 1 << 64 and not any(signer[:-ADDRESS_BYTES])
    require_evidence(is_valid, "no_head", "no brain was opened there")
    return ContractHead(owner, seq, snapshot, signer[-ADDRESS_BYTES:])


def _encode_uint256(value: int) -> bytes:
    return value.to_bytes(WORD_BYTES, "big")


def _pad_address(address: bytes) -> bytes:
    return address.rjust(WORD_BYTES, b"\0")
