"""Permits of the owner: opening a brain and changing its signer, paid by somebody else."""

from typing import Any, NamedTuple

import pytest

from tests.support.chain.eip712_signatures import (
    SignedCommit,
    commit_message,
    flip_s,
    permit_message,
    sign_message,
)
from tests.support.chain.registry_contract import (
    ZERO_ADDRESS,
    ZERO_WORD,
    BrainHead,
    ContractEvent,
    RegistryContract,
    wallet_key,
    word_of,
)

OWNER, SIGNER, STRANGER = wallet_key("owner"), wallet_key("signer"), wallet_key("stranger")
S = [word_of(f"snapshot {n}") for n in range(6)]
LATER = 2**40
REFUSED = ("Unauthorized",)


class Case(NamedTuple):
    """An owner with a key and no money, and a relayer who pays."""

    registry: RegistryContract
    relayer: str
    salt: bytes

    @property
    def brain(self) -> bytes:
        found: bytes = self.registry.call("idOf", OWNER.address, self.salt)[0]
        return found

    def open_arguments(self, key: Any = OWNER, **changed: Any) -> tuple[object, ...]:
        fields = {"owner": OWNER.address, "salt": self.salt, "snapshot": S[1], "deadline": LATER}
        text = permit_message(self.registry, "Open", *{**fields, **changed}.values())
        return (*fields.values(), sign_message(key, text))

    def signer_arguments(self, number: int, key: Any = OWNER, **changed: Any) -> tuple[object, ...]:
        fields = {"brainId": self.brain, "signer": SIGNER.address}
        ends = {"epoch": number, "deadline": LATER}
        text = permit_message(self.registry, "SetSigner", *{**fields, **ends, **changed}.values())
        return (*fields.values(), LATER, sign_message(key, text))

    def open(self) -> None:
        self.registry.send(self.relayer, "openFor", *self.open_arguments())

    def refuses(self, name: str, *values: object) -> tuple[object, ...]:
        return self.registry.send_and_expect_revert(self.relayer, name, *values)


@pytest.fixture
def case(registry, node, request):
    return Case(registry, node.accounts[5], word_of(request.node.name))


def test_a_brain_is_opened_for_its_owner_while_another_pays(case):
    result = case.registry.send(case.relayer, "openFor", *case.open_arguments())
    owner = OWNER.address.lower()
    assert result == [
        ContractEvent("Opened", (case.brain, owner, case.salt)),
        ContractEvent("Committed", (case.brain, S[1], ZERO_WORD, 1, owner)),
    ]
    assert case.registry.brain(case.brain) == BrainHead(owner, 1, S[1], ZERO_ADDRESS)


def test_a_permit_to_open_works_once(case):
    case.open()
    assert case.refuses("openFor", *case.open_arguments()) == ("Exists",)


@pytest.mark.parametrize(
    "changed",
    [{"owner": STRANGER.address}, {"salt": S[5]}, {"snapshot": S[2]}, {"deadline": LATER - 1}],
    ids=lambda changed: next(iter(changed)),
)
def test_a_permit_to_open_is_for_every_field_it_was_made_for(case, changed):
    assert case.refuses("openFor", *case.open_arguments(**changed)) == REFUSED


def test_nobody_opens_a_brain_for_another_without_a_permit(case):
    *fields, signature = case.open_arguments(STRANGER)
    assert case.refuses("openFor", *fields, signature) == REFUSED
    *fields, signature = case.open_arguments()
    assert case.refuses("openFor", *fields, flip_s(bytes(signature))) == REFUSED  # type: ignore[call-overload]
    assert case.refuses("openFor", *fields, b"") == REFUSED


def test_nobody_opens_a_brain_for_the_account_that_is_nobody(case):
    for signature in (b"", bytes(65), bytes(64) + b"\x1b"):
        values = (ZERO_ADDRESS, case.salt, S[1], LATER, signature)
        assert case.refuses("openFor", *values) == REFUSED


def test_a_permit_expires(case):
    values = (OWNER.address, case.salt, S[1], 1, bytes(65))
    assert case.refuses("openFor", *values) == ("Expired",)
    case.open()
    assert case.refuses("setSignerFor", case.brain, SIGNER.address, 1, bytes(65)) == ("Expired",)


