"""Signers and owners, by the ledger on a real node."""

from collections.abc import Callable

import pytest

from brain.chain.evm import EvmLedger
from brain.chain.evm.abi import ZERO_ADDRESS
from brain.chain.ledger_protocol import INCLUDED
from brain.errors import BrainError
from tests.support.chain.evm_ledgers import funded_account, ledger_config, open_patient_ledger
from tests.support.chain.registry_contract import word_of
from tests.support.error_codes import error_code
from tests.support.refusals import raises_code

S = [word_of(f"snapshot {n}") for n in range(6)]
LATER = 2**40

Ledgers = Callable[[str], EvmLedger]


@pytest.fixture
def brain(request):
    return word_of(request.node.nodeid)


@pytest.fixture
def by(registry, tmp_path, request):
    """The ledger in which the owner opens brains, as somebody by a name uses it."""
    node = registry.node
    owner = funded_account(node, f"owner {request.node.nodeid}")

    def ledger(name: str) -> EvmLedger:
        key = owner if name == "owner" else funded_account(node, f"{name} {request.node.nodeid}")
        config = ledger_config(node, registry.address, creator=owner.address)
        return open_patient_ledger(config, tmp_path / name, key)

    return ledger


@pytest.fixture
def owner(by, brain):
    made = by("owner")
    made.open(brain, S[0])
    return made


def address(ledger: EvmLedger) -> str:
    return ledger.sender


def test_a_stranger_may_not_commit(owner, by, brain):
    assert error_code(by("stranger").commit, brain, S[1], S[0]) == "unauthorized"


def test_a_signer_commits_until_there_is_another(owner, by, brain):
    one, two = by("one signer"), by("another signer")
    assert owner.ownership.set_signer(brain, address(one)).status == INCLUDED
    assert one.commit(brain, S[1], S[0]).sender == address(one)
    owner.ownership.set_signer(brain, address(two))
    assert error_code(one.commit, brain, S[2], S[1]) == "unauthorized"
    assert two.commit(brain, S[2], S[1]).sender == address(two)
    owner.ownership.set_signer(brain, "")
    assert error_code(two.commit, brain, S[3], S[2]) == "unauthorized"
    head = owner.head(brain)
    assert head is not None
    assert (head.owner, head.signer) == (address(owner), "")


def test_a_signer_may_not_name_another(owner, by, brain):
    signer = by("signer")
    owner.ownership.set_signer(brain, address(signer))
    with raises_code("unauthorized", BrainError, match="its signer, which may only commit"):
        signer.ownership.set_signer(brain, address(signer))
    assert error_code(signer.ownership.offer, brain, address(signer), LATER) == "unauthorized"


def test_a_brain_changes_hands_in_two_steps_and_loses_its_signer(owner, by, brain):
    heir, signer = by("heir"), by("signer")
    owner.ownership.set_signer(brain, address(signer))
    assert error_code(heir.ownership.accept, brain) == "unauthorized"
    owner.ownership.offer(brain, address(heir), LATER)
    owner.commit(brain, S[1], S[0])
    heir.ownership.accept(brain)
    assert error_code(owner.commit, brain, S[2], S[1]) == "unauthorized"
    assert error_code(signer.commit, brain, S[2], S[1]) == "unauthorized"
    heir.commit(brain, S[2], S[1])
    head = owner.head(brain)
    assert head is not None
    assert (head.seq, head.owner, head.signer) == (3, address(heir), "")
    assert [one.sender for one in heir.history(brain)] == [
        address(owner), address(owner), address(heir),
    ]  # fmt: skip


def test_an_offer_can_be_withdrawn(owner, by, brain):
    owner.ownership.offer(brain, address(by("heir")), LATER)
    owner.ownership.offer(brain, "", 0)
    assert error_code(by("heir").ownership.accept, brain) == "unauthorized"


def test_an_offer_that_ended_is_said_to_have_ended(owner, by, brain, registry):
    ends = registry.node.block_time() + 60
    owner.ownership.offer(brain, address(by("heir")), ends)
    registry.node.set_next_time(ends + 1)
    registry.node.mine()
    with raises_code(
        "expired", BrainError, match=r"the offer of this brain ended at 2.*Z"
    ) as raised:
        by("heir").ownership.accept(brain)
    assert "offer it again" in raised.value.hint


@pytest.mark.parametrize("who", ["me", "0x12", "0x" + "g" * 40])
def test_what_is_no_address_is_refused(who, owner, brain):
    assert error_code(owner.ownership.set_signer, brain, who) == "bad_address"
    assert error_code(owner.ownership.offer, brain, who, LATER) == "bad_address"


def test_chain_14_nobody_can_open_a_brain_in_the_place_of_another(by, brain, registry, tmp_path):
    # A stranger sees the snapshot in the mempool and commits it first, to the same salt.
    stranger = funded_account(registry.node, "a stranger in front")
    config = ledger_config(registry.node, registry.address)
    theirs = open_patient_ledger(config, tmp_path / "theirs", stranger)
    assert theirs.open(brain, S[0]).seq == 1
    own = by("owner")
    assert own.head(brain) is None
    made = own.open(brain, S[0])
    assert (made.seq, made.sender) == (1, own.creator)
    assert own.registry_id(brain) != theirs.registry_id(brain)
    theirs.commit(brain, S[1], S[0])
    assert [one.snapshot for one in own.history(brain)] == [S[0]]


def test_a_checkpoint_is_anchored_for_its_sender_and_its_log(by):
    made, log = by("owner"), word_of("log")
    assert made.anchors.anchored_checkpoint(address(made), log) == bytes(32)
    quote = made.anchors.quote_anchor(log)
    sent = made.anchors.anchor(log, b"\xfe" * 32)
    assert sent.gas == quote.expected_gas
    assert made.anchors.anchored_checkpoint(address(made), log) == b"\xfe" * 32
    again = made.anchors.anchor(log, S[2])
    assert again.gas is not None
    assert again.gas <= 30_000  # for a thousand brains, 30 each
    assert made.anchors.anchored_checkpoint(ZERO_ADDRESS, log) == bytes(32)
    assert made.anchors.anchored_checkpoint(address(made), word_of("other log")) == bytes(32)
