"""Permits by the ledger on a real node: who may sign, what is told before anything is paid."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from eth_account.messages import encode_typed_data
from eth_utils.crypto import keccak

from brain.chain.evm import EvmLedger
from brain.chain.evm.permit_file import PermitFile
from brain.chain.ledger_protocol import INCLUDED, PENDING, CommitRequest
from brain.errors import BrainError
from brain.util.utc_time import iso_second
from tests.support.chain.evm_ledgers import funded_account, ledger_config, open_patient_ledger
from tests.support.chain.registry_contract import wallet_key, word_of
from tests.support.chain.safe_wallet import deploy_safe
from tests.support.error_codes import error_code
from tests.support.refusals import raises_code

S = [word_of(f"snapshot {n}") for n in range(6)]
LATER = 2**40

Ledgers = Callable[[str], EvmLedger]
Permit = dict[str, Any]


@pytest.fixture
def brain(request):
    return word_of(request.node.nodeid)


@pytest.fixture
def by(registry, tmp_path, request):
    """The ledger in which the owner opens brains, as somebody by a name uses it.

    The owner has no money.
    """
    node = registry.node
    owner = funded_account(node, f"owner {request.node.nodeid}")
    node.set_balance(owner.address, 0)

    def ledger(name: str) -> EvmLedger:
        key = owner if name == "owner" else funded_account(node, f"{name} {request.node.nodeid}")
        config = ledger_config(node, registry.address, creator=owner.address)
        return open_patient_ledger(config, tmp_path / name, key)

    return ledger


def sign(ledger: EvmLedger, unsigned: PermitFile) -> Permit:
    """Return a signed permit as it is read from its file."""
    written: Permit = json.loads(json.dumps(ledger.permits.sign(unsigned).document()))
    return written


def permit_open(ledger: EvmLedger, brain: bytes, deadline: int = LATER) -> Permit:
    return sign(ledger, ledger.permits.build_open(brain, S[0], deadline))


def permit_commit(
    ledger: EvmLedger, brain: bytes, snapshot: bytes, parent: bytes, deadline: int = LATER
) -> Permit:
    request = CommitRequest(brain, snapshot, parent)
    return sign(ledger, ledger.permits.build_commit(request, deadline))


def permit_signer(ledger: EvmLedger, brain: bytes, signer: str, deadline: int = LATER) -> Permit:
    return sign(ledger, ledger.permits.build_signer(brain, signer, deadline))


@pytest.fixture
def owner(by, brain):
    """The owner, whose brain another account opened."""
    made = by("owner")
    by("relayer").permits.relay(permit_open(made, brain))
    return made


def test_a_brain_is_opened_led_and_committed_by_an_owner_without_money(by, brain):
    owner, relayer, signer = by("owner"), by("relayer"), by("signer")
    permit = permit_open(owner, brain)
    quote = relayer.permits.quote_relay(permit)
    sent = relayer.permits.relay(permit)
    assert (sent.status, sent.gas) == (INCLUDED, quote.expected_gas)
    relayer.permits.relay(permit_signer(owner, brain, signer.sender))
    relayer.permits.relay(permit_commit(owner, brain, S[1], S[0]))
    signer.commit(brain, S[2], S[1])
    head = owner.head(brain)
    assert head is not None
    assert (head.owner, head.signer, head.seq) == (owner.sender, signer.sender, 3)
    assert [(one.sender, one.author) for one in owner.history(brain)] == [
        (relayer.sender, owner.sender),
        (relayer.sender, owner.sender),
        (signer.sender, signer.sender),
    ]


def test_a_permit_that_was_used_is_said_to_be_and_costs_nothing(owner, by, brain, registry):
    relayer = by("relayer")
    commit = permit_commit(owner, brain, S[1], S[0])
    made = relayer.permits.relay(commit)
    naming = permit_signer(owner, brain, by("signer").sender)
    relayer.permits.relay(naming)
    removing = permit_signer(owner, brain, "")
    relayer.permits.relay(removing)
    money = int(registry.node.call("eth_getBalance", relayer.sender, "latest"), 16)
    with pytest.raises(BrainError, match=f"already used: commitment 2 is in .*{made.transaction}"):
        relayer.permits.relay(commit)
    with pytest.raises(BrainError, match="already used: nobody is the signer"):
        relayer.permits.relay(removing)
    assert error_code(relayer.permits.quote_relay, commit) == "permit_used"
    # It was used, but whether that or another change of the signer is not known any more.
    assert error_code(relayer.permits.relay, naming) == "permit_void"
    assert int(registry.node.call("eth_getBalance", relayer.sender, "latest"), 16) == money


def test_a_permit_out_of_its_order_is_told_what_it_is_for(owner, by, brain):
    permit = permit_commit(owner, brain, S[1], S[0])
    permit["message"] |= {"seq": 3, "parent": "0x" + S[2].hex()}
    with pytest.raises(
        BrainError, match=r"is for commitment 3 after .*, and local is at"
    ) as raised:
        by("relayer").permits.relay(permit)
    assert raised.value.code == "stale_parent" and "first" in raised.value.hint


def test_a_permit_for_what_is_committed_already_is_not_made(owner, brain):
    with raises_code("nothing_new", BrainError, match=r"nothing new: local has .* as commitment 1"):
        permit_commit(owner, brain, S[0], S[0])


def test_a_permit_whose_transaction_is_pending_is_not_sent_twice(
    owner, by, brain, registry, tmp_path
):
    permit = permit_commit(owner, brain, S[1], S[0])
    key = funded_account(registry.node, "a relayer in a hurry")
    hurried = open_patient_ledger(by("relayer").config, tmp_path / "hurried", key, patience=0.0)
    registry.node.set_automine(False)
    try:
        sent = hurried.permits.relay(permit)
        assert sent.status == PENDING
        assert hurried.permits.relay(permit).transaction == sent.transaction
    finally:
        registry.node.mine()
        registry.node.set_automine(True)
    with pytest.raises(BrainError, match=f"already used: .* {sent.transaction}"):
        hurried.permits.relay(permit)


def test_an_opening_works_once_and_is_not_signed_for_a_brain_that_is_open(by, brain):
    owner, relayer = by("owner"), by("relayer")
    permit = permit_open(owner, brain)
    relayer.permits.relay(permit)
    with raises_code("permit_used", BrainError, match="already used: commitment 1"):
        relayer.permits.relay(permit)
    assert error_code(permit_open, owner, brain) == "already_open"


def test_an_opening_with_another_snapshot_than_the_first_is_told(by, brain):
    owner, relayer = by("owner"), by("relayer")
    other = sign(owner, owner.permits.build_open(brain, S[1], LATER))
    relayer.permits.relay(permit_open(owner, brain))
    with raises_code("already_open", BrainError, match="has this brain already"):
        relayer.permits.relay(other)


def test_permits_are_void_after_the_signer_was_removed_and_named_again(owner, by, brain):
    relayer, signer = by("relayer"), by("signer")
    relayer.permits.relay(permit_signer(owner, brain, signer.sender))
    of_signer = permit_commit(signer, brain, S[1], S[0])
    of_owner = permit_commit(owner, brain, S[2], S[0])
    naming = permit_signer(owner, brain, relayer.sender)
    for name in ("", signer.sender):
        relayer.permits.relay(permit_signer(owner, brain, name))
    for permit in (of_signer, of_owner, naming):
        assert error_code(relayer.permits.relay, permit) == "permit_void"


def test_a_signer_permits_commitments_alone_and_a_stranger_nothing(owner, by, brain):
    relayer, signer, stranger = by("relayer"), by("signer"), by("stranger")
    relayer.permits.relay(permit_signer(owner, brain, signer.sender))
    relayer.permits.relay(permit_commit(signer, brain, S[1], S[0]))
    with raises_code("unauthorized", BrainError, match="its signer, which may only commit"):
        permit_signer(signer, brain, "")
    with pytest.raises(BrainError, match="has no right to it"):
        permit_signer(stranger, brain, "")
    with pytest.raises(BrainError, match="is neither the owner of this brain"):
        permit_commit(stranger, brain, S[2], S[1])
    assert error_code(permit_commit, owner, brain, S[2], S[0]) == "stale_parent"
    unopened = word_of("never opened")
    assert error_code(permit_commit, owner, unopened, S[2], S[0]) == "not_open"
    assert error_code(permit_signer, owner, unopened, "") == "not_open"
    with pytest.raises(BrainError, match=f"only {owner.sender}, the creator"):
        permit_open(signer, unopened)


def test_a_permit_that_another_commitment_overtook_is_told(owner, by, brain):
    relayer = by("relayer")
    overtaken = permit_commit(owner, brain, S[1], S[0])
    relayer.permits.relay(permit_commit(owner, brain, S[2], S[0]))
    with raises_code("stale_parent", BrainError, match="another commitment 2 was made before"):
        relayer.permits.relay(overtaken)


def test_a_later_commitment_of_the_same_two_snapshots_is_not_taken_for_that_of_the_permit(
    owner, by, brain
):
    relayer, overtaken = by("relayer"), permit_commit(owner, brain, S[1], S[0])
    for snapshot, parent in ((S[2], S[0]), (S[0], S[2]), (S[1], S[0])):
        relayer.permits.relay(permit_commit(owner, brain, snapshot, parent))
    assert error_code(relayer.permits.relay, overtaken) == "stale_parent"


@pytest.mark.parametrize("kind", ["open", "commit", "signer"])
def test_permits_of_each_kind_expire(kind, by, brain, registry):
    owner, relayer = by("owner"), by("relayer")
    opening = permit_open(owner, brain)
    deadline = registry.node.block_time() + 60
    if kind == "open":
        permit = permit_open(owner, brain, deadline)
    else:
        relayer.permits.relay(opening)
        if kind == "commit":
            permit = permit_commit(owner, brain, S[1], S[0], deadline)
        else:
            permit = permit_signer(owner, brain, "", deadline)
    registry.node.set_next_time(deadline + 1)
    registry.node.mine()
    with raises_code("expired", BrainError, match=f"permit expired at {iso_second(deadline)}"):
        relayer.permits.relay(permit)


def test_a_permit_that_has_expired_is_not_signed(owner, brain):
    assert error_code(permit_commit, owner, brain, S[1], S[0], 1) == "expired"


@pytest.mark.parametrize("field", ["brainId", "snapshot", "parent", "deadline", "signature"])
def test_a_permit_that_was_changed_is_refused(field, owner, by, brain):
    permit = permit_commit(owner, brain, S[1], S[0])
    if field == "signature":
        permit["signature"] = permit["signature"][:-2] + "00"
    else:
        permit["message"][field] = LATER + 1 if field == "deadline" else "0x" + S[5].hex()
    codes = {"brainId": "not_open", "parent": "stale_parent"}
    assert error_code(by("relayer").permits.relay, permit) == codes.get(field, "unauthorized")


@pytest.mark.parametrize("field", ["owner", "salt", "snapshot", "deadline"])
def test_an_opening_that_was_changed_is_refused(field, by, brain):
    permit = permit_open(by("owner"), brain)
    other = {"deadline": LATER + 1, "owner": by("relayer").sender}.get(field, "0x" + S[5].hex())
    permit["message"][field] = other
    assert error_code(by("relayer").permits.relay, permit) == "unauthorized"


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [("chainId", 5, "chain: 5"), ("verifyingContract", "0x" + "12" * 20, "contract: 0x1212")],
)
def test_a_permit_for_another_chain_or_contract_is_refused(field, value, named, owner, by, brain):
    permit = permit_commit(owner, brain, S[1], S[0])
    permit["domain"][field] = value
    with raises_code("wrong_chain", BrainError, match=f"is for another {named}"):
        by("relayer").permits.relay(permit)


def test_a_permit_that_is_not_signed_says_how_to_sign_it(owner, by, brain):
    unsigned = owner.permits.build_signer(brain, "", LATER)
    with raises_code("bad_permit", BrainError, match="is not signed") as raised:
        by("relayer").permits.relay(unsigned.document())
    assert "eth_signTypedData_v4" in raised.value.hint


def test_a_permit_is_relayed_as_another_wallet_writes_it(owner, by, brain):
    permit = permit_commit(owner, brain, S[1], S[0])
    del permit["types"]["EIP712Domain"]
    permit["domain"]["chainId"] = str(permit["domain"]["chainId"])
    contract = permit["domain"]["verifyingContract"]
    permit["domain"]["verifyingContract"] = "0x" + contract[2:].upper()
    permit["message"]["deadline"] = str(permit["message"]["deadline"])
    assert by("relayer").permits.relay(permit).status == INCLUDED


def test_a_safe_opens_commits_and_names_a_signer_while_another_pays(by, brain, registry, tmp_path):
    owners = [wallet_key(f"owner {n} of the safe") for n in range(3)]
    safe, relayer = deploy_safe(registry.node, owners, 2), by("relayer")
    config = ledger_config(registry.node, registry.address, creator=safe.address)
    keyless = open_patient_ledger(config, tmp_path / "safe", None)

    def relay_signed(unsigned: PermitFile, signers: Any = None) -> None:
        document = unsigned.document()
        text = encode_typed_data(full_message=document)
        digest = keccak(b"\x19" + text.version + text.header + text.body)
        document["signature"] = "0x" + safe.sign_digest(digest, signers).hex()
        relayer.permits.relay(document)

    opening = keyless.permits.build_open(brain, S[0], LATER)
    assert error_code(relay_signed, opening, owners[:1]) == "unauthorized"
    relay_signed(opening)
    relay_signed(keyless.permits.build_commit(CommitRequest(brain, S[1], S[0]), LATER))
    relay_signed(keyless.permits.build_signer(brain, relayer.sender, LATER))
    head = keyless.head(brain)
    assert head is not None
    assert (head.owner, head.seq, head.signer) == (safe.address, 2, relayer.sender)
    assert [one.author for one in keyless.history(brain)] == [safe.address, safe.address]
