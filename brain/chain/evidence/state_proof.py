"""Merkle-Patricia proofs of accounts and storage words under the state root of a block.

The trie is Ethereum's (yellow paper, appendix D) under hashed keys of 32 bytes, as
for accounts and storage: no key is the beginning of another, so branches hold no
values. A proof is the nodes from the root down, each named by its hash in the one
before. Nodes shorter than a hash stand inside the one above and are not listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...errors import ProofError
from . import rlp
from .evidence_model import require_evidence
from .keccak import keccak256

EMPTY_TRIE_ROOT = bytes.fromhex("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")
"""The root of a trie that holds nothing; its proofs hold no nodes."""
ABSENT_VALUE = b""
"""Stands for the value of a key that is not there."""

MAX_TRIE_NODE_BYTES = 1024
"""A branch of 16 hashes takes 532 bytes, a leaf with an account some 110."""
MAX_PROOF_NODES = 64
"""Nodes of one proof: one for each half byte of a key."""

_HASH_BYTES = 32
_BRANCH_ITEMS = 17
_ODD_FLAG, _LEAF_FLAG = 1, 2
"""Flags in the first half byte of the path in a node."""


def read_trie_value(root: bytes, name: bytes, proof: Sequence[bytes]) -> bytes:
    """Return the value at the key keccak256(`name`) in the trie of `root`, or `ABSENT`.

    Every node of the proof must be needed, in its order. Raises `ProofError`:
    `bad_rlp`, `bad_trie`, `wrong_node`, `missing_node` or `extra_node`.
    """
    small = len(proof) <= MAX_PROOF_NODES and all(
        len(node) <= MAX_TRIE_NODE_BYTES for node in proof
    )
    require_evidence(small, "bad_trie", "more than the nodes of a trie")
    nodes = iter(proof)
    value = (
        ABSENT_VALUE
        if root == EMPTY_TRIE_ROOT
        else _walk_to_value(root, keccak256(name).hex(), nodes)
    )
    require_evidence(next(nodes, None) is None, "extra_node", "a node that leads nowhere")
    return value


def _walk_to_value(root: bytes, path: str, nodes: Iterator[bytes]) -> bytes:
    """Return what `path`, a hex digit a step, leads to from the node that `root` names."""
    reference: rlp.RlpItem = root
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


def _resolve_node(reference: rlp.RlpItem, nodes: Iterator[bytes]) -> list[rlp.RlpItem]:
    """Return the node that stands `here` itself, or that is named and comes next."""
    if isinstance(reference, list):
        require_evidence(
            len(rlp.encode_rlp(reference)) < _HASH_BYTES, "bad_trie", "a long node inside another"
        )
        return _check_node_items(reference)
    require_evidence(len(reference) == _HASH_BYTES, "bad_trie", "no hash where a node is named")
    encoded = next(nodes, None)
    if encoded is None:
        raise ProofError("the proof does not hold: a node is missing", code="missing_node")
    require_evidence(
        keccak256(encoded) == reference, "wrong_node", "another node than the one named"
    )
    return _check_node_items(rlp.read_list(rlp.decode_rlp(encoded)))


def _check_node_items(node: list[rlp.RlpItem]) -> list[rlp.RlpItem]:
    require_evidence(len(node) in (2, _BRANCH_ITEMS), "bad_trie", f"a node of {len(node)} items")
    return node


def _branch_child(branch: list[rlp.RlpItem], path: str) -> rlp.RlpItem:
    require_evidence(path and branch[-1] == b"", "bad_trie", "a branch where keys end")
    return branch[int(path[0], 16)]


def _decode_path(item: rlp.RlpItem, left: int) -> tuple[str, bool]:
    """Return the path in a leaf or an extension, and whether it is a leaf.

    A leaf ends the key, of which `left` digits are left, and an extension does not.
    """
    digits = rlp.read_string(item).hex() or "f"
    flags = int(digits[0], 16)
    fill = "" if flags & _ODD_FLAG else "0"
    require_evidence(flags <= _ODD_FLAG | _LEAF_FLAG, "bad_trie", "a path of no known kind")
    require_evidence(digits.startswith(fill, 1), "bad_trie", "a path with a filled half byte")
    segment, is_leaf = digits[1 + len(fill) :], bool(flags & _LEAF_FLAG)
    fits = len(segment) == left if is_leaf else 0 < len(segment) < left
    require_evidence(fits, "bad_trie", "a path of a wrong length")
    return segment, is_leaf


def _leaf_value(item: rlp.RlpItem) -> bytes:
    value = rlp.read_string(item)
    require_evidence(value, "bad_trie", "a leaf without a value")
    return value


WORD_BYTES = 32
"""Bytes of a word of storage, and of the number of its slot."""
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
    and the codes of `trie.look_up`.
    """
    value = read_trie_value(state_root, address, proof)
    require_evidence(value != ABSENT_VALUE, "no_account", "there is no account at the address")
    items = rlp.read_list(rlp.decode_rlp(value))
    require_evidence(
        len(items) == _ACCOUNT_ITEMS, "bad_account", f"an account of {len(items)} fields"
    )
    nonce, balance, storage_root, code_hash = items
    return AccountState(
        rlp.read_integer(nonce, 8),
        rlp.read_integer(balance, WORD_BYTES),
        rlp.read_fixed_string(storage_root, 32),
        rlp.read_fixed_string(code_hash, 32),
    )


def read_storage_word(storage_root: bytes, slot: bytes, proof: Sequence[bytes]) -> bytes:
    """Return the 32 bytes in a slot of an account, zeros if the proof shows that it is unset.

    Raises `ProofError`: the codes of `trie.look_up`.
    """
    value = read_trie_value(storage_root, slot, proof)
    if value == ABSENT_VALUE:
        return bytes(WORD_BYTES)
    # No chain stores a zero; anvil does, where a call has read an unset slot.
    return rlp.read_integer(rlp.decode_rlp(value), WORD_BYTES).to_bytes(WORD_BYTES, "big")
