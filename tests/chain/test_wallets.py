"""Wallet contracts as owner and signer, by ERC-1271: honest ones, and others."""

import itertools
from pathlib import Path
from typing import NamedTuple

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from tests.support import anvil_node
from tests.support.chain import contract_compiler
from tests.support.chain.eip712_signatures import SignedCommit, commit_message, sign_message
from tests.support.chain.registry_contract import ContractEvent, encode_call, wallet_key, word_of

KEY, STRANGER = wallet_key("behind the wallet 434"), wallet_key("stranger")
"""The address of the first ends with a zero byte, like the word of ERC-1271. So do the ids of the
brains here: what lies in memory where the answer goes should not complete one that is short."""

S = [word_of(f"snapshot {n}") for n in range(6)]
LATER = 2**40
MANNERS = (
    "honest, wrong word, reverting, short, dirty, nothing, long, busy, committing, "
    "reverting with the word"
).split(", ")


class Wallet(NamedTuple):
    """A wallet contract, and the account that pays for what it does."""

    node: anvil_node.Anvil
    address: str
    payer: str

    def behave(self, manner: str) -> None:
        number = MANNERS.index(manner)
        data = keccak(text="behave(uint8)")[:4] + encode(["uint8"], [number])
        assert self.node.transact(self.payer, self.address, data)["status"] == "0x1"

    def execute(self, to: str, data: bytes) -> None:
        call = encode(["address", "bytes"], [to, data])
        data = keccak(text="execute(address,bytes)")[:4] + call
        assert self.node.transact(self.payer, self.address, data)["status"] == "0x1"


@pytest.fixture(scope="module")
def creation():
    source = Path(contract_compiler.__file__).with_name("Wallet.sol").read_text("utf-8")
    built = contract_compiler.compile_contract("Wallet.sol", source)["Wallet"]
    code = bytes.fromhex(built["evm"]["bytecode"]["object"])
    return code + encode(["address"], [KEY.address])


@pytest.fixture
def contract(node, creation):
    return Wallet(node, node.deploy(creation), node.accounts[0])


@pytest.fixture
def brain(registry, contract):
    """A brain opened by the wallet itself."""
    salts = ((salt, brain_id(contract.address, salt)) for salt in map(word_of, itertools.count()))
    salt, opened = next(each for each in salts if each[1].endswith(b"\0"))
    contract.execute(registry.address, encode_call("open", salt, S[1]))
    assert registry.brain(opened).owner == contract.address
    return opened


def brain_id(creator: str, salt: bytes) -> bytes:
    return keccak(encode(["address", "bytes32"], [creator, salt]))


def test_a_wallet_that_owns_a_brain_commits(registry, contract, brain):
    contract.execute(registry.address, encode_call("commit", brain, S[2], S[1]))
    assert registry.brain(brain).head == S[2]


def test_what_a_wallet_accepts_moves_the_head(registry, contract, brain):
    commit = SignedCommit(brain, S[2], S[1], 2, registry.brain(brain).epoch, LATER)
    by = sign_message(KEY, commit_message(registry, commit))
    result = registry.send(contract.payer, "commitFor", *commit.call_arguments(by))
    assert result == [ContractEvent("Committed", (brain, S[2], S[1], 2, contract.address))]


def test_a_wallet_may_be_the_signer_of_a_brain_that_a_key_owns(registry, contract):
    owner = registry.node.accounts[1]
    brain = registry.open_brain(owner, word_of(contract.address), S[1])
    registry.send(owner, "setSigner", brain, contract.address)
    commit = SignedCommit(brain, S[2], S[1], 2, registry.brain(brain).epoch, LATER)
    by = sign_message(KEY, commit_message(registry, commit))
    registry.send(contract.payer, "commitFor", *commit.call_arguments(by))
    assert registry.brain(brain).head == S[2]


def test_a_key_may_be_the_signer_of_a_brain_that_a_wallet_owns(registry, contract, brain):
    contract.execute(registry.address, encode_call("setSigner", brain, STRANGER.address))
    commit = SignedCommit(brain, S[2], S[1], 2, registry.brain(brain).epoch, LATER)
    by = sign_message(STRANGER, commit_message(registry, commit))
    registry.send(contract.payer, "commitFor", *commit.call_arguments(by))
    assert registry.brain(brain).head == S[2]


def test_what_a_wallet_does_not_accept_is_refused(registry, contract, brain):
    commit = SignedCommit(brain, S[2], S[1], 2, registry.brain(brain).epoch, LATER)
    for by in (
        sign_message(STRANGER, commit_message(registry, commit)),
        b"",
        bytes(65),
        bytes(1000),
    ):
        error = registry.send_and_expect_revert(
            contract.payer, "commitFor", *commit.call_arguments(by)
        )
        assert error == ("Unauthorized",)


BAD = [manner for manner in MANNERS if manner not in ("honest", "long")]


@pytest.mark.parametrize("manner", BAD)
def test_a_wallet_that_does_not_say_the_word_has_not_accepted(registry, contract, brain, manner):
    commit = SignedCommit(brain, S[2], S[1], 2, registry.brain(brain).epoch, LATER)
    by = sign_message(KEY, commit_message(registry, commit))
    contract.behave(manner)
    error = registry.send_and_expect_revert(contract.payer, "commitFor", *commit.call_arguments(by))
    assert error == ("Unauthorized",)
    assert registry.brain(brain).seq == 1


def test_of_a_long_answer_only_the_word_is_read(registry, contract, brain):
    commit = SignedCommit(brain, S[2], S[1], 2, registry.brain(brain).epoch, LATER)
    by = sign_message(KEY, commit_message(registry, commit))
    contract.behave("long")
    registry.send(contract.payer, "commitFor", *commit.call_arguments(by))
    assert registry.brain(brain).head == S[2]


def test_a_wallet_asked_for_another_brain_has_not_accepted(registry, contract, brain):
    owner = registry.node.accounts[1]
    other = registry.open_brain(owner, word_of("another brain"), S[1])
    commit = SignedCommit(other, S[2], S[1], 2, registry.brain(other).epoch, LATER)
    by = sign_message(KEY, commit_message(registry, commit))
    error = registry.send_and_expect_revert(contract.payer, "commitFor", *commit.call_arguments(by))
    assert error == ("Unauthorized",)


def test_an_owner_that_has_code_by_delegation_still_signs_with_its_key(registry, node, contract):
    with node.impersonate(STRANGER.address) as owner:
        brain = registry.open_brain(owner, S[0], S[1])
    node.set_code(STRANGER.address, bytes.fromhex("ef0100" + contract.address[2:]))
    commit = SignedCommit(brain, S[2], S[1], 2, registry.brain(brain).epoch, LATER)
    by = sign_message(STRANGER, commit_message(registry, commit))
    registry.send(contract.payer, "commitFor", *commit.call_arguments(by))
    assert registry.brain(brain).head == S[2]
