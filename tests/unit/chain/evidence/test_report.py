"""What a reader is told about evidence, as text."""

import json
from typing import Any

import pytest

from brain import check_evidence
from brain.chain.evidence import evidence_report
from brain.chain.tlog.note import VerifierKey
from brain.errors import BrainError, InvalidInput, ProofError
from brain.results import Evidence
from brain.util.utc_time import iso_time, utc_time
from tests.support.chain import synthetic_evidence
from tests.support.chain.synthetic_chain import CONTRACT_ADDRESS, SENDER_ADDRESS
from tests.support.chain.synthetic_evidence import (
    FIRST_SNAPSHOT,
    LAST_SNAPSHOT,
    LOG_KEY,
    NEW_PATH_CONTENT,
    WITNESS_KEY,
    EvidenceDocument,
)
from tests.support.json_mutations import replace_at
from tests.support.refusals import raises_code
from tests.support.tlog_ledgers import sign_cosignature

EVIDENCE = synthetic_evidence.make_all_evidence()
STATE = synthetic_evidence.make_chain_state()
BLOCK_HASH = STATE.block()["hash"]


def check_document(document: EvidenceDocument, **known: Any) -> Evidence:
    return check_evidence(json.dumps(document).encode(), **known)


def check(name: str, **known: Any) -> Evidence:
    return check_document(EVIDENCE[name], **known)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_700_000_000_999, "2023-11-14T22:13:20.999Z"),
        (1_700_000_001_000, "2023-11-14T22:13:21.000Z"),
    ],
)
def test_a_time_is_shown_with_its_milliseconds(milliseconds, text):
    assert iso_time(utc_time(milliseconds)) == text


def test_a_log_and_a_chain_are_shown_line_by_line():
    found = check("witnessed", witnesses=[str(WITNESS_KEY)], log_key=str(LOG_KEY))
    lines = evidence_report.render_text(found).splitlines()
    assert lines[0] == f"Shown: {found.claim}."
    assert lines[1].startswith("Vouched for by the key of the log that you brought and the witn")
    assert lines[2] == "Trust: L1, one witness cosigned the log."
    rows = dict(line.split(maxsplit=1) for line in lines[3:] if line.startswith("  "))
    assert found.log is not None and found.path is not None
    assert rows["path"] == found.path and rows["size"] == str(len(NEW_PATH_CONTENT))
    assert rows["entry"] == f"5 of 7, at {iso_time(found.log.time)}"
    assert rows["witness"] == str(WITNESS_KEY)
    assert len({line.index(line.split()[1]) for line in lines[4:10]}) == 1  # one column
    assert lines[-2:] == [
        "To rely on it, you still need:",
        "- the file itself, to compare it with what is proven",
    ]


def test_the_block_of_an_anchor_is_shown():
    found = check("anchor")
    assert found.chain is not None and found.chain.time == utc_time(STATE.time * 1000)
    rows = [" ".join(line.split()) for line in evidence_report.render_text(found).splitlines()]
    time = iso_time(found.chain.time)
    assert {f"block 123, at {time}", f"block hash {found.chain.block_hash}"} <= {*rows}
    assert f"anchored by {found.chain.sender}" in rows
    assert not [row for row in rows if row.startswith("owner ")]


def test_what_a_reader_still_needs_depends_on_what_they_have():
    file = "the file itself, to compare it with what is proven"
    key = "the public key of the log, from its operator"
    witness = "a witness or a chain: the operator of a log can show another log to others"
    block = "a hash of block 123 on chain 31337 that you trust: only it shows which chain this is"
    anchor = check("anchor").chain
    assert anchor is not None
    sender = f"that {anchor.sender} anchors this log: anybody can anchor another log"
    assert check("log").missing == [file, key, witness]
    assert check("log", log_key=str(LOG_KEY)).missing == [file, witness]
    assert check("witnessed", witnesses=[str(WITNESS_KEY)]).missing == [file, key]
    assert check("anchor").missing == [file, key, block, sender]
    known = {"block_hash": BLOCK_HASH, "owner": check("brain").chain.owner}  # type: ignore[union-attr]
    assert check("brain", **known).missing == [file]
    for trust in ("L1", "L2"):
        found = check("brain", **known, block_trust=trust)
        assert found.missing == [file, block.replace(":", ", from another source than its nodes:")]
        assert found.trust_level == trust
    assert check("brain", block_trust="L1").trust_level == "L0"
    with pytest.raises(InvalidInput, match='"L4" is not a trust level'):
        check("brain", block_trust="L4")


def test_a_shortened_block_hash_is_compared_and_leaves_something_to_know():
    found = check("brain", block_hash=BLOCK_HASH[:18])
    assert found.trust_level == "L3"
    assert (
        "the rest of the block hash: a block with the same first 16 digits can be made"
        in found.missing
    )
    other = BLOCK_HASH[:17] + ("1" if BLOCK_HASH[17] == "0" else "0")
    with pytest.raises(ProofError, match="its block is 0x"):
        check("brain", block_hash=other)


