"""Who may do what: owner, signer, who was offered the brain, and nobody else."""

import pytest

from tests.support.chain.registry_contract import ZERO_ADDRESS, BrainHead, ContractEvent, word_of

S = [word_of(f"snapshot {n}") for n in range(6)]
LATER = 2**40


@pytest.fixture
def people(node):
    """The owner, the signer, the next owner, a stranger."""
    return node.accounts[1:5]


@pytest.fixture
def brain(registry, people, request):
    """A brain opened by the owner, with a signer."""
    opened = registry.open_brain(people[0], word_of(request.node.name), S[1])
    registry.send(people[0], "setSigner", opened, people[1])
    return opened


def test_the_signer_commits_beside_the_owner(registry, people, brain):
    owner, signer, *_ = people
    registry.send(signer, "commit", brain, S[2], S[1])
    result = registry.send(owner, "commit", brain, S[3], S[2])
    assert result == [ContractEvent("Committed", (brain, S[3], S[2], 3, owner))]
    assert registry.brain(brain) == BrainHead(owner, 3, S[3], signer, 1)


def test_a_change_of_signer_is_told_with_the_number_it_comes_after(registry, people, brain):
    owner, _, later, _ = people
    registry.send(owner, "commit", brain, S[2], S[1])
    result = registry.send(owner, "setSigner", brain, later)
    assert result == [ContractEvent("SignerChanged", (brain, later, 2, 2))]
    assert registry.brain(brain).signer == later


@pytest.mark.parametrize("successor", [2, None], ids=["another", "nobody"])
def test_a_signer_that_was_changed_commits_no_more(registry, people, brain, successor):
    owner, signer, *_ = people
    registry.send(
        owner, "setSigner", brain, ZERO_ADDRESS if successor is None else people[successor]
    )
    assert registry.send_and_expect_revert(signer, "commit", brain, S[2], S[1]) == ("Unauthorized",)


@pytest.mark.parametrize("who", [1, 2, 3], ids=["signer", "offered", "stranger"])
def test_only_the_owner_changes_the_signer_or_offers_the_brain(registry, people, brain, who):
    registry.send(people[0], "offerOwnership", brain, people[2], LATER)
    calls = {
        "setSigner": [people[who]],
        "offerOwnership": [people[who], LATER],
        "supersede": [S[2], S[1], 2],
    }
    for function, values in calls.items():
        refused = registry.send_and_expect_revert(people[who], function, brain, *values)
        assert refused == ("Unauthorized",)
    assert registry.brain(brain) == BrainHead(people[0], 1, S[1], people[1], 1)
    assert registry.call("offerOf", brain) == (people[2], LATER)


def test_a_brain_never_opened_has_no_owner(registry, people):
    unknown = word_of("never opened")
    for function, values in {
        "setSigner": [unknown, people[0]],
        "offerOwnership": [unknown, people[0], LATER],
        "acceptOwnership": [unknown],
    }.items():
        assert registry.send_and_expect_revert(people[0], function, *values) == ("Unauthorized",)


def test_an_offer_changes_nothing_but_who_may_accept(registry, people, brain):
    owner, signer, later, _ = people
    result = registry.send(owner, "offerOwnership", brain, later, LATER)
    assert result == [ContractEvent("OwnershipOffered", (brain, owner, later, LATER))]
    assert registry.call("offerOf", brain) == (later, LATER)
    assert registry.brain(brain) == BrainHead(owner, 1, S[1], signer, 1)
    assert registry.send_and_expect_revert(later, "commit", brain, S[2], S[1]) == ("Unauthorized",)


def test_accepting_makes_the_owner_and_leaves_no_signer_and_no_offer(registry, people, brain):
    owner, signer, later, _ = people
    registry.send(owner, "offerOwnership", brain, later, LATER)
    registry.send(signer, "commit", brain, S[2], S[1])
    result = registry.send(later, "acceptOwnership", brain)
    assert result == [
        ContractEvent("OwnershipTransferred", (brain, owner, later, 2)),
        ContractEvent("SignerChanged", (brain, ZERO_ADDRESS, 2, 2)),
    ]
    assert registry.brain(brain) == BrainHead(later, 2, S[2], ZERO_ADDRESS, 2)
    assert registry.call("offerOf", brain) == (ZERO_ADDRESS, 0)
    for former in (owner, signer):
        assert registry.send_and_expect_revert(former, "commit", brain, S[3], S[2]) == (
            "Unauthorized",
        )
    assert registry.send_and_expect_revert(later, "acceptOwnership", brain) == ("Unauthorized",)
    registry.send(later, "commit", brain, S[3], S[2])


@pytest.mark.parametrize("who", [0, 1, 3], ids=["owner", "signer", "stranger"])
def test_only_who_was_offered_the_brain_accepts_it(registry, people, brain, who):
    registry.send(people[0], "offerOwnership", brain, people[2], LATER)
    assert registry.send_and_expect_revert(people[who], "acceptOwnership", brain) == (
        "Unauthorized",
    )


def test_nobody_accepts_what_was_never_offered(registry, people, brain):
    for account in people:
        assert registry.send_and_expect_revert(account, "acceptOwnership", brain) == (
            "Unauthorized",
        )


@pytest.mark.parametrize("instead", [3, None], ids=["another", "nobody"])
def test_an_offer_takes_the_place_of_the_one_before(registry, people, brain, instead):
    owner, _, later, _ = people
    registry.send(owner, "offerOwnership", brain, later, LATER)
    to = ZERO_ADDRESS if instead is None else people[instead]
    result = registry.send(owner, "offerOwnership", brain, to, LATER)
    ends = 0 if instead is None else LATER
    assert result == [ContractEvent("OwnershipOffered", (brain, owner, to, ends))]
    assert registry.send_and_expect_revert(later, "acceptOwnership", brain) == ("Unauthorized",)


def test_the_owner_may_take_a_brain_from_itself(registry, people, brain):
    registry.send(people[0], "offerOwnership", brain, people[0], LATER)
    registry.send(people[0], "acceptOwnership", brain)
    assert registry.brain(brain) == BrainHead(people[0], 1, S[1], ZERO_ADDRESS, 2)
