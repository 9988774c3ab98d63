"""Merkle-Patricia proofs of accounts and storage words under the state root of a block.

The trie is Ethereum's (yellow paper, appendix D) with hashed keys of 32 bytes, as for accounts
and storage: no key is a prefix of another, so branches hold no values. A proof lists the nodes
from the root down; each is referenced by its hash in the node before. Nodes shorter than a
hash are embedded in their parent and not listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...errors import ProofError
from . import rlp
from .evidence_model import INVALID_EVIDENCE_HINT, require_evidence
from .keccak import keccak256

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
    """Return the embedded node, or the next node of the proof, which must have the hash."""
    if isinstance(reference, list):
        require_evidence(
            len(rlp.encode_rlp(reference)) < _HASH_BYTES,
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
    return _check_node_items(rlp.read_list(rlp.decode_rlp(encoded)))


def _check_node_items(node: list[rlp.RlpItem]) -> list[rlp.RlpItem]:
    require_evidence(
        len(node) in (2, _BRANCH_ITEMS),
        "bad_trie",
        f"its proof of storage has a node of {len(node)} items",
    )
    return node


def _branch_child(branch: list[rlp.RlpItem], path: str) -> rlp.RlpItem:
    require_evidence(
        path and branch[-1] == b"", "bad_trie", "its proof of storage has a branch where keys end"
    )
    return branch[int(path[0], 16)]


def _decode_path(item: rlp.RlpItem, remaining: int) -> tuple[str, bool]:
    """Return the path in a leaf or an extension, and whether it is a leaf.

    A leaf covers the `remaining` digits of the key, an extension fewer.
    """
    digits = rlp.read_string(item).hex() or "f"
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


def _leaf_value(item: rlp.RlpItem) -> bytes:
    value = rlp.read_string(item)
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
    items = rlp.read_list(rlp.decode_rlp(value))
    require_evidence(
        len(items) == _ACCOUNT_ITEMS, "bad_account", f"its account has {len(items)} fields"
    )
    nonce, balance, storage_root, code_hash = items
    return AccountState(
        rlp.read_rlp_integer(nonce, 8),
        rlp.read_rlp_integer(balance, WORD_BYTES),
        rlp.read_fixed_string(storage_root, 32),
        rlp.read_fixed_string(code_hash, 32),
    )


def read_storage_word(storage_root: bytes, slot: bytes, proof: Sequence[bytes]) -> bytes:
    """Return the 32 bytes in a slot of an account, zeros if the proof shows that it is unset.

    Raises `ProofError`: the codes of `read_trie_value`.
    """
    value = read_trie_value(storage_root, slot, proof)
    if value == ABSENT_VALUE:
        return bytes(WORD_BYTES)
    # Chains store no zeros; anvil stores one after a call has read an unset slot.
    return rlp.read_rlp_integer(rlp.decode_rlp(value), WORD_BYTES).to_bytes(WORD_BYTES, "big")
