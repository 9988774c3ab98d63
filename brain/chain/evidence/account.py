"""Accounts and the words of their storage, as they stand in the tries of a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from . import rlp
from .holds import require
from .trie import ABSENT, look_up

WORD = 32
"""Bytes of a word of storage, and of the number of its slot."""
_FIELDS = 4


class Account(NamedTuple):
    """An account: `balance` is in wei."""

    nonce: int
    balance: int
    storage_root: bytes
    code_hash: bytes


def account(state_root: bytes, address: bytes, proof: Sequence[bytes]) -> Account:
    """Return the account at `address`, 20 bytes.

    Raises `ProofError`: `no_account` if the proof shows that there is none, `bad_account`,
    and the codes of `trie.look_up`.
    """
    value = look_up(state_root, address, proof)
    require(value != ABSENT, "no_account", "there is no account at the address")
    items = rlp.items(rlp.decode(value))
    require(len(items) == _FIELDS, "bad_account", f"an account of {len(items)} fields")
    nonce, balance, storage_root, code_hash = items
    return Account(
        rlp.number(nonce, 8),
        rlp.number(balance, WORD),
        rlp.sized(storage_root, 32),
        rlp.sized(code_hash, 32),
    )


def word(storage_root: bytes, slot: bytes, proof: Sequence[bytes]) -> bytes:
    """Return the 32 bytes in a slot of an account, zeros if the proof shows that it is unset.

    Raises `ProofError`: the codes of `trie.look_up`.
    """
    value = look_up(storage_root, slot, proof)
    if value == ABSENT:
        return bytes(WORD)
    # No chain stores a zero; anvil does, where a call has read an unset slot.
    return rlp.number(rlp.decode(value), WORD).to_bytes(WORD, "big")
