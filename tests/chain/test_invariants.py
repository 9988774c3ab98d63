"""Short runs of `python -m tests.support.chain.registry_campaign`, without and with bugs."""

import pytest
from eth_utils.crypto import keccak

from tests.support.chain import contract_compiler
from tests.support.chain.eip712_signatures import PERMIT_FIELDS, permit_message
from tests.support.chain.permit_signatures import domain_separator, permit_digest
from tests.support.chain.registry_campaign import RegistrySequences, draw_sequence
from tests.support.chain.registry_contract import encode_call, encode_static_call, word_of
from tests.support.chain.registry_steps import STEPS
from tests.support.chain.seeded_bugs import SEEDED_BUGS

BUGS = SEEDED_BUGS[::3]


@pytest.fixture(scope="module")
def changed_codes():
    folder = contract_compiler.CONTRACTS_FOLDER
    source = (folder / contract_compiler.SOURCE_NAME).read_text("utf-8")
    return contract_compiler.creation_codes([bug.apply(source) for bug in BUGS])


def test_nobody_without_a_right_changes_a_brain_or_an_anchor(node):
    sequences = RegistrySequences(node)
    assert sequences.find_difference(1, range(300)) == ""
    endings = {tuple(ending.split()) for ending in sequences.outcome_counts}
    functions = {function for function, _ in endings}
    assert len(functions) == 10
    assert {function for function, ending in endings if ending == "done"} == functions
    assert {function for function, ending in endings if ending != "done"} == functions


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_random_calls_show_a_seeded_bug(node, changed_codes, bug):
    sequences = RegistrySequences(node, changed_codes[BUGS.index(bug)])
    assert sequences.find_difference(1, range(1000))


def test_a_difference_is_shown_by_the_fewest_steps(node):
    bug = next(bug for bug in SEEDED_BUGS if bug.name == "a brain is opened twice")
    folder = contract_compiler.CONTRACTS_FOLDER
    source = bug.apply((folder / contract_compiler.SOURCE_NAME).read_text("utf-8"))
    (creation,) = contract_compiler.creation_codes([source])
    shown = RegistrySequences(node, creation).find_difference(1, range(25))
    _, *steps = shown.splitlines()
    assert [step.strip().partition("(")[0] for step in steps] == ["open", "open"]


def test_a_sequence_is_the_same_each_time_and_every_kind_of_step_is_drawn():
    drawn = [draw_sequence(7, number) for number in range(50)]
    assert drawn == [draw_sequence(7, number) for number in range(50)]
    assert {step.name for steps in drawn for step in steps} == set(STEPS)


@pytest.mark.parametrize("kind", PERMIT_FIELDS)
def test_permits_are_signed_over_the_message_of_eth_account(registry, kind):
    values = {"address": registry.address, "bytes32": word_of(1), "uint64": 2**64 - 1}
    fields = tuple(values[type_] for type_ in PERMIT_FIELDS[kind].values())
    message = permit_message(registry, kind, *fields)
    digest = keccak(b"\x19" + message.version + message.header + message.body)
    domain = domain_separator("2", registry.node.chain, registry.address)
    assert permit_digest(domain, kind, fields) == digest


@pytest.mark.parametrize("signature", [b"", bytes(64), b"\1" * 65])
def test_calldata_is_that_of_eth_abi(signature):
    commit = (word_of(1), word_of(2), word_of(3))
    assert encode_static_call("commit", *commit) == encode_call("commit", *commit)
    values = (*commit, 2**64 - 1, signature)
    assert encode_static_call("commitFor", *values) == encode_call("commitFor", *values)
