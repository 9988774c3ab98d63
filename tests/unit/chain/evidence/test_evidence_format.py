"""The format of evidence."""

import json
from typing import Any

import brain._schemas
import jsonschema_rs
import pytest

from brain import check_evidence
from brain.chain.evidence import evidence_report
from brain.chain.evidence.evidence_format import parse_evidence
from brain.chain.evidence.evidence_model import EvidenceDocument
from brain.chain.evidence.evidence_report import render_json
from brain.errors import BrainError, ProofError
from brain.trust import ed25519
from brain.trust.signature_format import format_key
from tests.support.chain import bound_evidence, synthetic_evidence
from tests.support.chain.bound_evidence import BoundEvidence, make_statement
from tests.support.json_mutations import mutate_json

BRAIN, LOG = (synthetic_evidence.make_all_evidence()[name] for name in ("brain", "log"))
TEXT = json.dumps(BRAIN)


def test_what_is_altered_here_is_read():
    assert isinstance(parse_evidence(TEXT.encode()), EvidenceDocument)


KEY = format_key(ed25519.public_key(bound_evidence.KEY_SEED))
OTHER_KEY = format_key(ed25519.public_key(bound_evidence.OTHER_KEY_SEED))


def refusal(found: BoundEvidence, key: str = KEY) -> str:
    with pytest.raises(BrainError) as raised:
        check_evidence(json.dumps(found.document).encode(), key=key)
    return raised.value.code


def test_a_known_key_tells_whose_brain_it_is():
    found = bound_evidence.bound_evidence()
    text = json.dumps(found.document).encode()
    unknown = check_evidence(text, block_hash=found.block_hash)
    known = check_evidence(text, block_hash=found.block_hash, key=KEY)
    assert any("owner" in one for one in unknown.missing)
    assert known.missing == []
    assert f"{KEY}, bound to the owner, signed by both" in evidence_report.render_text(known)
    row = json.loads(evidence_report.render_json(known))["accounts"][0]
    assert (row["key"], row["status"], row["expires"]) == (KEY, "valid", None)


def test_a_key_that_is_not_bound_to_the_owner_is_refused():
    elsewhere = bound_evidence.account_address("signer")
    expired = make_statement(expires=bound_evidence.BLOCK_TIME)
    wallet = make_statement(chain_id=1)
    assert refusal(bound_evidence.bound_evidence(), OTHER_KEY) == "not_bound"
    assert refusal(bound_evidence.bound_evidence(owner=elsewhere)) == "not_bound"
    assert refusal(bound_evidence.bound_evidence([expired])) == "not_bound"
    assert refusal(bound_evidence.bound_evidence([wallet])) == "not_bound"
    assert refusal(bound_evidence.bound_evidence([make_statement(brain=bytes(32))])) == "not_bound"
    assert refusal(bound_evidence.bound_evidence(), "ed25519:00") == "bad_key"


def test_a_key_cannot_be_compared_with_evidence_without_statements():
    bare = synthetic_evidence.make_all_evidence()["brain"]
    assert refusal(BoundEvidence(bare, "")) == "no_statement"


SCHEMA = jsonschema_rs.validator_for(brain._schemas.load("evidence"))
TOLD = jsonschema_rs.validator_for(brain._schemas.load("chain-check"))
DOCUMENTS = synthetic_evidence.make_all_evidence()


def is_read(document: Any) -> bool:
    try:
        parse_evidence(json.dumps(document).encode())
    except ProofError:
        return False
    return True


@pytest.mark.parametrize("name", DOCUMENTS)
def test_evidence_keeps_its_schema(name):
    SCHEMA.validate(DOCUMENTS[name])


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_told_of_it_keeps_its_schema(name):
    TOLD.validate(json.loads(render_json(check_evidence(json.dumps(DOCUMENTS[name]).encode()))))


@pytest.mark.parametrize("name", ["skipped", "anchor"])
def test_what_breaks_the_schema_is_not_read(name):
    for what, mutant in mutate_json(DOCUMENTS[name]):
        assert SCHEMA.is_valid(mutant) or not is_read(mutant), what


@pytest.mark.parametrize("name", ["skipped", "anchor"])
def test_most_of_what_is_not_read_breaks_the_schema(name):
    unread = [mutant for _, mutant in mutate_json(DOCUMENTS[name]) if not is_read(mutant)]
    assert sum(map(SCHEMA.is_valid, unread)) < len(unread) / 5
