"""The owner disowns commitments that a stolen or wrong signer made, and goes on."""

import pytest

from tests.support.chain.registry_contract import (
    ZERO_ADDRESS,
    ZERO_WORD,
    BrainHead,
    ContractEvent,
    word_of,
)

S = [word_of(f"snapshot {n}") for n in range(6)]
ORPHANS = [word_of(f"orphan {n}") for n in range(3)]


@pytest.fixture
def people(node):
    """The owner, the signer, a stranger."""
    return node.accounts[1:4]


@pytest.fixture
def brain(registry, people, request):
    """A brain with two commitments of the owner and two of a stolen signer."""
    owner, signer, _ = people
    opened = registry.open_brain(owner, word_of(request.node.name), S[1])
    registry.send(owner, "setSigner", opened, signer)
    registry.send(owner, "commit", opened, S[2], S[1])
    registry.send(signer, "commit", opened, ORPHANS[0], S[2])
    registry.send(signer, "commit", opened, ORPHANS[1], ORPHANS[0])
    return opened


def test_the_owner_disowns_them_and_commits_in_their_place(registry, people, brain):
    owner = people[0]
    result = registry.send(owner, "supersede", brain, S[3], ORPHANS[1], 3)
    assert result == [
        ContractEvent("Disowned", (brain, 3, 4)),
        ContractEvent("SignerChanged", (brain, ZERO_ADDRESS, 4, 2)),
        ContractEvent("Committed", (brain, S[3], ORPHANS[1], 5, owner)),
    ]
    assert registry.brain(brain) == BrainHead(owner, 5, S[3], ZERO_ADDRESS, 2, 1)
    assert registry.call("disownedBy", brain, 5) == (3,)


def test_the_stolen_signer_commits_no_more_and_the_lineage_goes_on(registry, people, brain):
    owner, signer, _ = people
    registry.send(owner, "supersede", brain, S[3], ORPHANS[1], 3)
    refused = registry.send_and_expect_revert(signer, "commit", brain, ORPHANS[2], S[3])
    assert refused == ("Unauthorized",)
    registry.send(owner, "commit", brain, S[4], S[3])
    assert registry.call("disownedBy", brain, 6) == (0,)


def test_a_brain_is_repaired_more_than_once(registry, people, brain):
    owner = people[0]
    registry.send(owner, "supersede", brain, S[3], ORPHANS[1], 4)
    registry.send(owner, "supersede", brain, S[4], S[3], 3)
    assert registry.brain(brain) == BrainHead(owner, 6, S[4], ZERO_ADDRESS, 3, 2)
    assert [registry.call("disownedBy", brain, seq)[0] for seq in (5, 6)] == [4, 3]


@pytest.mark.parametrize("who", [1, 2], ids=["signer", "stranger"])
def test_only_the_owner_disowns(registry, people, brain, who):
    refused = registry.send_and_expect_revert(people[who], "supersede", brain, S[3], ORPHANS[1], 3)
    assert refused == ("Unauthorized",)


def test_nothing_is_disowned_that_the_owner_has_not_seen(registry, people, brain):
    refused = registry.send_and_expect_revert(people[0], "supersede", brain, S[3], ORPHANS[0], 3)
    assert refused == ("StaleParent", ORPHANS[1], 4)


@pytest.mark.parametrize("since", [0, 1, 5, 2**64 - 1])
def test_the_first_commitment_and_those_to_come_cannot_be_disowned(registry, people, brain, since):
    refused = registry.send_and_expect_revert(
        people[0], "supersede", brain, S[3], ORPHANS[1], since
    )
    assert refused == ("BadRange",)


def test_it_takes_a_snapshot_to_disown(registry, people, brain):
    refused = registry.send_and_expect_revert(
        people[0], "supersede", brain, ZERO_WORD, ORPHANS[1], 3
    )
    assert refused == ("ZeroSnapshot",)


def test_a_brain_never_opened_has_nothing_to_disown(registry, people):
    refused = registry.send_and_expect_revert(
        people[0], "supersede", word_of("never opened"), S[1], ZERO_WORD, 2
    )
    assert refused == ("Unauthorized",)
