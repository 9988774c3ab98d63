"""A Safe, a wallet contract of several owners, owns a brain: by transactions and by permits."""

from typing import Any

import pytest
from eth_account.messages import SignableMessage
from eth_utils.crypto import keccak

from tests.support.chain.eip712_signatures import SignedCommit, commit_message, permit_message
from tests.support.chain.registry_contract import (
    ZERO_ADDRESS,
    BrainHead,
    RegistryContract,
    decode_event,
    encode_call,
    wallet_key,
    word_of,
)
from tests.support.chain.safe_wallet import SafeWallet, deploy_safe

OWNERS = [wallet_key(f"owner {n} of a safe") for n in range(3)]
S = [word_of(f"snapshot {n}") for n in range(6)]
LATER = 2**40


@pytest.fixture(scope="module")
def safe(node):
    return deploy_safe(node, OWNERS, 2)


@pytest.fixture
def salt(request):
    return word_of(request.node.name)


def call_as(safe: SafeWallet, registry: RegistryContract, name: str, *values: object) -> list[str]:
    """Call a function of the registry as the Safe; return the names of the events."""
    receipt = safe.execute(registry.address, encode_call(name, *values))
    assert receipt["status"] == "0x1"
    logs = [log for log in receipt["logs"] if log["address"] == registry.address]
    return [decode_event(log).name for log in logs]


def sign(safe: SafeWallet, text: SignableMessage, signers: Any = None) -> bytes:
    """Return the signature of the Safe over an EIP-712 message."""
    digest = keccak(b"\x19" + text.version + text.header + text.body)
    return safe.sign_digest(digest, signers)


def open_as(safe: SafeWallet, registry: RegistryContract, salt: bytes) -> bytes:
    call_as(safe, registry, "open", salt, S[1])
    brain: bytes = registry.call("idOf", safe.address, salt)[0]
    return brain


def test_a_safe_opens_commits_sets_a_signer_and_supersedes(safe, registry, salt):
    signer = safe.node.accounts[3]
    assert call_as(safe, registry, "open", salt, S[1]) == ["Opened", "Committed"]
    brain = registry.call("idOf", safe.address, salt)[0]
    assert call_as(safe, registry, "commit", brain, S[2], S[1]) == ["Committed"]
    assert call_as(safe, registry, "setSigner", brain, signer) == ["SignerChanged"]
    registry.send(signer, "commit", brain, S[5], S[2])
    events = call_as(safe, registry, "supersede", brain, S[3], S[5], 3)
    assert events == ["Disowned", "SignerChanged", "Committed"]
    assert registry.brain(brain) == BrainHead(safe.address, 4, S[3], ZERO_ADDRESS, 2, 1)


def test_a_safe_hands_a_brain_over_and_takes_one(safe, registry, salt):
    brain, person = open_as(safe, registry, salt), safe.node.accounts[4]
    assert call_as(safe, registry, "offerOwnership", brain, person, LATER) == ["OwnershipOffered"]
    registry.send(person, "acceptOwnership", brain)
    assert registry.brain(brain).owner == person
    registry.send(person, "offerOwnership", brain, safe.address, LATER)
    events = call_as(safe, registry, "acceptOwnership", brain)
    assert events == ["OwnershipTransferred", "SignerChanged"]
    assert registry.brain(brain).owner == safe.address


def test_one_owner_of_two_moves_nothing(safe, registry, salt):
    brain = open_as(safe, registry, salt)
    data = encode_call("commit", brain, S[2], S[1])
    assert safe.execute(registry.address, data, OWNERS[:1])["status"] == "0x0"
    assert registry.brain(brain).head == S[1]


def test_a_safe_permits_all_that_can_be_permitted_while_another_pays(safe, registry, salt):
    payer, signer = safe.node.accounts[5], safe.node.accounts[3]
    fields = (safe.address, salt, S[1], LATER)
    by = sign(safe, permit_message(registry, "Open", *fields))
    events = registry.send(payer, "openFor", *fields, by)
    assert [event.name for event in events] == ["Opened", "Committed"]
    brain = registry.call("idOf", safe.address, salt)[0]
    commit = SignedCommit(brain, S[2], S[1], 2, 0, LATER)
    by = sign(safe, commit_message(registry, commit))
    registry.send(payer, "commitFor", *commit.call_arguments(by))
    text = permit_message(registry, "SetSigner", brain, signer, 0, LATER)
    # Any two of the three owners may sign.
    by = sign(safe, text, OWNERS[1:])
    registry.send(payer, "setSignerFor", brain, signer, LATER, by)
    assert registry.brain(brain) == BrainHead(safe.address, 2, S[2], signer, 1)


def test_a_permit_that_too_few_owners_signed_is_refused(safe, registry, salt):
    brain, payer = open_as(safe, registry, salt), safe.node.accounts[5]
    commit = SignedCommit(brain, S[2], S[1], 2, 0, LATER)
    text = commit_message(registry, commit)
    stranger = wallet_key("stranger")
    for signers in (OWNERS[:1], [OWNERS[0], stranger], [OWNERS[0], OWNERS[0]], []):
        values = commit.call_arguments(sign(safe, text, signers))
        refused = registry.send_and_expect_revert(payer, "commitFor", *values)
        assert refused == ("Unauthorized",)


def test_a_permit_of_a_safe_works_once_and_not_for_another_brain(safe, registry, salt):
    brain, payer = open_as(safe, registry, salt), safe.node.accounts[5]
    other = open_as(safe, registry, word_of("another brain of the safe"))
    text = permit_message(registry, "SetSigner", brain, payer, 0, LATER)
    by = sign(safe, text)
    refused = registry.send_and_expect_revert(payer, "setSignerFor", other, payer, LATER, by)
    assert refused == ("Unauthorized",)
    registry.send(payer, "setSignerFor", brain, payer, LATER, by)
    refused = registry.send_and_expect_revert(payer, "setSignerFor", brain, payer, LATER, by)
    assert refused == ("Unauthorized",)


def test_a_safe_is_the_signer_of_a_brain_that_a_key_owns(safe, registry, salt):
    owner, payer = safe.node.accounts[1], safe.node.accounts[5]
    brain = registry.open_brain(owner, salt, S[1])
    registry.send(owner, "setSigner", brain, safe.address)
    assert call_as(safe, registry, "commit", brain, S[2], S[1]) == ["Committed"]
    commit = SignedCommit(brain, S[3], S[2], 3, 1, LATER)
    by = sign(safe, commit_message(registry, commit))
    (event,) = registry.send(payer, "commitFor", *commit.call_arguments(by))
    assert event.fields[-1] == safe.address
