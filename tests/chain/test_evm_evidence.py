"""Evidence that an EVM ledger captures, and what it remembers so that going back is noticed."""

import itertools
import json
from typing import Any

import pytest

from brain.chain import anchored_log
from brain.chain.anchored_log import AnchoredLog
from brain.chain.evidence.evidence_builder import build_evidence
from brain.chain.evidence.evidence_format import parse_evidence
from brain.chain.evidence.evidence_model import Expectations
from brain.chain.evidence.offline_check import verify_evidence
from brain.chain.evm import EvmLedger, abi
from brain.chain.evm.account import UnsignedTransaction
from brain.chain.evm.anchors import Anchor
from brain.chain.ledger_protocol import FINALIZED
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from tests.support.anvil_node import Anvil
from tests.support.chain.evm_ledgers import funded_account, ledger_config, open_patient_ledger
from tests.support.chain.lying_node import LyingNode, run_lying_node
from tests.support.chain.registry_contract import word_of
from tests.support.error_codes import error_code
from tests.support.process_death import dies_before_call

S = [word_of(f"snapshot {n}") for n in range(4)]
FINAL = 3
"""Blocks on top that make one final in these tests."""


@pytest.fixture
def brain(request):
    return word_of(request.node.nodeid)


@pytest.fixture
def liar(node):
    with run_lying_node(node.url) as liar:
        yield liar


@pytest.fixture
def opened(registry, tmp_path, brain, liar):
    """A ledger behind one liar, in which the brain was opened while it was honest."""
    node = registry.node
    config = ledger_config(node, registry.address, rpc=liar.url, finality=FINAL)
    made = open_patient_ledger(config, tmp_path, funded_account(node, "captures"))
    made.open(brain, S[0])
    return made


def block_of(part: dict[str, Any], ledger: EvmLedger, brain: bytes, snapshot: bytes) -> int:
    """Check evidence as a stranger does; return the number of its block."""
    text = build_evidence(ledger.status(brain, snapshot), part, snapshot)
    shown = verify_evidence(
        parse_evidence(text), Expectations(brain=brain, snapshot=snapshot)
    ).chain
    assert shown is not None
    return shown.block.number


def test_there_is_no_evidence_before_a_commitment_is_final(opened, brain, node):
    assert error_code(opened.evidence, brain, S[0]) == "not_final"
    assert error_code(opened.evidence, brain, S[1]) == "not_committed"
    node.mine(FINAL)
    assert opened.evidence(brain, S[0])["chain"]["kind"] == "brain"


def test_evidence_of_the_head_holds_at_a_final_block(opened, brain, node):
    node.mine(FINAL)
    part = opened.evidence(brain, S[0])
    number = block_of(part, opened, brain, S[0])
    assert number <= node.block_number() - FINAL
    text = build_evidence(opened.status(brain, S[0]), part, S[0])
    hash = bytes.fromhex(node.block(number)["hash"][2:])
    assert verify_evidence(parse_evidence(text), Expectations(block_hash=hash)).chain is not None


def test_evidence_of_an_earlier_commitment_is_of_the_last_block_in_which_it_was_the_head(
    opened, brain, node, tmp_path
):
    node.mine(3)
    later = opened.commit(brain, S[1], S[0])
    node.mine(FINAL)
    assert later.block is not None
    elsewhere = open_patient_ledger(opened.config, tmp_path / "elsewhere", opened._context.account)
    assert block_of(elsewhere.evidence(brain, S[0]), opened, brain, S[0]) == later.block - 1


def test_two_commitments_in_one_block_leave_evidence_of_the_second_alone(opened, brain, node):
    # The ledger waits for the one before; another program of the owner does not.
    key = opened._context.account
    id, fees = opened.registry_id(brain), (10**10, 10**9)
    node.set_automine(False)
    try:
        for old, new in itertools.pairwise(S[:3]):
            nonce = int(node.call("eth_getTransactionCount", key.address, "pending"), 16)
            data = abi.encode_call(abi.COMMIT_SELECTOR, id, new, old)
            to = opened.config.contract
            signed = key.sign_transaction(
                UnsignedTransaction(
                    chain_id=node.chain,
                    nonce=nonce,
                    to=to,
                    data=data,
                    gas=90_000,
                    max_fee=fees[0],
                    tip=fees[1],
                )
            )
            node.call("eth_sendRawTransaction", "0x" + signed.raw.hex())
        node.mine()
    finally:
        node.set_automine(True)
    node.mine(FINAL)
    blocks = [one.block for one in opened.history(brain)]
    assert blocks[1] == blocks[2]
    assert error_code(opened.evidence, brain, S[1]) == "not_proven"
    assert block_of(opened.evidence(brain, S[2]), opened, brain, S[2]) > 0


