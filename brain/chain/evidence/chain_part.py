"""Verifies the chain's part of evidence: from a storage slot up to the hash of a block.

The proof does not show which chain the block belongs to: anybody can build a header with such
accounts and storage. Only a block hash from another source identifies the chain.
"""

from __future__ import annotations

from typing import NamedTuple

from ..contracts import RUNTIME_HASH
from . import block_header, storage_layout
from .block_header import BlockHeader
from .evidence_model import (
    ChainPart,
    Expectations,
    StorageSlot,
    require_evidence,
)
from .keccak import hash_ahead
from .state_proof import read_account, read_storage_word


class HeadClaim(NamedTuple):
    """The claim that `snapshot` is the head of `brain`, as commitment `seq`."""

    brain: bytes
    snapshot: bytes
    seq: int


class AnchorClaim(NamedTuple):
    """The claim that a checkpoint of a log is anchored: the id and hash of `storage_layout`."""

    log: bytes
    checkpoint: bytes


class ProvenStorage(NamedTuple):
    """The content of BrainRegistry at a block; `head` is None for an anchor."""

    block: BlockHeader
    head: storage_layout.ContractHead | None


def claimed_slots(account: bytes, claim: HeadClaim | AnchorClaim) -> list[bytes]:
    """Return the slots that prove a claim; `account` opened the brain, or anchored the log."""
    if isinstance(claim, AnchorClaim):
        return [storage_layout.anchor_slot(account, claim.log)]
    return storage_layout.brain_slots(storage_layout.brain_id(account, claim.brain))


def verify_chain_part(
    part: ChainPart, claim: HeadClaim | AnchorClaim, expected: Expectations
) -> ProvenStorage:
    """Return the content of the contract at the block, which bears out the claim.

    Raises `ProofError`: `wrong_block`, `no_account`, `wrong_code`, `wrong_slot`,
    `wrong_value`, `wrong_head`, `not_this_owner`, `wrong_checkpoint`, and the codes of
    `decode_block_header`, `read_account`, `read_storage_word` and `decode_head`.
    """
    block, words = _read_words(
        part, claimed_slots(part.account_address, claim), expected.block_hash
    )
    if isinstance(claim, AnchorClaim):
        require_evidence(
            words[0] == claim.checkpoint,
            "wrong_checkpoint",
            "its account has anchored another checkpoint of the log, or none",
        )
        _check_account(part.account_address, expected)
        return ProvenStorage(block, None)
    # The head in them is the commitment, and the owner is the one that the reader knows.
    head = storage_layout.decode_head(words)
    require_evidence(
        head.snapshot == claim.snapshot,
        "wrong_head",
        "the contract holds another snapshot as the head",
    )
    require_evidence(
        head.seq == claim.seq, "wrong_head", f"the contract holds commitment {head.seq} as the head"
    )
    _check_account(head.owner, expected)
    return ProvenStorage(block, head)


def read_brain(part: ChainPart, id: bytes, block_hash: bytes) -> storage_layout.ContractHead | None:
    """Return the brain of an id in the contract at a block, None if it was not opened by then.

    Raises `ProofError` as `verify_chain_part` does.
    """
    _, words = _read_words(part, storage_layout.brain_slots(id), block_hash)
    return storage_layout.decode_head(words) if any(map(any, words)) else None


def _read_words(
    part: ChainPart, expected_slots: list[bytes], block_hash: bytes
) -> tuple[BlockHeader, list[bytes]]:
    """Return the block and the words of the contract in these slots; see `verify_chain_part`."""
    hash_ahead(
        [part.header, *part.account_proof, *(node for slot in part.slots for node in slot.proof)]
    )
    # The header has the block hash that the reader knows, or begins as it does.
    block = block_header.decode_block_header(part.header)
    same_block = block.hash.startswith(block_hash)
    require_evidence(
        same_block,
        "wrong_block",
        f"its block is 0x{block.hash.hex()}",
        "compare the hash with a source that you trust",
    )
    # The contract is an account in the state of that block, with the code of BrainRegistry.
    account = read_account(block.state_root, part.contract, part.account_proof)
    require_evidence(
        account.code_hash == RUNTIME_HASH,
        "wrong_code",
        "its contract does not have the code of BrainRegistry",
    )
    # The words are in the slots that the storage layout of BrainRegistry gives.
    words = [
        _verify_slot(account.storage_root, expected_slot, slot)
        for expected_slot, slot in zip(expected_slots, part.slots, strict=True)
    ]
    return block, words


def _check_account(address: bytes, expected: Expectations) -> None:
    same_account = address == (expected.owner or address)
    require_evidence(
        same_account,
        "not_this_owner",
        f"its account is 0x{address.hex()}",
        "compare the address, or ask for evidence of your account",
    )


def _verify_slot(storage_root: bytes, expected_slot: bytes, slot: StorageSlot) -> bytes:
    require_evidence(
        slot.slot == expected_slot,
        "wrong_slot",
        "it shows another slot of the contract than that of its claim",
    )
    word = read_storage_word(storage_root, expected_slot, slot.proof)
    require_evidence(
        word == slot.value, "wrong_value", "the slot of the contract holds another value"
    )
    return word