def test_the_signer_is_changed_for_the_owner_while_another_pays(case):
    case.open()
    result = case.registry.send(case.relayer, "setSignerFor", *case.signer_arguments(0))
    signer = SIGNER.address.lower()
    assert result == [ContractEvent("SignerChanged", (case.brain, signer, 1, 1))]
    assert case.registry.brain(case.brain) == BrainHead(OWNER.address.lower(), 1, S[1], signer, 1)


def test_a_permit_to_change_the_signer_works_once(case):
    case.open()
    values = case.signer_arguments(0)
    case.registry.send(case.relayer, "setSignerFor", *values)
    assert case.refuses("setSignerFor", *values) == REFUSED


@pytest.mark.parametrize(
    "changed",
    [{"brainId": S[5]}, {"signer": STRANGER.address}, {"epoch": 1}, {"deadline": LATER - 1}],
    ids=lambda changed: next(iter(changed)),
)
def test_a_permit_to_change_the_signer_is_for_every_field_it_was_made_for(case, changed):
    case.open()
    assert case.refuses("setSignerFor", *case.signer_arguments(0, **changed)) == REFUSED


@pytest.mark.parametrize("key", [SIGNER, STRANGER], ids=["signer", "stranger"])
def test_only_the_owner_permits_a_change_of_the_signer(case, key):
    case.open()
    case.registry.send(case.relayer, "setSignerFor", *case.signer_arguments(0))
    assert case.refuses("setSignerFor", *case.signer_arguments(1, key)) == REFUSED


def test_a_revoked_permit_stays_revoked_when_its_signer_is_named_again(case):
    case.open()
    case.registry.send(case.relayer, "setSignerFor", *case.signer_arguments(0))
    commit = SignedCommit(case.brain, S[2], S[1], 2, 1, LATER)
    signature = sign_message(SIGNER, commit_message(case.registry, commit))
    for signer in (ZERO_ADDRESS, SIGNER.address):
        with case.registry.node.impersonate(OWNER.address) as owner:
            case.registry.send(owner, "setSigner", case.brain, signer)
    values = commit.call_arguments(signature)
    assert case.refuses("commitFor", *values) == REFUSED


def test_a_permit_of_an_owner_is_void_after_the_brain_went_away_and_came_back(case):
    case.open()
    commit = SignedCommit(case.brain, S[2], S[1], 2, 0, LATER)
    signature = sign_message(OWNER, commit_message(case.registry, commit))
    node = case.registry.node
    with node.impersonate(OWNER.address) as owner, node.impersonate(STRANGER.address) as other:
        for former, later in ((owner, other), (other, owner)):
            case.registry.send(former, "offerOwnership", case.brain, later, LATER)
            case.registry.send(later, "acceptOwnership", case.brain)
    assert case.refuses("commitFor", *commit.call_arguments(signature)) == REFUSED


def test_an_offer_is_accepted_in_its_last_second_and_not_after(case):
    case.open()
    node, registry = case.registry.node, case.registry
    with node.impersonate(OWNER.address) as owner, node.impersonate(STRANGER.address) as other:
        ends = node.block_time() + 100
        registry.send(owner, "offerOwnership", case.brain, other, ends)
        node.set_next_time(ends)
        registry.send(other, "acceptOwnership", case.brain)
        registry.send(other, "offerOwnership", case.brain, owner, ends + 100)
        node.set_next_time(ends + 101)
        node.mine()
        late = registry.send_and_expect_revert(owner, "acceptOwnership", case.brain)
        assert late == ("Expired",)


def test_an_offer_that_has_ended_already_is_refused_and_one_to_nobody_never(case):
    case.open()
    registry = case.registry
    with registry.node.impersonate(OWNER.address) as owner:
        ended = registry.send_and_expect_revert(
            owner, "offerOwnership", case.brain, case.relayer, 1
        )
        assert ended == ("Expired",)
        registry.send(owner, "offerOwnership", case.brain, case.relayer, LATER)
        registry.send(owner, "offerOwnership", case.brain, ZERO_ADDRESS, LATER)
        assert registry.call("offerOf", case.brain) == (ZERO_ADDRESS, 0)


def test_the_domain_of_permits_is_told(case):
    registry = case.registry
    assert registry.call("eip712Domain") == (
        b"\x0f",
        "BrainRegistry",
        "2",
        registry.node.chain,
        registry.address.lower(),
        ZERO_WORD,
        (),
    )
