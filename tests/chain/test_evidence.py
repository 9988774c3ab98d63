"""Evidence of a real log and a real contract: what it shows, and what it does not."""

import io
import json
from typing import Any

import pytest

from brain import check_evidence
from brain.chain.contracts import RUNTIME_HASH
from brain.chain.evidence import offline_check, state_proof
from brain.chain.evidence.evidence_model import KIND_BRAIN, EvidenceDocument
from brain.chain.evidence.offline_check import AnchorClaim, HeadClaim, log_id
from brain.chain.evidence.state_proof import read_account
from brain.chain.evidence.state_proof import read_storage_word as word_at
from brain.errors import InvalidInput, ProofError
from brain.util.utc_time import utc_time
from tests.support.chain import captured_evidence
from tests.support.chain.captured_evidence import EVIDENCE_KINDS, OTHER_BRAIN_COUNT, EvidenceCase
from tests.support.chain.evidence_mutations import allowed_results, check_or_none, run_campaign
from tests.support.chain.registry_contract import word_of
from tests.support.chain.synthetic_evidence import (
    FIRST_SNAPSHOT,
    LAST_SNAPSHOT,
    NEW_PATH,
    NEW_PATH_CONTENT,
    OLD_PATH,
)
from tests.support.error_codes import error_code
from tests.support.json_mutations import mutate_json, replace_at
from tests.support.refusals import raises_code

Cases = dict[str, EvidenceCase]
SENDER = "0x" + "ab" * 20
TWINS = (40364, 105566)
"""Slots whose keys have their first four bytes in common."""


@pytest.fixture(scope="module")
def cases(registry, tmp_path_factory):
    return captured_evidence.capture_all_kinds(registry, tmp_path_factory.mktemp("log") / "log")


def code_of(document: Any, known: dict[str, Any]) -> str:
    """Return why a document is refused."""
    return error_code(check_evidence, json.dumps(document).encode(), **known)


def test_a_file_is_shown_in_the_head_that_an_account_holds_in_a_block(cases, registry):
    owner, signer = registry.node.accounts[1:3]
    given = cases["brain"]
    result = check_evidence(given.encode, content=raw(NEW_PATH_CONTENT), **given.known)
    block = registry.node.call("eth_getBlockByHash", given.known["block_hash"], False)
    assert (result.brain, result.snapshot, result.seq) == (
        FIRST_SNAPSHOT.id.hex(),
        LAST_SNAPSHOT.id.hex(),
        2,
    )
    assert (result.path, result.committed, result.parent) == (
        NEW_PATH,
        LAST_SNAPSHOT.id.hex(),
        None,
    )
    assert result.log is None
    assert result.chain is not None
    assert (result.chain.owner, result.chain.signer, result.chain.creator) == (owner, signer, owner)
    assert (result.chain.chain_id, result.chain.contract) == (registry.node.chain, registry.address)
    assert result.chain.block == int(block["number"], 16)
    assert result.chain.time == utc_time(int(block["timestamp"], 16) * 1000)
    assert result.chain.block_hash == block["hash"]
    assert result.chain.code_hash == "0x" + RUNTIME_HASH.hex()
    assert (result.trust_level, result.missing) == ("L3", [])


def test_a_skipped_snapshot_is_shown_by_the_committed_one_that_descends_from_it(cases):
    result = check_evidence(cases["skipped"].encode, **cases["skipped"].known)
    assert (result.snapshot, result.committed) == (FIRST_SNAPSHOT.id.hex(), LAST_SNAPSHOT.id.hex())
    assert result.path == OLD_PATH


def test_an_entry_of_a_log_is_shown_under_its_signed_checkpoint(cases):
    given = cases["log"]
    result = check_evidence(given.encode, **given.known)
    assert result.log is not None and result.chain is None
    assert (result.log.place, result.log.size) == (OTHER_BRAIN_COUNT + 1, OTHER_BRAIN_COUNT + 2)
    assert (result.parent, result.seq) == (FIRST_SNAPSHOT.id.hex(), 2)
    assert (result.log.known, result.log.witnesses) == (True, [])
    assert result.trust_level == "L0"


def test_a_log_is_shown_to_be_anchored_by_an_account(cases, registry):
    given = cases["anchor"]
    result = check_evidence(given.encode, content=raw(NEW_PATH_CONTENT), **given.known)
    assert result.log is not None and result.chain is not None
    assert (result.chain.sender, result.chain.owner) == (registry.node.accounts[3], None)
    assert (result.trust_level, result.missing) == ("L3", [])


@pytest.mark.parametrize("kind", EVIDENCE_KINDS)
def test_who_brings_nothing_is_told_what_is_missing(cases, kind):
    result = check_evidence(cases[kind].encode)
    assert result.trust_level == "L0"
    assert any("the file itself" in one for one in result.missing)
    assert any("hash of block" in one for one in result.missing) == (result.chain is not None)
    assert any("public key of the log" in one for one in result.missing) == (result.log is not None)


@pytest.mark.parametrize(("trust", "missing"), [("L1", 1), ("L2", 1), ("L3", 0)])
def test_a_block_hash_is_worth_what_its_source_is(cases, trust, missing):
    given = cases["brain"]
    result = check_evidence(
        given.encode, content=raw(NEW_PATH_CONTENT), block_trust=trust, **given.known
    )
    assert (result.trust_level, len(result.missing)) == (trust, missing)


@pytest.mark.parametrize("kind", EVIDENCE_KINDS)
def test_no_alteration_of_any_place_shows_anything_else(cases, kind):
    given, may = cases[kind], allowed_results(cases[kind])
    for what, mutant in mutate_json(given.document):
        result = check_or_none(json.dumps(mutant).encode(), given.known)
        assert result is None or result in may, what