def recent(node: Anvil) -> Any:
    """Prove the state of the last two blocks alone, as nodes do that keep few states."""

    def alter(proof: Any, params: list[Any]) -> Any:
        block = node.call("eth_getBlockByHash", params[2]["blockHash"], False)
        return proof if int(block["number"], 16) > node.block_number() - 2 else None

    return alter


def test_a_proof_is_prepared_before_nodes_forget_the_state(opened, brain, node, liar):
    liar.alter("eth_getProof", recent(node))
    made = [opened.commit(brain, new, old) for old, new in itertools.pairwise(S)]
    node.mine(FINAL)
    for one in made:
        assert one.block is not None
        shown = block_of(opened.evidence(brain, one.snapshot), opened, brain, one.snapshot)
        assert shown == one.block


def test_a_proof_that_was_prepared_in_a_block_that_is_gone_is_none(opened, brain, node, tmp_path):
    opened.commit(brain, S[1], S[0])
    raw = opened._context.journals.journal(opened.creator).unsettled_records()[-1].last_attempt.raw
    node.reorg(1, ["0x" + raw.hex()])
    prepared = list(tmp_path.rglob("prepared/*.json"))
    node.mine(FINAL)
    now = opened.status(brain, S[1])
    assert (now.status, now.seq) == (FINALIZED, 2)
    assert now.block is not None
    assert block_of(opened.evidence(brain, S[1]), opened, brain, S[1]) >= now.block
    assert set(prepared) <= set(tmp_path.rglob("prepared/*.json"))  # not what was used


def test_evidence_is_kept_and_needs_no_node_any_more(opened, brain, node, liar):
    node.mine(FINAL)
    assert opened.status(brain, S[0]).status == FINALIZED  # captures it
    asked = liar.asked.total()
    stored = opened.evidence(brain, S[0])
    assert liar.asked.total() == asked
    opened.commit(brain, S[1], S[0])
    assert opened.evidence(brain, S[0]) == stored


def test_evidence_kept_that_was_damaged_is_captured_again(opened, brain, node, tmp_path):
    node.mine(FINAL)
    good = opened.evidence(brain, S[0])
    (file,) = tmp_path.glob("evidence/*/*.json")
    for damage in (b"", b"{", b"[]", file.read_bytes().replace(b'"0xf', b'"0xe')):
        file.write_bytes(damage)
        assert opened.evidence(brain, S[0])["chain"]["slots"] == good["chain"]["slots"]


@pytest.mark.parametrize(
    "alteration",
    [
        lambda proof, params: None,
        lambda proof, params: {},
        lambda proof, params: proof | {"accountProof": []},
        lambda proof, params: proof | {"storageProof": []},
        lambda proof, params: proof | {"accountProof": proof["accountProof"][:-1]},
        lambda proof, params: proof | {"accountProof": ["0x00"] * 10_000},
        lambda proof, params: (
            proof | {"storageProof": [one | {"value": "0x1"} for one in proof["storageProof"]]}
        ),
    ],
    ids=range(7),
)
def test_a_proof_that_does_not_hold_is_not_kept(alteration, opened, brain, node, liar, tmp_path):
    liar.alter("eth_getProof", alteration)
    opened.commit(brain, S[1], S[0])
    node.mine(FINAL)
    assert error_code(opened.evidence, brain, S[1]) == "not_proven"
    assert list(tmp_path.glob("evidence/*/*.json")) == []
    assert opened.status(brain, S[1]).status == FINALIZED
    liar.stop_lying()
    assert opened.evidence(brain, S[1])["chain"]["slots"]


ANOTHER = "0x" + "12" * 32


