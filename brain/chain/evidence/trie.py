"""Proofs of what stands, or does not, at a key of a Merkle-Patricia trie.

The trie is Ethereum's (yellow paper, appendix D) under hashed keys of 32 bytes, as
for accounts and storage: no key is the beginning of another, so branches hold no
values. A proof is the nodes from the root down, each named by its hash in the one
before. Nodes shorter than a hash stand inside the one above and are not listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...errors import ProofError
from . import rlp
from .holds import require
from .keccak import keccak256

EMPTY_ROOT = bytes.fromhex("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")
"""The root of a trie that holds nothing; its proofs hold no nodes."""
ABSENT = b""
"""Stands for the value of a key that is not there."""

MAX_NODE_BYTES = 1024
"""A branch of 16 hashes takes 532 bytes, a leaf with an account some 110."""
MAX_NODES = 64
"""Nodes of one proof: one for each half byte of a key."""

_HASH = 32
_BRANCH = 17
_ODD, _LEAF = 1, 2
"""Flags in the first half byte of the path in a node."""


def look_up(root: bytes, name: bytes, proof: Sequence[bytes]) -> bytes:
    """Return the value at the key keccak256(`name`) in the trie of `root`, or `ABSENT`.

    Every node of the proof must be needed, in its order. Raises `ProofError`:
    `bad_rlp`, `bad_trie`, `wrong_node`, `missing_node` or `extra_node`.
    """
    small = len(proof) <= MAX_NODES and all(len(node) <= MAX_NODE_BYTES for node in proof)
    require(small, "bad_trie", "more than the nodes of a trie")
    nodes = iter(proof)
    value = ABSENT if root == EMPTY_ROOT else _descend(root, keccak256(name).hex(), nodes)
    require(next(nodes, None) is None, "extra_node", "a node that leads nowhere")
    return value


def _descend(root: bytes, path: str, nodes: Iterator[bytes]) -> bytes:
    """Return what `path`, a hex digit a step, leads to from the node that `root` names."""
    here: rlp.Item = root
    while True:
        node = _opened(here, nodes)
        if len(node) == _BRANCH:
            here, path = _child(node, path), path[1:]
            if here == b"":
                return ABSENT
            continue
        part, is_leaf = _part(node[0], len(path))
        if not path.startswith(part):
            return ABSENT
        if is_leaf:
            return _value(node[1])
        here, path = node[1], path[len(part) :]


def _opened(here: rlp.Item, nodes: Iterator[bytes]) -> list[rlp.Item]:
    """Return the node that stands `here` itself, or that is named and comes next."""
    if isinstance(here, list):
        require(len(rlp.encode(here)) < _HASH, "bad_trie", "a long node inside another")
        return _shaped(here)
    require(len(here) == _HASH, "bad_trie", "no hash where a node is named")
    encoded = next(nodes, None)
    if encoded is None:
        raise ProofError("the proof does not hold: a node is missing", code="missing_node")
    require(keccak256(encoded) == here, "wrong_node", "another node than the one named")
    return _shaped(rlp.items(rlp.decode(encoded)))


def _shaped(node: list[rlp.Item]) -> list[rlp.Item]:
    require(len(node) in (2, _BRANCH), "bad_trie", f"a node of {len(node)} items")
    return node


def _child(branch: list[rlp.Item], path: str) -> rlp.Item:
    require(path and branch[-1] == b"", "bad_trie", "a branch where keys end")
    return branch[int(path[0], 16)]


def _part(item: rlp.Item, left: int) -> tuple[str, bool]:
    """Return the path in a leaf or an extension, and whether it is a leaf.

    A leaf ends the key, of which `left` digits are left, and an extension does not.
    """
    digits = rlp.string(item).hex() or "f"
    flags = int(digits[0], 16)
    fill = "" if flags & _ODD else "0"
    require(flags <= _ODD | _LEAF, "bad_trie", "a path of no known kind")
    require(digits.startswith(fill, 1), "bad_trie", "a path with a filled half byte")
    part, is_leaf = digits[1 + len(fill) :], bool(flags & _LEAF)
    fits = len(part) == left if is_leaf else 0 < len(part) < left
    require(fits, "bad_trie", "a path of a wrong length")
    return part, is_leaf


def _value(item: rlp.Item) -> bytes:
    value = rlp.string(item)
    require(value, "bad_trie", "a leaf without a value")
    return value
