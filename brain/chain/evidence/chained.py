"""Checking the chain's part of evidence: from a slot up to the hash of a block.

Nothing of it says which chain that block is of: the same header, accounts and storage
can be made by anybody. Only a block hash that is known from elsewhere pins them.
"""

from __future__ import annotations

from typing import NamedTuple

from ..contracts import RUNTIME_HASH
from . import header, registry
from .account import account, word
from .evidence import ANCHOR, ChainPart, Evidence, Slot
from .header import Header
from .holds import require
from .keccak import prepare
from .known import Known


class Stored(NamedTuple):
    """What a BrainRegistry holds at a block: a head, or under `root` the root of a log."""

    block: Header
    head: registry.Head | None
    root: bytes


def check_chain(part: ChainPart, evidence: Evidence, known: Known) -> Stored:
    """Return what the contract held in the block: what `evidence` says, if that is a head.

    Raises `ProofError`: `wrong_block`, `no_account`, `wrong_code`, `wrong_slot`,
    `wrong_value`, `wrong_head`, `not_this_owner`, `not_anchored`, and what the modules
    beside this one raise.
    """
    prepare([part.header, *part.account, *(node for slot in part.slots for node in slot.proof)])
    # The header is that of the block whose hash the reader knows.
    block = header.decode(part.header)
    same = block.hash == (known.block_hash or block.hash)
    require(same, "wrong_block", f"its block is 0x{block.hash.hex()}")
    # The contract is an account in the state of that block, with the code of BrainRegistry.
    found = account(block.state_root, part.contract, part.account)
    require(found.code_hash == RUNTIME_HASH, "wrong_code", "the contract has other code")
    # The words stand in the slots where BrainRegistry keeps what is claimed.
    words = [
        _word(found.storage_root, wanted, slot)
        for wanted, slot in zip(_slots(part, evidence.brain), part.slots, strict=True)
    ]
    if part.kind == ANCHOR:
        require(any(words[0]), "not_anchored", "the account has anchored no root")
        _check_owner(part.by, known)
        return Stored(block, None, words[0])
    # The head they make is the commitment, in a brain that is its owner's.
    head = registry.head(words)
    snapshot, _, seq = evidence.committed
    require(head.snapshot == snapshot, "wrong_head", "another snapshot is the head")
    require(head.seq == seq, "wrong_head", f"the head is commitment {head.seq}")
    _check_owner(head.owner, known)
    return Stored(block, head, b"")


def _check_owner(found: bytes, known: Known) -> None:
    same = found == (known.owner or found)
    require(same, "not_this_owner", f"the account is 0x{found.hex()}")


def _slots(part: ChainPart, brain: bytes) -> list[bytes]:
    if part.kind == ANCHOR:
        return [registry.anchor_slot(part.by)]
    return registry.brain_slots(registry.brain_id(part.by, brain))


def _word(storage_root: bytes, wanted: bytes, slot: Slot) -> bytes:
    require(slot.slot == wanted, "wrong_slot", "another slot than the one of what is claimed")
    found = word(storage_root, wanted, slot.proof)
    require(found == slot.value, "wrong_value", "the slot holds another value")
    return found
