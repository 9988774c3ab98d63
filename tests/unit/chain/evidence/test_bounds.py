"""Limits of evidence, each at its bound: the last value that is taken, the first that is not."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import rlp as oracle

from brain.chain.evidence import evidence_builder, evidence_format, offline_check, state_proof
from brain.chain.evidence.evidence_format import parse_evidence
from brain.chain.ledger_protocol import FINALIZED, Commitment
from brain.errors import BrainError, InvalidInput, LedgerError, ProofError
from tests.support.chain import synthetic_evidence
from tests.support.chain.synthetic_chain import OWNER_ADDRESS, ChainState, brain_slots
from tests.support.json_mutations import replace_at
from tests.support.refusals import raises_code

EVIDENCE = synthetic_evidence.make_all_evidence()
BLOCK = ChainState({bytes(32): 1}).block()


def outcome(call: Callable[..., object], *arguments: Any) -> str:
    """Return the code of the error, "" if there is none."""
    try:
        call(*arguments)
    except BrainError as error:
        return error.code
    return ""


def parse_changed(name: str, way: tuple[str | int, ...], value: Any) -> str:
    return outcome(parse_evidence, json.dumps(replace_at(EVIDENCE[name], way, value)).encode())


LAST_INTEGER = (1 << 63) - 1
LAST_SECOND = 253_402_300_799
"""Of the year 9999."""


@pytest.mark.parametrize(
    ("name", "way", "last", "first_refused"),
    [
        ("log", ("committed", "seq"), LAST_INTEGER, LAST_INTEGER + 1),
        ("log", ("committed", "seq"), 1, 0),
        ("log", ("log", "index"), LAST_INTEGER, LAST_INTEGER + 1),
        ("log", ("log", "index"), 0, -1),
        ("log", ("log", "checkpoint"), "x" * 65_536, "x" * 65_537),
        ("log", ("log", "checkpoint"), "x", ""),
        ("log", ("log", "key"), "x" * 1024, "x" * 1025),
        ("log", ("log", "entry"), "00" * 122, "00" * 123),
        ("log", ("log", "entry"), "00", ""),
        ("log", ("log", "path"), ["00" * 32] * 63, ["00" * 32] * 64),
        ("log", ("log", "path"), [], {}),
        ("brain", ("chain", "chain_id"), LAST_INTEGER, LAST_INTEGER + 1),
        ("brain", ("chain", "chain_id"), 1, 0),
        ("brain", ("chain", "contract"), "0x" + "00" * 20, "0x" + "00" * 21),
        ("brain", ("chain", "creator"), "0x" + "00" * 20, "0x" + "00" * 19),
        ("brain", ("chain", "header"), "0x" + "00" * 16_384, "0x" + "00" * 16_385),
        ("brain", ("chain", "header"), "0x00", "0x"),
        ("brain", ("chain", "account"), ["0x00"] * 64, ["0x00"] * 65),
        ("brain", ("chain", "account"), ["0x" + "00" * 1024], ["0x" + "00" * 1025]),
        ("brain", ("chain", "account"), [], ["0x"]),
        ("brain", ("chain", "slots", 0, "slot"), "0x" + "00" * 32, "0x" + "00" * 33),
        ("brain", ("chain", "slots", 0, "value"), "0x" + "00" * 32, "0x" + "00" * 31),
    ],
)
def test_a_field_reaches_to_its_limit(name, way, last, first_refused):
    assert parse_changed(name, way, last) == ""
    assert parse_changed(name, way, first_refused) == "bad_field"


@pytest.mark.parametrize("name", ["brain", "anchor"])
def test_a_claim_has_exactly_its_slots(name):
    slots = EVIDENCE[name]["chain"]["slots"]
    for other in (slots[1:], [*slots, slots[0]]):
        assert parse_changed(name, ("chain", "slots"), other) == "bad_field"


def test_evidence_of_4_mib_is_read():
    text = json.dumps(EVIDENCE["log"]).encode()
    longest = text + b" " * ((4 << 20) - len(text))
    assert outcome(parse_evidence, longest) == ""
    assert outcome(parse_evidence, longest + b" ") == "too_large"


def test_nodes_of_a_proof_are_limited_in_length_and_number():
    for nodes, code in (
        ([bytes(1024)], "wrong_node"),
        ([bytes(1025)], "bad_trie"),
        ([b""] * 64, "wrong_node"),
        ([b""] * 65, "bad_trie"),
    ):
        assert outcome(state_proof.read_trie_value, bytes(32), b"name", nodes) == code


def test_eight_lists_are_read_inside_each_other():
    assert state_proof.decode_rlp(bytes.fromhex("c7c6c5c4c3c2c1c0")) == [[[[[[[[]]]]]]]]
    assert outcome(state_proof.decode_rlp, bytes.fromhex("c8c7c6c5c4c3c2c1c0")) == "bad_rlp"


@pytest.mark.parametrize("size", [1, 8, 32])
def test_a_number_reaches_as_far_as_its_bytes(size):
    assert state_proof.read_rlp_integer(b"\xff" * size, size) == (1 << 8 * size) - 1
    assert outcome(state_proof.read_rlp_integer, b"\xff" * (size + 1), size) == "bad_rlp"
    assert state_proof.read_rlp_integer(b"", size) == 0


def header_with(place: int, item: Any) -> bytes:
    items = list(oracle.decode(state_proof.encode_rpc_header(BLOCK)))
    return oracle.encode([*items[:place], item, *items[place + 1 :]])


def decode_header(data: bytes) -> str:
    return outcome(state_proof.decode_block_header, data)


@pytest.mark.parametrize("count", [15, 16, 17, 20, *range(21, 33)])
def test_a_header_has_as_many_fields_as_a_fork_gave_it(count):
    items = [*oracle.decode(state_proof.encode_rpc_header(BLOCK)), *[b"x"] * 20]
    assert decode_header(oracle.encode(items[:count])) == ""
    if count > 21:
        items[count - 1] = []
        assert decode_header(oracle.encode(items[:count])) == "bad_rlp"


@pytest.mark.parametrize(
    ("place", "last", "first_refused", "code"),
    [
        (7, b"\xff" * 32, b"\1" * 33, "bad_rlp"),
        (8, b"\xff" * 8, b"\1" * 9, "bad_rlp"),
        (11, LAST_SECOND.to_bytes(5, "big"), (LAST_SECOND + 1).to_bytes(5, "big"), "bad_header"),
    ],
)
def test_a_number_of_a_header_reaches_to_its_limit(place, last, first_refused, code):
    assert decode_header(header_with(place, last)) == ""
    assert decode_header(header_with(place, first_refused)) == code


def test_a_header_of_16_kib_is_read():
    space = (16 << 10) - len(header_with(12, b"x" * 1000)) + 1000
    assert len(header_with(12, b"x" * space)) == 16 << 10
    assert decode_header(header_with(12, b"x" * space)) == ""
    assert decode_header(header_with(12, b"x" * (space + 1))) == "bad_header"


def test_the_last_number_of_a_commitment_is_read():
    for seq, code in (((1 << 64) - 1, ""), (1 << 64, "no_head")):
        stored = brain_slots(OWNER_ADDRESS, bytes(32), bytes(32), seq).values()
        words = [value.to_bytes(32, "big") for value in stored]
        assert outcome(offline_check.decode_head, words) == code


def test_the_slots_of_a_brain_go_on_at_zero(monkeypatch):
    monkeypatch.setattr(offline_check, "keccak256", lambda _: b"\xff" * 32)
    assert offline_check.brain_slots(b"id") == [b"\xff" * 32, bytes(32), bytes(31) + b"\1"]


def test_1024_digests_are_kept(monkeypatch):
    state_proof._digest_cache.clear()
    state_proof.hash_ahead(b"%d" % number for number in range(1024))
    state_proof.hash_ahead([b"0", b"0"])
    assert len(state_proof._digest_cache) == 1024
    state_proof.keccak256(b"1024")
    assert list(state_proof._digest_cache) == [b"1024"]
    digest = state_proof.keccak256(b"1025")
    state_proof._digest_cache.clear()
    monkeypatch.setattr(
        state_proof, "hash_ahead", lambda _: None
    )  # as if a thread cleared the cache
    assert state_proof.keccak256(b"1025") == digest


@pytest.mark.parametrize(
    ("name", "size", "text"),
    [("owner", 20, "0x" + "AB" * 20), ("block_hash", 32, "0x" + "aB" * 32)],
)
def test_hex_of_a_reader_is_taken_in_any_case_and_in_full(name, size, text):
    assert offline_check._parse_prefixed_hex(text, size, name) == bytes.fromhex(text[2:])
    short = text[:-2] if name == "owner" else text[:16]
    for bad in (text[:-1], short, text + "00", text[2:], "0x" + text, text[:-1] + "g"):
        with raises_code("bad_id", InvalidInput):
            offline_check.check_evidence(b"", **{name: bad})


def test_of_hex_that_is_none_80_characters_are_shown():
    for text, shown in (("x" * 80, "x" * 80), ("x" * 81, "x" * 80 + "…")):
        with pytest.raises(InvalidInput) as caught:
            offline_check.check_evidence(b"", owner=text)
        assert caught.value.message == f'"{shown}" is not an address'
        assert caught.value.hint == "an address is 0x and 40 hex digits"


NODE = "0x" + "Ab" * 32
PROOF = {
    "accountProof": [NODE, NODE[:-2], "0x"],
    "storageProof": [{"key": "0x1", "value": "0xA", "proof": [NODE]}],
}


def chain_part(kind: str = "anchor", block: Any = BLOCK, proof: Any = PROOF) -> dict[str, Any]:
    return evidence_builder.build_chain_part(5, "0xC", kind, "0xE", block, proof)


def test_the_answers_of_a_node_become_the_part_of_a_chain():
    part = chain_part()
    assert part["header"] == f"0x{state_proof.encode_rpc_header(BLOCK).hex()}"
    word = "0x" + "0" * 63
    assert part["slots"] == [{"slot": word + "1", "value": word + "a", "proof": [NODE.lower()]}]
    assert part["account"] == [NODE.lower()]  # shorter nodes are embedded in it
    assert (part["contract"], part["sender"], part["chain_id"]) == ("0xc", "0xe", 5)


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "other"},
        {"block": {}},
        {"proof": None},
        {"proof": {}},
        {"proof": {**PROOF, "storageProof": [{"key": "zz", "value": "0x1", "proof": []}]}},
        {"proof": {**PROOF, "accountProof": [5]}},
        {"proof": {**PROOF, "accountProof": [["x"] * 99]}},
    ],
)
def test_an_answer_that_is_no_proof_is_a_failure_of_the_node(broken):
    with raises_code("bad_rpc", LedgerError):
        chain_part(**broken)


def test_evidence_that_would_be_longer_than_is_read_is_not_built(monkeypatch):
    made = EVIDENCE["log"]
    ids = {name: bytes.fromhex(made["committed"][name]) for name in ("snapshot", "parent")}
    commitment = Commitment(
        ledger="", identity="", brain=bytes.fromhex(made["brain"]), seq=2, status=FINALIZED,
        time=0, block=0, **ids,
    )  # fmt: skip
    path = json.dumps(made["proof"]).encode()
    text = evidence_builder.build_evidence(commitment, made, ids["snapshot"], path=path)
    assert json.loads(text) == made
    monkeypatch.setattr(evidence_builder, "MAX_EVIDENCE_BYTES", len(text))
    assert evidence_builder.build_evidence(commitment, made, ids["snapshot"], path=path) == text
    monkeypatch.setattr(evidence_builder, "MAX_EVIDENCE_BYTES", len(text) - 1)
    with pytest.raises(
        InvalidInput, match=f"^the evidence would have {len(text)} bytes, "
    ) as caught:
        evidence_builder.build_evidence(commitment, made, ids["snapshot"], path=path)
    assert caught.value.code == "too_large"


def test_the_kind_of_a_proof_in_evidence_is_that_of_its_place():
    assert outcome(evidence_format._parse_proof, None, object) == ""
    with raises_code("bad_field", ProofError):
        parse_evidence(json.dumps({**EVIDENCE["skipped"], "proof": 7}).encode())