@pytest.mark.parametrize(
    "altered",
    [
        lambda block: {"stateRoot": ANOTHER},
        lambda block: {"hash": ANOTHER},
        lambda block: {"extraData": ANOTHER},
        lambda block: {"number": hex(int(block["number"], 16) + 1)},
    ],
    ids=["stateRoot", "hash", "extraData", "number"],
)
def test_a_header_that_is_not_that_of_the_block_is_refused(altered, opened, brain, node, liar):
    liar.alter("eth_getBlockByHash", lambda block, params: block | altered(block))
    opened.commit(brain, S[1], S[0])
    node.mine(FINAL)
    assert error_code(opened.evidence, brain, S[1]) == "bad_rpc"


def test_a_checkpoint_that_was_anchored_has_evidence_of_its_sender(opened, node):
    log, anchors = word_of("log"), opened.anchors
    first, never = (Anchor(opened.sender, log, S[n]) for n in (1, 3))
    anchors.anchor(log, S[1])
    assert error_code(anchors.evidence, first) == "not_final"
    node.mine(FINAL)
    part = anchors.evidence(first)
    assert (part["kind"], part["sender"]) == ("anchor", opened.creator)
    assert part["slots"][0]["value"] == "0x" + S[1].hex()
    anchors.anchor(log, S[2])
    assert anchors.evidence(first) == part
    assert error_code(anchors.evidence, never) == "not_committed"
    assert error_code(anchors.evidence, first._replace(log=S[0])) == "not_committed"


def test_an_anchor_that_a_crash_left_unrecorded_is_recorded_by_the_next_run(
    opened, brain, node, tmp_path
):
    log = EmbeddedLedger(tmp_path / "log")
    other = word_of("a brain in the log alone")
    log.open(other, S[1])
    with dies_before_call(anchored_log, "append_anchor_record"):
        anchored_log.anchor_log(log, opened)
    assert AnchoredLog(log, opened).history(other) == []
    sent = node.call("eth_getTransactionCount", opened.sender, "latest")
    anchored = anchored_log.anchor_log(log, opened)
    assert (anchored.size, anchored.transaction) == (1, None)
    assert node.call("eth_getTransactionCount", opened.sender, "latest") == sent
    assert [one.snapshot for one in AnchoredLog(log, opened).history(other)] == [S[1]]


def test_a_checkpoint_that_the_next_one_replaced_at_once_has_evidence_all_the_same(opened, node):
    log = word_of("log")
    for checkpoint in S:
        opened.anchors.anchor(log, checkpoint)
    node.mine(FINAL)
    for checkpoint in S:
        part = opened.anchors.evidence(Anchor(opened.sender, log, checkpoint))
        assert part["slots"][0]["value"] == "0x" + checkpoint.hex()


def test_a_checkpoint_without_a_prepared_proof_is_proven_at_the_block_before_the_next(
    opened, node, tmp_path
):
    log = word_of("log")
    for checkpoint in S:
        opened.anchors.anchor(log, checkpoint)
    node.mine(FINAL)
    elsewhere = open_patient_ledger(opened.config, tmp_path / "elsewhere", None)
    for checkpoint in S:
        part = elsewhere.anchors.evidence(Anchor(opened.sender, log, checkpoint))
        assert part["slots"][0]["value"] == "0x" + checkpoint.hex()


def test_batches_more_frequent_than_finality_all_yield_evidence(opened, node, tmp_path):
    log = EmbeddedLedger(tmp_path / "log")
    brains = [word_of(f"brain {n}") for n in range(4)]
    for one in brains:
        log.open(one, S[1])
        anchored_log.anchor_log(log, opened)  # each time before the last one is final
        AnchoredLog(log, opened).history(one)
    node.mine(FINAL)
    for number, one in enumerate(brains):
        held = AnchoredLog(log, opened)
        assert held.status(one, S[1]).status == FINALIZED
        part = held.evidence(one, S[1])
        text = part["log"]["checkpoint"]
        assert int(text.split("\n")[1]) > number
        assert held.trust_level(held.status(one, S[1])) == "L1"


def test_only_what_several_nodes_call_final_and_is_proven_here_is_trusted_more(
    registry, tmp_path, brain, liar
):
    node = registry.node
    key = funded_account(node, "trusts")
    config = ledger_config(node, registry.address, rpc=[node.url, liar.url], finality=FINAL)
    assert config.quorum == 2
    made = open_patient_ledger(config, tmp_path, key)
    assert made.trust_level(made.open(brain, S[0])) == "L1"
    node.mine(FINAL)
    assert made.trust_level(made.status(brain, S[0])) == "L2"
    alone = open_patient_ledger(
        ledger_config(node, registry.address, finality=FINAL), tmp_path, key
    )
    assert alone.trust_level(alone.status(brain, S[0])) == "L1"


