"""Merkle-Patricia tries as the yellow paper defines them, appendices C and D.

Shares no code with what it tests: encoding is by the package rlp, hashes by pycryptodome.
"""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

import rlp
from Crypto.Hash import keccak as _keccak

Nibbles = tuple[int, ...]
TrieNode = list[Any]


def keccak(data: bytes) -> bytes:
    return _keccak.new(digest_bits=256, data=data).digest()


def to_nibbles(key: bytes) -> Nibbles:
    return tuple(half for byte in key for half in (byte >> 4, byte & 15))


def hex_prefix(path: Nibbles, leaf: bool) -> bytes:
    """Return a path in the encoding of appendix C."""
    flag = 2 * leaf
    complete = (flag + 1, *path) if len(path) % 2 else (flag, 0, *path)
    return bytes(16 * high + low for high, low in zip(complete[::2], complete[1::2], strict=True))


def node_reference(node: TrieNode) -> Any:
    """Return what stands for a node in the one above: its hash, or a short one itself."""
    encoded = rlp.encode(node)
    return keccak(encoded) if len(encoded) >= 32 else node


class Trie:
    """A trie of values under the hashes of names."""

    def __init__(self, values: Mapping[bytes, bytes]) -> None:
        self._nodes: dict[Nibbles, TrieNode] = {}
        self._steps: dict[Nibbles, Nibbles] = {}
        self.root = keccak(rlp.encode(b""))
        if values:
            keys = {to_nibbles(keccak(name)): value for name, value in values.items()}
            self.root = keccak(rlp.encode(self._node((), keys)))

    def _node(self, at: Nibbles, values: Mapping[Nibbles, bytes]) -> TrieNode:
        """Return the node at a place, that holds `values` under what is left of their keys."""
        self._nodes[at] = self._encode_node(at, values)
        return self._nodes[at]

    def _encode_node(self, at: Nibbles, values: Mapping[Nibbles, bytes]) -> TrieNode:
        if len(values) == 1:
            ((path, value),) = values.items()
            return [hex_prefix(path, True), value]
        if shared := common_prefix(values):
            self._steps[at] = shared
            return [hex_prefix(shared, False), self._child_reference(at, shared, values)]
        return [*(self._child_reference(at, (half,), values) for half in range(16)), b""]

    def _child_reference(self, at: Nibbles, step: Nibbles, values: Mapping[Nibbles, bytes]) -> Any:
        size = len(step)
        remaining = {path[size:]: value for path, value in values.items() if path[:size] == step}
        return node_reference(self._node((*at, *step), remaining)) if remaining else b""

    def proof(self, name: bytes) -> list[bytes]:
        """Return the nodes from the root towards a name, as far as there are any."""
        path, at, out = to_nibbles(keccak(name)), (), []
        while node := self._nodes.get(at):
            encoded = rlp.encode(node)
            if len(encoded) >= 32 or not at:
                out.append(encoded)
            size = len(at)
            step = path[size : size + 1] if len(node) == 17 else self._steps.get(at, ())
            if not step or path[size : size + len(step)] != step:
                break
            at = (*at, *step)
        return out


def common_prefix(values: Mapping[Nibbles, bytes]) -> Nibbles:
    """Return what all keys begin with."""
    columns = zip(*values, strict=False)
    return tuple(halves[0] for halves in takewhile(lambda one: len({*one}) == 1, columns))
