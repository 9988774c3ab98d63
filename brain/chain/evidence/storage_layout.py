"""The storage layout of BrainRegistry: the slots of a brain and of an anchor.

The layout is that of contracts/BrainRegistry.sol: slot 0 maps ids to brains, slot 1 maps
senders and logs to the checkpoint that the sender anchored last.
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
_COUNTER_BYTES = 8


class ContractHead(NamedTuple):
    """The state of a brain in the contract; `signer` is 20 zeros where there is none.

    `epoch` counts the changes of the signer, `repairs` how often the owner disowned commitments.
    """

    owner: bytes
    seq: int
    snapshot: bytes
    signer: bytes
    epoch: int
    repairs: int


def brain_id(creator: bytes, brain: bytes) -> bytes:
    """Return the id in the contract of a brain that the account `creator` opened.

    It covers the creator, so nobody can open a brain in another account's place.
    """
    return keccak256(pad_address(creator) + brain)


def brain_slots(id: bytes) -> list[bytes]:
    """Return the three slots of a brain: owner and seq, head, signer."""
    first = int.from_bytes(keccak256(id + encode_uint256(_BRAINS_SLOT)), "big")
    return [encode_uint256((first + index) % (1 << 8 * WORD_BYTES)) for index in range(3)]


def anchor_slot(sender: bytes, log: bytes) -> bytes:
    """Return the slot of the checkpoint of a log that `sender` anchored last."""
    return keccak256(log + keccak256(pad_address(sender) + encode_uint256(_ANCHORS_SLOT)))


def log_id(verifier_key: str) -> bytes:
    """Return the id of a log in the contract: SHA-256 of its verifier key, as text."""
    return _sha256(verifier_key)


def checkpoint_hash(text: str) -> bytes:
    """Return what is anchored of a checkpoint: SHA-256 of its text, without the signatures."""
    return _sha256(text)


def _sha256(text: str) -> bytes:
    from hashlib import sha256  # evidence of a brain does without it

    return sha256(text.encode()).digest()


def decode_head(words: Sequence[bytes]) -> ContractHead:
    """Return the state that the words in `brain_slots` encode. Raises `ProofError` (`no_head`)."""
    first, snapshot, third = words
    owner, counters = first[-ADDRESS_BYTES:], first[:-ADDRESS_BYTES]
    seq = int.from_bytes(counters[-_COUNTER_BYTES:], "big")
    epoch = int.from_bytes(third[:-ADDRESS_BYTES], "big")
    is_valid = any(owner) and seq > 0 and epoch >> 8 * _COUNTER_BYTES == 0
    require_evidence(is_valid, "no_head", "no brain was opened in the contract under its id")
    return ContractHead(
        owner=owner,
        seq=seq,
        snapshot=snapshot,
        signer=third[-ADDRESS_BYTES:],
        epoch=epoch,
        repairs=int.from_bytes(counters[:-_COUNTER_BYTES], "big"),
    )


def encode_uint256(value: int) -> bytes:
    """Return a number as a word of the contract ABI."""
    return value.to_bytes(WORD_BYTES, "big")


def pad_address(address: bytes) -> bytes:
    """Return an address as a word of the contract ABI."""
    return address.rjust(WORD_BYTES, b"\0")
