"""The format of evidence."""

import json
from typing import Any

import jsonschema_rs
import pytest
from brain_cli import schemas
from brain_cli.output import to_json

from brain import check_evidence
from brain.chain.evidence.evidence_format import parse_evidence
from brain.chain.evidence.evidence_model import EvidenceDocument
from brain.errors import ProofError
from tests.support.chain import synthetic_evidence
from tests.support.json_mutations import mutate_json

BRAIN, LOG = (synthetic_evidence.make_all_evidence()[name] for name in ("brain", "log"))
TEXT = json.dumps(BRAIN)


def test_what_is_altered_here_is_read():
    assert isinstance(parse_evidence(TEXT.encode()), EvidenceDocument)


SCHEMA = jsonschema_rs.validator_for(schemas.load("evidence"))
TOLD = jsonschema_rs.validator_for(schemas.load("verify"))
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
    TOLD.validate(to_json(check_evidence(json.dumps(DOCUMENTS[name]).encode())))


@pytest.mark.parametrize("name", ["skipped", "anchor"])
def test_what_breaks_the_schema_is_not_read(name):
    for what, mutant in mutate_json(DOCUMENTS[name]):
        assert SCHEMA.is_valid(mutant) or not is_read(mutant), what


@pytest.mark.parametrize("name", ["skipped", "anchor"])
def test_most_of_what_is_not_read_breaks_the_schema(name):
    unread = [mutant for _, mutant in mutate_json(DOCUMENTS[name]) if not is_read(mutant)]
    assert sum(map(SCHEMA.is_valid, unread)) < len(unread) / 5