def test_no_mutant_made_by_chance_shows_anything_else(cases):
    tally = run_campaign(cases, 1000, 7)
    assert tally["refused"] > 800


def test_a_checker_that_does_not_compare_the_anchored_checkpoint_is_caught(cases, monkeypatch):
    def claim_anything(evidence: EvidenceDocument, log: object) -> HeadClaim | AnchorClaim:
        if evidence.log and evidence.chain:
            return AnchorClaim(log_id(evidence.log.key), evidence.chain.slots[0].value)
        return HeadClaim(evidence.brain, evidence.committed.snapshot, evidence.committed.seq)

    monkeypatch.setattr(offline_check, "_chain_claim", claim_anything)
    with pytest.raises(AssertionError, match=r"anchor.*, forge_log"):
        run_campaign(cases, 3000, 7)


def test_what_the_reader_knows_must_fit(cases, registry):
    other, account = "ab" * 32, registry.node.accounts[5]
    key = "log.example+19ddaf36+AQnvFmfXCbSLL4W7XwoZRS8nK2Gfw5k0sKSF3RQWHPn4"
    for kind, known, code in (
        ("brain", {"block_hash": "0x" + other}, "wrong_block"),
        ("brain", {"owner": account}, "not_this_owner"),
        ("brain", {"brain": other}, "not_this_brain"),
        ("brain", {"snapshot": other}, "not_this_snapshot"),
        ("skipped", {"snapshot": LAST_SNAPSHOT.id.hex()}, "not_this_snapshot"),
        ("anchor", {"block_hash": cases["brain"].known["block_hash"]}, "wrong_block"),
        ("anchor", {"owner": account}, "not_this_owner"),
        ("log", {"block_hash": "0x" + other}, "no_block"),
        ("log", {"owner": account}, "no_owner"),
        ("brain", {"log_key": cases["log"].known["log_key"]}, "no_log"),
        ("brain", {"owner": "0x12"}, "bad_id"),
        ("brain", {"block_hash": other}, "bad_id"),
        ("brain", {"block_trust": "L4"}, "bad_trust_level"),
        ("log", {"log_key": key[:-1]}, "bad_key"),
    ):
        assert code_of(cases[kind].document, known) == code, (kind, known)


def raw(content: bytes) -> Any:
    return io.BytesIO(content)


def test_another_content_is_refused_and_none_can_be_compared_where_no_path_is_shown(cases):
    given = cases["brain"]
    with raises_code("wrong_content", ProofError):
        check_evidence(given.encode, content=raw(b"else"))
    bare = json.dumps({**given.document, "proof": None}).encode()
    with raises_code("no_content", InvalidInput):
        check_evidence(bare, content=raw(NEW_PATH_CONTENT))


def test_the_block_is_anybodys_as_long_as_its_hash_is_not_known(cases):
    given = cases["brain"]
    header = given.document["chain"]["header"]
    forged = replace_at(
        given.document, ("chain", "header"), header[:-1] + f"{int(header[-1], 16) ^ 1:x}"
    )
    result = check_evidence(json.dumps(forged).encode())
    assert result.trust_level == "L0" and any("hash of block" in one for one in result.missing)
    assert code_of(forged, given.known) == "wrong_block"


def test_addresses_are_taken_in_letters_of_any_case(cases):
    given = cases["brain"]
    owner = "0x" + given.known["owner"][2:].upper()
    assert check_evidence(given.encode, owner=owner).chain is not None


def test_words_are_those_of_other_slots_of_the_same_contract(cases, registry):
    """A head of another brain, captured in earnest, is not taken for this one."""
    given = cases["brain"]
    creator = registry.node.accounts[1]
    names = [f"0x{slot.hex()}" for slot in captured_evidence.slots.brain_slots(
        captured_evidence.slots.brain_id(bytes.fromhex(creator[2:]), word_of(3)))]  # fmt: skip
    number = hex(check_evidence(given.encode).chain.block)  # type: ignore[union-attr]
    proof = registry.node.call("eth_getProof", registry.address, names, number)
    block = registry.node.call("eth_getBlockByHash", given.known["block_hash"], False)
    chain = captured_evidence.build_chain_part(
        31337, registry.address, "brain", creator, block, proof
    )
    assert code_of({**given.document, "chain": chain}, given.known) == "wrong_slot"


def test_small_leaves_inside_a_branch_are_proven_by_a_node(registry):
    """The node lists them again, as nodes of their own, and evidence does not."""
    node, slots = registry.node, [f"0x{slot:064x}" for slot in (*TWINS, 7)]
    for slot in slots[:2]:
        node.call("anvil_setStorageAt", registry.address, slot, f"0x{1:064x}")
    node.mine()
    block = node.block()
    proof = node.call("eth_getProof", registry.address, slots, block["number"])
    assert min(len(one) for one in proof["storageProof"][0]["proof"]) < 2 + 2 * 32
    made = captured_evidence.build_chain_part(
        node.chain, registry.address, KIND_BRAIN, SENDER, block, proof
    )
    result = read_account(state_proof.decode_block_header(raw_of(made["header"])).state_root,
                    raw_of(made["contract"]), list(map(raw_of, made["account"])))  # fmt: skip
    words = [
        word_at(result.storage_root, raw_of(slot["slot"]), list(map(raw_of, slot["proof"])))
        for slot in made["slots"]
    ]
    assert [int.from_bytes(word, "big") for word in words] == [1, 1, 0]


def raw_of(text: str) -> bytes:
    return bytes.fromhex(text[2:])
