"""Roots of logs, and inclusion in them checked on chain."""

import random
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

import pytest

from tests.support.chain import rfc6962
from tests.support.chain.registry_contract import (
    ZERO_WORD,
    ContractEvent,
    RegistryContract,
    encode_call,
    word_of,
)

LARGEST = 40
LEAVES = [rfc6962.leaf_hash(b"entry %d" % n) for n in range(LARGEST)]
TOP = 2**64 - 1


class Claim(NamedTuple):
    """What `verifyInclusion` is asked."""

    root: bytes
    index: int
    size: int
    leaf: bytes
    proof: Sequence[bytes]

    def holds(self) -> bool:
        """Say it by the definition."""
        return rfc6962.root_from_path(self.index, self.size, self.leaf, self.proof) == self.root


def claim(index: int, size: int) -> Claim:
    leaves = LEAVES[:size]
    return Claim(
        rfc6962.merkle_root(leaves),
        index,
        size,
        leaves[index],
        rfc6962.inclusion_path(index, leaves),
    )


def verdicts(registry: RegistryContract, claims: Sequence[Claim]) -> list[bool]:
    """Return what the contract says to each."""
    out = []
    for place in range(0, len(claims), 200):
        calls = [
            {"to": registry.address, "data": "0x" + encode_call("verifyInclusion", *each).hex()}
            for each in claims[place : place + 200]
        ]
        answers = registry.node.batch_call(("eth_call", [call, "latest"]) for call in calls)
        out += [bool(int(answer, 16)) for answer in answers]
    return out


def flipped(value: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(256)
    return (int.from_bytes(value) ^ 1 << place).to_bytes(32)


def mutants(good: Claim, draw: random.Random) -> list[Claim]:
    """Return claims beside a true one, some of which may hold all the same."""
    proof = list(good.proof)
    out = [
        good._replace(root=flipped(good.root, draw)),
        good._replace(leaf=flipped(good.leaf, draw)),
        good._replace(proof=[*proof, good.root]),
        good._replace(proof=[good.leaf, *proof]),
        good._replace(proof=[*proof, *[ZERO_WORD] * 65]),
        good._replace(root=rfc6962.node_hash(ZERO_WORD, good.root), proof=[*proof, ZERO_WORD]),
        good._replace(root=rfc6962.node_hash(good.root, ZERO_WORD), proof=[*proof, ZERO_WORD]),
        good._replace(index=draw.randrange(LARGEST)),
        good._replace(index=good.size),
        good._replace(index=TOP),
        good._replace(size=draw.randrange(LARGEST)),
        good._replace(size=0),
        good._replace(size=TOP),
        good._replace(index=TOP - 1, size=TOP),
    ]
    if proof:
        place = draw.randrange(len(proof))
        swapped = proof.copy()
        swapped[place], swapped[-1] = swapped[-1], swapped[place]
        bad = [*proof[:place], flipped(proof[place], draw), *proof[place + 1 :]]
        inner = rfc6962.node_hash(*sorted([good.leaf, proof[0]]))
        out += [
            good._replace(proof=swapped),
            good._replace(proof=bad),
            good._replace(proof=proof[:-1]),
            good._replace(proof=proof[1:]),
            good._replace(proof=proof[1:], leaf=inner),
            good._replace(proof=[]),
        ]
    return out


LOG, OTHER_LOG = word_of("log"), word_of("other log")
C = [word_of(f"checkpoint {n}") for n in range(3)]


def test_an_anchor_is_told_and_kept(registry, node):
    account = node.accounts[3]
    assert registry.call("anchorOf", account, LOG) == (ZERO_WORD,)
    result = registry.send(account, "anchor", LOG, C[1])
    assert result == [ContractEvent("Anchored", (account, LOG, C[1]))]
    assert registry.call("anchorOf", account, LOG) == (C[1],)


def test_an_anchor_takes_the_place_of_the_one_before(registry, node):
    account = node.accounts[4]
    for checkpoint in C[1:]:
        result = registry.send(account, "anchor", LOG, checkpoint)
        assert result == [ContractEvent("Anchored", (account, LOG, checkpoint))]
        assert registry.call("anchorOf", account, LOG) == (checkpoint,)


def test_each_account_has_an_anchor_of_its_own_for_each_log(registry, node):
    one, two = node.accounts[5:7]
    registry.send(one, "anchor", LOG, C[0])
    registry.send(two, "anchor", LOG, C[1])
    registry.send(one, "anchor", OTHER_LOG, C[2])
    assert registry.call("anchorOf", one, LOG) == (C[0],)
    assert registry.call("anchorOf", two, LOG) == (C[1],)
    assert registry.call("anchorOf", one, OTHER_LOG) == (C[2],)


def test_anchoring_no_checkpoint_is_refused(registry, node):
    refused = registry.send_and_expect_revert(node.accounts[7], "anchor", LOG, ZERO_WORD)
    assert refused == ("ZeroCheckpoint",)


SIZES = [0, 1, 9, 10, 99, 100, 2**32, 10**19 - 1, 10**19, TOP]


@pytest.mark.parametrize("size", SIZES)
def test_the_hash_of_a_checkpoint_is_that_of_its_three_lines(registry, size):
    for origin in ("log.example", "ü" * 100, ""):
        for root in (ZERO_WORD, b"\xff" * 32, word_of(size)):
            text = f"{origin}\n{size}\n{b64encode(root).decode()}\n"
            expected = sha256(text.encode()).digest()
            assert registry.call("checkpointHash", origin, size, root) == (expected,)


def test_every_leaf_of_every_small_log_is_found(registry):
    claims = [claim(index, size) for size in range(1, LARGEST + 1) for index in range(size)]
    assert all(verdicts(registry, claims))


@pytest.mark.parametrize("seed", range(3))
def test_what_the_definition_does_not_bear_out_is_not_found(registry, seed):
    draw = random.Random(seed)
    claims = [
        mutant
        for size in range(1, LARGEST + 1)
        for mutant in mutants(claim(draw.randrange(size), size), draw)
    ]
    expected = [each.holds() for each in claims]
    assert verdicts(registry, claims) == expected
    assert expected.count(False) > 500


def test_a_log_of_as_many_entries_as_can_be_counted_is_checked(registry):
    proof = [word_of(f"beside {n}") for n in range(64)]
    for index in (0, 1, TOP // 2, TOP - 2, TOP - 1):
        steps = proof[: 64 if index < TOP - 1 else 63]
        root = rfc6962.root_from_path(index, TOP, LEAVES[0], steps)
        assert root is not None
        good = Claim(root, index, TOP, LEAVES[0], steps)
        assert verdicts(registry, [good, good._replace(proof=steps[:-1])]) == [True, False]


def test_what_is_anchored_can_be_checked_against(registry, node):
    account = node.accounts[8]
    good = claim(7, 20)
    (checkpoint,) = registry.call("checkpointHash", "log.example", good.size, good.root)
    registry.send(account, "anchor", LOG, checkpoint)
    assert registry.call("anchorOf", account, LOG) == (checkpoint,)
    assert verdicts(registry, [good]) == [True]