def test_a_final_batch_that_several_nodes_agree_on_is_trusted_as_a_commitment_is(
    registry, tmp_path, brain, liar
):
    node = registry.node
    config = ledger_config(node, registry.address, rpc=[node.url, liar.url], finality=FINAL)
    chain = open_patient_ledger(config, tmp_path, funded_account(node, "batches"))
    log = EmbeddedLedger(tmp_path / "log")
    log.open(brain, S[0])
    anchored_log.anchor_log(log, chain)
    held = AnchoredLog(log, chain)
    assert held.trust_level(held.status(brain, S[0])) == "L1"
    node.mine(FINAL)
    final = AnchoredLog(log, chain)
    assert final.trust_level(final.status(brain, S[0])) == "L2"


def test_a_node_that_hides_the_last_commitment_is_caught(opened, brain, node, liar):
    before = node.call(
        "eth_call",
        {"to": opened.config.contract, "data": "0xc2fd2e16" + opened.registry_id(brain).hex()},
        "latest",
    )
    opened.commit(brain, S[1], S[0])
    liar.answer_with("eth_call", before)
    assert error_code(opened.head, brain) == "rolled_back"
    assert error_code(opened.status, brain, S[1]) == "rolled_back"
    assert error_code(opened.commit, brain, S[2], S[0]) == "rolled_back"


def lie_about_state(liar: LyingNode, **words: int) -> None:
    """Have a node give other numbers as words of the state of every brain, by their index."""

    def alter(result: Any, params: list[Any]) -> Any:
        if not params[0]["data"].startswith("0x" + abi.BRAIN_SELECTOR.hex()):
            return result
        for name, value in words.items():
            at = 2 + 64 * ["owner", "seq", "head", "signer", "epoch", "repairs"].index(name)
            result = result[:at] + f"{value:064x}" + result[at + 64 :]
        return result

    liar.alter("eth_call", alter)


def seen_number(opened: EvmLedger, brain: bytes) -> int:
    head = opened.head(brain)
    assert head is not None
    return head.seq


def test_what_a_node_made_up_is_forgotten_once_its_block_disproves_it(opened, brain, liar):
    lie_about_state(liar, seq=2)
    assert seen_number(opened, brain) == 2
    liar.stop_lying()
    assert seen_number(opened, brain) == 1
    assert opened.commit(brain, S[1], S[0]).seq == 2


def test_what_was_seen_stays_an_alarm_while_no_node_proves_its_block(opened, brain, liar):
    lie_about_state(liar, seq=2)
    assert seen_number(opened, brain) == 2
    liar.stop_lying()
    liar.refuse("eth_getProof", "no proofs here")
    assert error_code(opened.head, brain) == "rolled_back"


def test_a_node_that_makes_up_commitments_without_number_is_refused_at_once(opened, brain, liar):
    lie_about_state(liar, seq=2**40, head=1, repairs=1)
    assert error_code(opened.status, brain, S[0]) == "bad_rpc"


def test_a_chain_that_went_back_below_what_was_final_is_noticed(opened, brain, node):
    state = node.snapshot()
    opened.commit(brain, S[1], S[0])
    node.mine(FINAL)
    assert opened.status(brain, S[1]).status == FINALIZED
    node.revert(state)
    assert error_code(opened.head, brain) == "rolled_back"
    assert error_code(opened.history, brain) == "rolled_back"


def test_what_was_seen_is_noticed_by_the_next_process(opened, brain, node, tmp_path):
    state = node.snapshot()
    opened.commit(brain, S[1], S[0])
    node.mine(FINAL)
    opened.history(brain)
    node.revert(state)
    again = open_patient_ledger(opened.config, tmp_path, opened._context.account)
    assert error_code(again.head, brain) == "rolled_back"
    (file,) = tmp_path.glob(f"seen/*/{opened.registry_id(brain).hex()}.json")
    assert json.loads(file.read_text())["seq"] == 2


def test_a_reorganisation_before_finality_is_no_alarm(opened, brain, node):
    opened.commit(brain, S[1], S[0])
    node.reorg(1)
    head = opened.head(brain)
    assert head is not None
    assert head.seq == 1
    assert opened.commit(brain, S[1], S[0]).seq == 2
