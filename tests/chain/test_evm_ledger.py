"""The ledger on a chain, as its protocol has it, on a real node."""

import itertools
import subprocess
import sys

import pytest

from brain.chain.ledger_protocol import FINALIZED, INCLUDED, NO_PARENT, PENDING, SAFE
from brain.errors import Conflict, InvalidInput, NotFound
from tests.support.chain.evm_ledgers import (
    FINAL_BLOCKS,
    funded_account,
    ledger_config,
    open_patient_ledger,
    open_registry_ledger,
)
from tests.support.chain.registry_contract import word_of
from tests.support.error_codes import error_code
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.refusals import raises_code

BRAIN = word_of("a brain")
S = [word_of(f"snapshot {n}") for n in range(8)]


@pytest.fixture
def brain(request):
    return word_of(request.node.nodeid)


@pytest.fixture
def opened(registry, tmp_path, brain):
    """A ledger in which the brain was opened with the first snapshot."""
    made = open_registry_ledger(registry, tmp_path)
    made.open(brain, S[0])
    return made


def code_of(call: object, *args: object) -> str:
    return error_code(call, *args, kind=(Conflict, InvalidInput, NotFound))


def test_importing_the_ledger_imports_neither_web3_nor_eth_account():
    code = (
        "import sys, brain.chain.evm;"
        "sys.exit(any(name in sys.modules for name in ('web3', 'eth_account', 'requests')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_brain_that_was_never_opened_has_no_head(registry, tmp_path):
    made = open_registry_ledger(registry, tmp_path)
    assert made.head(BRAIN) is None
    assert made.history(BRAIN) == []
    assert code_of(made.status, BRAIN, S[0]) == "not_committed"
    assert code_of(made.commit, BRAIN, S[1], S[0]) == "not_open"


def test_opening_makes_the_first_commitment(registry, tmp_path, brain):
    made = open_registry_ledger(registry, tmp_path)
    first = made.open(brain, S[0])
    assert (first.seq, first.snapshot, first.parent) == (1, S[0], NO_PARENT)
    assert first.identity == f"eip155:{registry.node.chain}:{registry.address.lower()}"
    assert first.status == INCLUDED
    assert first.gas is not None and first.gas <= 75_000
    head = made.head(brain)
    assert head is not None
    assert (head.seq, head.snapshot, head.owner, head.signer) == (1, S[0], made.creator, "")


def test_a_brain_is_opened_once(opened, brain):
    assert code_of(opened.open, brain, S[0]) == "already_open"
    assert code_of(opened.open, brain, S[1]) == "already_open"


def test_a_commitment_is_recorded_with_what_it_cost(opened, brain):
    made = opened.commit(brain, S[1], S[0])
    assert (made.seq, made.snapshot, made.parent, made.sender) == (2, S[1], S[0], opened.creator)
    assert made.gas is not None and made.gas <= 36_000
    assert made.fee is not None and made.fee > made.gas
    assert made.time > 1_600_000_000_000
    assert opened.status(brain, S[1]) == made
    assert opened.history(brain)[1:] == [made]


def test_a_parent_that_is_not_the_head_is_refused_before_anything_is_sent(opened, brain, registry):
    opened.commit(brain, S[1], S[0])
    before = registry.node.block_number()
    with raises_code("stale_parent", Conflict) as raised:
        opened.commit(brain, S[2], S[0])
    assert S[1].hex()[:12] in raised.value.message
    assert "2" in raised.value.message
    assert registry.node.block_number() == before


def test_chain_13_the_same_snapshot_twice_costs_nothing(opened, brain, registry):
    once = opened.commit(brain, S[1], S[0])
    before = registry.node.block_number()
    assert opened.commit(brain, S[1], S[0]) == once
    assert opened.commit(brain, S[1], S[1]) == once
    assert registry.node.block_number() == before


def test_history_is_told_from_the_first_to_the_last(opened, brain):
    for old, new in itertools.pairwise(S):
        opened.commit(brain, new, old)
    history = opened.history(brain)
    assert [one.snapshot for one in history] == S
    assert [one.seq for one in history] == list(range(1, len(S) + 1))
    assert [one.parent for one in history] == [NO_PARENT, *S[:-1]]


def test_a_snapshot_committed_again_later_is_told_as_of_then(opened, brain):
    opened.commit(brain, S[1], S[0])
    opened.commit(brain, S[0], S[1])
    assert opened.status(brain, S[0]).seq == 3


def test_a_commitment_becomes_safe_and_then_final(opened, brain, registry):
    statuses = []
    for _ in range(3):
        statuses.append(opened.status(brain, S[0]).status)
        registry.node.mine(FINAL_BLOCKS // 2)
    assert statuses == [INCLUDED, SAFE, FINALIZED]


def test_final_may_be_so_many_blocks_on_top(registry, tmp_path, brain):
    made = open_registry_ledger(registry, tmp_path, finality=3)
    assert made.open(brain, S[0]).status == INCLUDED
    registry.node.mine(2)
    assert made.status(brain, S[0]).status == INCLUDED
    registry.node.mine(1)
    assert made.status(brain, S[0]).status == FINALIZED


def test_safe_may_count_as_final(registry, tmp_path, brain):
    made = open_registry_ledger(registry, tmp_path, finality="safe")
    made.open(brain, S[0])
    registry.node.mine(FINAL_BLOCKS // 2)
    assert made.status(brain, S[0]).status == FINALIZED


def test_a_ledger_is_read_without_a_key(opened, registry, brain, tmp_path):
    config = ledger_config(registry.node, registry.address, creator=opened.creator)
    reader = open_patient_ledger(config, tmp_path / "of a reader")
    assert reader.head(brain) == opened.head(brain)
    assert reader.history(brain) == opened.history(brain)
    assert reader.verify() == []
    assert code_of(reader.commit, brain, S[1], S[0]) == "no_key"


def test_without_a_key_and_a_creator_no_brain_is_known(registry, tmp_path):
    nobody = open_patient_ledger(ledger_config(registry.node, registry.address), tmp_path)
    assert code_of(nobody.head, BRAIN) == "no_key"


def test_a_ledger_without_a_contract_says_so(registry, tmp_path):
    key = funded_account(registry.node, "owner")
    made = open_patient_ledger(ledger_config(registry.node), tmp_path, key)
    assert code_of(made.head, BRAIN) == "bad_ledger"


def test_an_account_without_money_is_told_before_it_signs(registry, tmp_path):
    made = open_registry_ledger(registry, tmp_path, "poor")
    registry.node.set_balance(made.creator, 10**9)
    assert code_of(made.open, BRAIN, S[0]) == "unfunded"
    assert list(tmp_path.rglob("*.json")) == []


def test_a_quote_tells_the_cost_and_sends_nothing(opened, registry, brain):
    before = registry.node.block_number()
    quote = opened.quote_commit(brain, S[1], S[0])
    assert registry.node.block_number() == before
    made = opened.commit(brain, S[1], S[0])
    assert made.gas == quote.expected_gas
    assert made.fee is not None
    assert made.fee <= quote.expected * 9 // 8  # one block of base fee
    assert quote.expected <= quote.worst


def test_the_cost_is_told_before_anything_is_signed(registry, tmp_path, brain):
    result = []

    def refuse(quote: object) -> None:
        result.append(quote)
        raise KeyboardInterrupt

    key = funded_account(registry.node, "owner")
    config = ledger_config(registry.node, registry.address)
    made = open_patient_ledger(config, tmp_path, key, approve=refuse)
    with pytest.raises(KeyboardInterrupt):
        made.open(brain, S[0])
    assert result == [made.quote_open(brain, S[0])]
    assert list(tmp_path.rglob("*.json")) == []
    assert made.head(brain) is None


def test_pending_is_told_until_a_block_comes(opened, registry, brain):
    registry.node.set_automine(False)
    opened._context.patience = 0.0
    try:
        made = opened.commit(brain, S[1], S[0])
        assert (made.status, made.block, made.seq) == (PENDING, None, 2)
        assert opened.status(brain, S[1]) == made
        assert opened.commit(brain, S[1], S[0]) == made
        assert code_of(opened.commit, brain, S[2], S[0]) == "pending"
        registry.node.mine()
    finally:
        registry.node.set_automine(True)
    opened._context.patience = TIMEOUT_SECONDS
    result = opened.status(brain, S[1])
    assert (result.status, result.transaction) == (INCLUDED, made.transaction)
    assert opened.commit(brain, S[2], S[1]).seq == 3
