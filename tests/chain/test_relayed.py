"""`commitFor`: whoever brings a signature of the owner or the signer may send it, once."""

from typing import Any, NamedTuple

import pytest

from tests.support.chain.eip712_signatures import (
    SignedCommit,
    commit_message,
    compact_signature,
    flip_s,
    sign_message,
)
from tests.support.chain.registry_contract import (
    ZERO_ADDRESS,
    ZERO_WORD,
    BrainHead,
    ContractEvent,
    RegistryContract,
    encode_call,
    wallet_key,
    word_of,
)

OWNER, SIGNER, STRANGER = wallet_key("owner"), wallet_key("signer"), wallet_key("stranger")
S = [word_of(f"snapshot {n}") for n in range(6)]
LATER = 2**40
REFUSED = ("Unauthorized",)


class Case(NamedTuple):
    """A brain whose owner and signer have keys and no money, and a relayer who has."""

    registry: RegistryContract
    relayer: str
    brain: bytes

    def commit(self, **changed: Any) -> SignedCommit:
        return SignedCommit(self.brain, S[2], S[1], 2, 1, LATER)._replace(**changed)

    def refuses(self, commit: SignedCommit, by: bytes) -> tuple[object, ...]:
        before = self.registry.brain(self.brain)
        error = self.registry.send_and_expect_revert(
            self.relayer, "commitFor", *commit.call_arguments(by)
        )
        assert self.registry.brain(self.brain) == before
        return error

    def by_owner(self, sender_function: str, *values: object) -> None:
        with self.registry.node.impersonate(OWNER.address) as owner:
            self.registry.send(owner, sender_function, self.brain, *values)


@pytest.fixture
def case(registry, node, request):
    with node.impersonate(OWNER.address) as owner:
        brain = registry.open_brain(owner, word_of(request.node.name), S[1])
        registry.send(owner, "setSigner", brain, SIGNER.address)
    return Case(registry, node.accounts[5], brain)


@pytest.mark.parametrize("key", [OWNER, SIGNER], ids=["owner", "signer"])
def test_a_signature_of_the_owner_or_the_signer_moves_the_head(case, key):
    commit = case.commit()
    by = sign_message(key, commit_message(case.registry, commit))
    result = case.registry.send(case.relayer, "commitFor", *commit.call_arguments(by))
    assert result == [ContractEvent("Committed", (case.brain, S[2], S[1], 2, key.address.lower()))]
    head = case.registry.brain(case.brain)
    assert (head.owner.lower(), head.seq, head.head) == (OWNER.address.lower(), 2, S[2])


def test_a_signature_of_another_is_refused(case):
    commit = case.commit()
    assert (
        case.refuses(commit, sign_message(STRANGER, commit_message(case.registry, commit)))
        == REFUSED
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "BrainRegistry "},
        {"version": "1"},
        {"chainId": 1},
        {"verifyingContract": STRANGER.address},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_signature_for_another_domain_is_refused(case, changed):
    commit = case.commit()
    by = sign_message(OWNER, commit_message(case.registry, commit, **changed))
    assert case.refuses(commit, by) == REFUSED


def test_a_signature_for_another_registry_on_this_chain_is_refused(case):
    commit = case.commit()
    by = sign_message(OWNER, commit_message(RegistryContract(case.registry.node), commit))
    assert case.refuses(commit, by) == REFUSED


@pytest.mark.parametrize(
    "changed",
    [
        {"brain": word_of("another brain")},
        {"snapshot": S[3]},
        {"parent": S[3]},
        {"seq": 1},
        {"seq": 3},
        {"epoch": 0},
        {"epoch": 2},
        {"deadline": LATER - 1},
    ],
    ids=str,
)
def test_a_signature_is_for_every_field_it_was_made_for(case, changed):
    by = sign_message(OWNER, commit_message(case.registry, case.commit(**changed)))
    assert case.refuses(case.commit(), by) == REFUSED


def test_a_signature_is_used_once_and_then_the_head_is_named(case):
    commit = case.commit()
    by = sign_message(OWNER, commit_message(case.registry, commit))
    case.registry.send(case.relayer, "commitFor", *commit.call_arguments(by))
    assert case.refuses(commit, by) == ("StaleParent", S[2], 2)


def test_a_signature_that_comes_after_another_commitment_is_told_which(case):
    commit = case.commit()
    by = sign_message(SIGNER, commit_message(case.registry, commit))
    case.by_owner("commit", S[3], S[1])
    assert case.refuses(commit, by) == ("StaleParent", S[3], 2)


