"""Trie proofs show the value of a key or its absence, and nothing else."""

import pytest
import rlp
from hypothesis import given
from hypothesis import strategies as st

from brain.chain.evidence.state_proof import (
    ABSENT_VALUE,
    EMPTY_TRIE_ROOT,
    MAX_PROOF_NODES,
    read_trie_value,
)
from brain.errors import ProofError
from tests.support.chain.merkle_patricia import Trie, hex_prefix, keccak, node_reference, to_nibbles
from tests.support.error_codes import error_code

TWINS = (40364, 105566)
"""Slots whose keys have their first four bytes in common, so that small leaves stand
inside the branch that parts them."""


def word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def numbered(count: int, size: int = 40) -> Trie:
    return Trie({word(n): b"value %d " % n + bytes(size) for n in range(count)})


def code_of(root: bytes, name: bytes, proof: list[bytes]) -> str:
    return error_code(read_trie_value, root, name, proof, kind=ProofError)


@pytest.mark.parametrize("count", [1, 2, 3, 17, 300])
def test_every_value_is_found_and_every_absence_shown(count):
    trie = numbered(count)
    for name, value in ((word(n), b"value %d " % n + bytes(40)) for n in range(min(count, 30))):
        assert read_trie_value(trie.root, name, trie.proof(name)) == value
    for n in range(count, count + 30):
        assert read_trie_value(trie.root, word(n), trie.proof(word(n))) == ABSENT_VALUE


def test_an_empty_trie_has_its_root_and_no_nodes():
    assert Trie({}).root == EMPTY_TRIE_ROOT
    assert read_trie_value(EMPTY_TRIE_ROOT, b"name", []) == ABSENT_VALUE
    assert code_of(EMPTY_TRIE_ROOT, b"name", [b"\x80"]) == "extra_node"


def test_leaves_inside_a_branch_are_read_there():
    first, second = map(word, TWINS)
    trie = Trie({first: b"\1", second: b"\2", word(5): b"\3"})
    (*_, last) = proof = trie.proof(first)
    assert any(isinstance(item, list) for item in rlp.decode(last))
    assert read_trie_value(trie.root, first, proof) == b"\1"
    assert read_trie_value(trie.root, second, trie.proof(second)) == b"\2"
    assert read_trie_value(trie.root, word(6), trie.proof(word(6))) == ABSENT_VALUE
    inner = rlp.encode(next(item for item in rlp.decode(last) if isinstance(item, list)))
    assert len(inner) < 32
    assert code_of(trie.root, first, [*proof, inner]) == "extra_node"


@given(st.dictionaries(st.binary(max_size=3), st.binary(min_size=1, max_size=60)), st.binary())
def test_any_trie_shows_what_it_holds(values, name):
    trie = Trie(values)
    for one in {name, *values}:
        assert read_trie_value(trie.root, one, trie.proof(one)) == values.get(one, ABSENT_VALUE)


def test_a_proof_shows_nothing_of_another_name_or_under_another_root():
    trie, other = numbered(300), numbered(301)
    proof = trie.proof(word(7))
    assert code_of(other.root, word(7), proof) == "wrong_node"
    for n in range(8, 40):
        name = word(n)
        if trie.proof(name) != proof:
            assert code_of(trie.root, name, proof) in ("wrong_node", "missing_node", "extra_node")


def test_every_node_is_needed_once_and_in_its_place():
    trie = numbered(300)
    name = word(7)
    proof = trie.proof(name)
    assert len(proof) >= 3
    for place, node in enumerate(proof):
        rest = proof[:place] + proof[place + 1 :]
        assert code_of(trie.root, name, rest) in ("missing_node", "wrong_node")
        twice = [*proof[: place + 1], *proof[place:]]
        assert code_of(trie.root, name, twice) in ("wrong_node", "extra_node")
        for byte in range(0, len(node), 7):
            flipped = node[:byte] + bytes([node[byte] ^ 1]) + node[byte + 1 :]
            assert code_of(trie.root, name, [*proof[:place], flipped, *proof[place + 1 :]])
    assert code_of(trie.root, name, proof[::-1]) == "wrong_node"
    assert code_of(trie.root, name, []) == "missing_node"
    assert code_of(trie.root, name, [*proof, proof[0]]) == "extra_node"


def test_a_leaf_is_not_taken_for_a_branch_nor_an_absence_for_a_presence():
    trie = numbered(300)
    proof = trie.proof(word(7))
    absent = next(n for n in range(300, 999) if trie.proof(word(n))[:2] == proof[:2])
    assert read_trie_value(trie.root, word(absent), trie.proof(word(absent))) == ABSENT_VALUE
    assert code_of(trie.root, word(7), trie.proof(word(absent))) in ("missing_node", "wrong_node")
    assert code_of(keccak(proof[-1]), word(7), [proof[-1]]) == "bad_trie"


KEY = to_nibbles(keccak(b"name"))
BRANCH = [b""] * 17
LEAF = [hex_prefix(KEY, True), b"value"]
PATHS = {
    "a leaf too short": [hex_prefix(KEY[:-1], True), b"value"],
    "a leaf too long": [hex_prefix((*KEY, 1), True), b"value"],
    "a leaf without a value": [hex_prefix(KEY, True), b""],
    "a leaf that is a list": [hex_prefix(KEY, True), [b"value"]],
    "a path without a byte": [b"", b"value"],
    "a path that is a list": [[b"\x20"], b"value"],
    "a path of another kind": [b"\x40" + hex_prefix(KEY, True)[1:], b"value"],
    "a path with a filled half": [b"\x21" + hex_prefix(KEY, True)[1:], b"value"],
    "an extension by nothing": [hex_prefix((), False), bytes(32)],
    "an extension that ends the key": [hex_prefix(KEY, False), bytes(32)],
    "an extension to nothing": [hex_prefix(KEY[:3], False), b""],
    "an extension to part of a hash": [hex_prefix(KEY[:3], False), bytes(31)],
    "a branch with a value": [*([bytes(32)] * 16), b"value"],
    "a branch to part of a hash": [*([bytes(33)] * 16), b""],
    "three items": [b"", b"", b""],
    "sixteen items": BRANCH[1:],
    "no items": [],
    "a string": b"value",
    "a long node inside": [*([[hex_prefix(KEY[1:], True), b"value"]] * 16), b""],
    "an inner node that is none": [*([[b"\1"]] * 16), b""],
}


@pytest.mark.parametrize("what", PATHS)
def test_what_is_no_node_is_refused(what):
    encoded = rlp.encode(PATHS[what])
    assert code_of(keccak(encoded), b"name", [encoded]) in ("bad_trie", "bad_rlp")


def test_nodes_beyond_what_a_trie_needs_are_refused_unread():
    assert code_of(bytes(32), b"name", [b"\xc0"] * (MAX_PROOF_NODES + 1)) == "bad_trie"
    assert code_of(bytes(32), b"name", [bytes(2000)]) == "bad_trie"


def test_the_deepest_proof_is_taken():
    """One branch for each half byte but the last, which no real trie comes near."""
    here = node_reference([hex_prefix(KEY[-1:], True), b"x" * 40])
    nodes = [rlp.encode([hex_prefix(KEY[-1:], True), b"x" * 40])]
    for half in reversed(KEY[:-1]):
        branch = [bytes(32)] * 16 + [b""]
        branch[half] = here
        nodes.insert(0, rlp.encode(branch))
        here = node_reference(branch)
    assert len(nodes) == MAX_PROOF_NODES
    assert read_trie_value(here, b"name", nodes) == b"x" * 40
