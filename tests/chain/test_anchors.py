"""Roots of logs, and inclusion in them checked on chain."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from tests import anvil
from tests.chain import rfc6962
from tests.chain.registry import ZERO, Event, Registry, encoded, word

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
        return rfc6962.root_by(self.index, self.size, self.leaf, self.proof) == self.root


def claim(index: int, size: int) -> Claim:
    leaves = LEAVES[:size]
    return Claim(rfc6962.root(leaves), index, size, leaves[index], rfc6962.path(index, leaves))


def verdicts(registry: Registry, claims: Sequence[Claim]) -> list[bool]:
    """Return what the contract says to each."""
    out = []
    for place in range(0, len(claims), 200):
        calls = [
            {"to": registry.address, "data": "0x" + encoded("verifyInclusion", *each).hex()}
            for each in claims[place : place + 200]
        ]
        answers = registry.node.calls(("eth_call", [call, "latest"]) for call in calls)
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
        good._replace(proof=[*proof, *[ZERO] * 65]),
        good._replace(root=rfc6962.join(ZERO, good.root), proof=[*proof, ZERO]),
        good._replace(root=rfc6962.join(good.root, ZERO), proof=[*proof, ZERO]),
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
        inner = rfc6962.join(*sorted([good.leaf, proof[0]]))
        out += [
            good._replace(proof=swapped),
            good._replace(proof=bad),
            good._replace(proof=proof[:-1]),
            good._replace(proof=proof[1:]),
            good._replace(proof=proof[1:], leaf=inner),
            good._replace(proof=[]),
        ]
    return out


def test_an_anchor_is_told_and_kept(registry: Registry, node: anvil.Anvil) -> None:
    account = node.accounts[3]
    assert registry.ask("anchorOf", account) == (ZERO,)
    told = registry.send(account, "anchor", word("root 1"), 1000)
    assert told == [Event("Anchored", (account, word("root 1"), 1000))]
    assert registry.ask("anchorOf", account) == (word("root 1"),)


def test_an_anchor_takes_the_place_of_the_one_before(registry: Registry, node: anvil.Anvil) -> None:
    for size, root in ((1, word("root 1")), (TOP, word("root 2"))):
        told = registry.send(node.accounts[4], "anchor", root, size)
        assert told == [Event("Anchored", (node.accounts[4], root, size))]
        assert registry.ask("anchorOf", node.accounts[4]) == (root,)


def test_each_account_has_an_anchor_of_its_own(registry: Registry, node: anvil.Anvil) -> None:
    one, two = node.accounts[5:7]
    registry.send(one, "anchor", word("root 1"), 1)
    registry.send(two, "anchor", word("root 2"), 2)
    assert registry.ask("anchorOf", one) == (word("root 1"),)


def test_anchoring_no_root_is_refused(registry: Registry, node: anvil.Anvil) -> None:
    assert registry.refuses(node.accounts[7], "anchor", ZERO, 0) == ("ZeroRoot",)


def test_every_leaf_of_every_small_log_is_found(registry: Registry) -> None:
    claims = [claim(index, size) for size in range(1, LARGEST + 1) for index in range(size)]
    assert all(verdicts(registry, claims))


@pytest.mark.parametrize("seed", range(3))
def test_what_the_definition_does_not_bear_out_is_not_found(registry: Registry, seed: int) -> None:
    draw = random.Random(seed)
    claims = [
        mutant
        for size in range(1, LARGEST + 1)
        for mutant in mutants(claim(draw.randrange(size), size), draw)
    ]
    expected = [each.holds() for each in claims]
    assert verdicts(registry, claims) == expected
    assert expected.count(False) > 500


def test_a_log_of_as_many_entries_as_can_be_counted_is_checked(registry: Registry) -> None:
    proof = [word(f"beside {n}") for n in range(64)]
    for index in (0, 1, TOP // 2, TOP - 2, TOP - 1):
        steps = proof[: 64 if index < TOP - 1 else 63]
        root = rfc6962.root_by(index, TOP, LEAVES[0], steps)
        assert root is not None
        good = Claim(root, index, TOP, LEAVES[0], steps)
        assert verdicts(registry, [good, good._replace(proof=steps[:-1])]) == [True, False]


def test_what_is_anchored_can_be_checked_against(registry: Registry, node: anvil.Anvil) -> None:
    account = node.accounts[8]
    good = claim(7, 20)
    registry.send(account, "anchor", good.root, good.size)
    (root,) = registry.ask("anchorOf", account)
    assert verdicts(registry, [good._replace(root=root)]) == [True]