def test_a_signature_is_not_used_again_when_its_parent_is_the_head_once_more(case):
    commit = case.commit()
    by = sign_message(OWNER, commit_message(case.registry, commit))
    case.by_owner("commit", S[2], S[1])
    case.by_owner("commit", S[1], S[2])
    assert case.refuses(commit, by) == REFUSED


def test_a_signature_for_a_parent_that_is_not_the_head_is_refused_and_the_head_named(case):
    commit = case.commit(parent=S[3])
    by = sign_message(OWNER, commit_message(case.registry, commit))
    assert case.refuses(commit, by) == ("StaleParent", S[1], 1)


def test_a_signature_for_no_snapshot_is_refused(case):
    commit = case.commit(snapshot=ZERO_WORD)
    by = sign_message(OWNER, commit_message(case.registry, commit))
    assert case.refuses(commit, by) == ("ZeroSnapshot",)


def test_a_signature_is_good_in_the_second_of_its_deadline_and_not_after(case):
    node = case.registry.node
    moment = node.block_time() + 100
    for when, status in ((moment + 1, "0x0"), (moment + 2, "0x1")):
        deadline = when - 1 if status == "0x0" else when
        commit = case.commit(deadline=deadline)
        by = sign_message(OWNER, commit_message(case.registry, commit))
        node.set_next_time(when)
        data = encode_call("commitFor", *commit.call_arguments(by))
        receipt = node.transact(case.relayer, case.registry.address, data, gas=hex(200_000))
        assert receipt["status"] == status


def test_an_expired_signature_is_refused_as_such(case):
    commit = case.commit(deadline=1)
    by = sign_message(OWNER, commit_message(case.registry, commit))
    assert case.refuses(commit, by) == ("Expired",)


MANGLED = {
    "twin with s in the upper half": flip_s,
    "v 0 or 1": lambda by: by[:64] + bytes([by[64] - 27]),
    "v 29": lambda by: by[:64] + b"\x1d",
    "the other v": lambda by: by[:64] + bytes([55 - by[64]]),
    "compact, 64 bytes": compact_signature,
    "without v": lambda by: by[:64],
    "66 bytes": lambda by: by + b"\0",
    "empty": lambda by: b"",
    "r zero": lambda by: bytes(32) + by[32:],
    "s zero": lambda by: by[:32] + bytes(32) + by[64:],
    "all zero": lambda by: bytes(65),
    "a bit of r": lambda by: bytes([by[0] ^ 1]) + by[1:],
    "a bit of s": lambda by: by[:63] + bytes([by[63] ^ 1]) + by[64:],
}


@pytest.mark.parametrize("mangle", MANGLED.values(), ids=MANGLED)
def test_a_signature_in_any_other_shape_is_refused(case, mangle):
    commit = case.commit()
    by = sign_message(OWNER, commit_message(case.registry, commit))
    assert case.refuses(commit, mangle(by)) == REFUSED


@pytest.mark.parametrize("by", [b"", bytes(65), bytes(64) + b"\x1b"], ids=["none", "zero", "v 27"])
def test_a_brain_never_opened_has_nobody_who_could_sign(case, by):
    commit = SignedCommit(word_of("never opened"), S[1], ZERO_WORD, 1, 0, LATER)
    assert case.refuses(commit, by) == REFUSED


def test_no_signature_recovers_to_the_signer_that_is_nobody(case):
    case.by_owner("setSigner", ZERO_ADDRESS)
    for by in (b"", bytes(65), bytes(64) + b"\x1b", bytes(64) + b"\x1c"):
        assert case.refuses(case.commit(), by) == REFUSED


def test_a_signer_that_was_changed_signs_no_more(case):
    commit = case.commit()
    by = sign_message(SIGNER, commit_message(case.registry, commit))
    case.by_owner("setSigner", STRANGER.address)
    assert case.refuses(commit, by) == REFUSED


def test_a_transfer_ends_the_rights_of_those_who_signed_before(case):
    commit = case.commit()
    text = commit_message(case.registry, commit)
    case.by_owner("offerOwnership", STRANGER.address, LATER)
    with case.registry.node.impersonate(STRANGER.address) as later:
        case.registry.send(later, "acceptOwnership", case.brain)
    for key in (OWNER, SIGNER):
        assert case.refuses(commit, sign_message(key, text)) == REFUSED
    by = sign_message(STRANGER, commit_message(case.registry, commit._replace(epoch=2)))
    case.registry.send(case.relayer, "commitFor", *commit.call_arguments(by))
    assert case.registry.brain(case.brain) == BrainHead(
        STRANGER.address.lower(), 2, S[2], ZERO_ADDRESS, 2
    )