def test_witnesses_that_the_reader_names_raise_the_level_of_a_log():
    entry = synthetic_evidence.COMMIT_ENTRY
    second = VerifierKey("second.example", WITNESS_KEY.algorithm, LOG_KEY.key)
    note = synthetic_evidence.signed_checkpoint(synthetic_evidence.LOG_ENTRIES, judges=1)
    text = note.split("\n\n")[0] + "\n"
    line = sign_cosignature(text, second, synthetic_evidence.LOG_KEY_SEED, 1)
    log = {**synthetic_evidence.make_log_field(entry), "checkpoint": note + str(line)}
    data = json.dumps({**EVIDENCE["log"], "log": log}).encode()
    keys = [str(WITNESS_KEY), str(second)]
    levels = [check_evidence(data, witnesses=keys[:count]).trust_level for count in range(3)]
    assert levels == ["L0", "L1", "L2"]
    found = check_evidence(data, witnesses=keys)
    assert "Trust: L2, several witnesses" in evidence_report.render_text(found)


def test_the_hash_of_a_block_and_witnesses_give_the_higher_level():
    chain = EVIDENCE["anchor"]["chain"]
    data = json.dumps({**EVIDENCE["witnessed"], "chain": chain}).encode()
    known: dict[str, Any] = {"witnesses": [str(WITNESS_KEY)]}
    assert check_evidence(data, **known).trust_level == "L1"
    assert check_evidence(data, block_hash=BLOCK_HASH, **known).trust_level == "L3"


def test_a_file_is_compared_with_its_proof(tmp_path):
    (tmp_path / "file").write_bytes(NEW_PATH_CONTENT)
    with (tmp_path / "file").open("rb", buffering=0) as content:
        found = check("log", content=content, log_key=str(LOG_KEY))
        assert found.missing[0].startswith("a witness or a chain")
        assert (found.type, found.size) == ("file", len(NEW_PATH_CONTENT))
        bare = json.dumps({**EVIDENCE["log"], "proof": None}).encode()
        with pytest.raises(InvalidInput) as caught:
            check_evidence(bare, content=content)
    assert caught.value.code == "no_content"
    assert check_evidence(bare).path is None and check_evidence(bare).size is None


@pytest.mark.parametrize(
    ("name", "known", "code"),
    [
        ("log", {"brain": "00" * 32}, "not_this_brain"),
        ("log", {"snapshot": "00" * 32}, "not_this_snapshot"),
        ("log", {"owner": "0x" + "00" * 20}, "no_owner"),
        ("log", {"block_hash": "0x" + "00" * 32}, "no_block"),
        ("brain", {"log_key": str(LOG_KEY)}, "no_log"),
        ("brain", {"witnesses": [str(WITNESS_KEY)]}, "no_log"),
    ],
)
def test_evidence_about_something_else_is_refused(name, known, code):
    with raises_code(code, BrainError):
        check(name, **known)


def test_evidence_about_what_the_reader_expects_is_taken():
    made = EVIDENCE["log"]
    assert check("log", brain=made["brain"], snapshot=made["snapshot"]).ok


def test_the_first_commitment_comes_after_none():
    first = synthetic_evidence.OPENING_ENTRY
    log = synthetic_evidence.make_log_field(first)
    committed = {"snapshot": first.snapshot.hex(), "parent": first.parent.hex(), "seq": 1}
    document = {
        **EVIDENCE["log"], "log": log, "committed": committed, "snapshot": first.snapshot.hex(),
        "proof": None,
    }  # fmt: skip
    found = check_evidence(json.dumps(document).encode())
    assert found.parent is None and found.seq == 1
    assert check("log").parent == EVIDENCE["log"]["committed"]["parent"]


def test_a_long_path_is_cut_in_the_claim_and_shown_in_its_row():
    found = check("log")._replace(path="p" * 1025)
    assert evidence_report.claim_sentence(found).startswith("p" * 1024 + "… is in snapshot ")
    whole = found._replace(path="p" * 1024)
    assert evidence_report.claim_sentence(whole).startswith("p" * 1024 + " is in snapshot ")
    for size, shown in ((4096, "p" * 4096), (4097, "p" * 4096 + "…")):
        lines = evidence_report.render_text(found._replace(path="p" * size)).splitlines()
        assert lines[3].split() == ["path", shown]


def test_a_chain_is_what_the_evidence_says_until_the_reader_knows_the_block():
    moved = replace_at(EVIDENCE["brain"], ("chain", "chain_id"), 1)
    block = check("brain").chain
    assert block is not None
    result = check_document(moved, block_hash=block.block_hash)
    assert result.chain is not None and result.chain.chain_id == 1
    assert any("on chain 1 that you trust" in one for one in check_document(moved).missing)


def test_the_claim_is_a_sentence():
    old, new = FIRST_SNAPSHOT.id.hex()[:12], LAST_SNAPSHOT.id.hex()[:12]
    there = f"the head at block 123 in contract 0x{CONTRACT_ADDRESS.hex()}"
    logged, sender = "in the log log.example", f"0x{SENDER_ADDRESS.hex()}"
    bare = {**EVIDENCE["skipped"], "proof": None}
    for document, claim in (
        (EVIDENCE["brain"], f"skills/d/SKILL.md is in snapshot {new}, which is"),
        (replace_at(EVIDENCE["brain"], ("proof",), None), f"snapshot {new} is"),
        (
            EVIDENCE["skipped"],
            f"skills/b.md is in snapshot {old}, which is an ancestor of {new}, which is",
        ),
        (bare, f"snapshot {old} is an ancestor of {new}, which is"),
    ):
        assert check_document(document).claim == f"{claim} commitment 2 of brain {old}, {there}"
    assert check("log").claim.endswith(f"commitment 2 of brain {old} {logged}")
    at = f"at block 123 in contract 0x{CONTRACT_ADDRESS.hex()}"
    assert check("anchor").claim.endswith(f"{logged}, anchored by {sender} {at}")
