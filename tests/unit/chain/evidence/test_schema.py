"""The schemas of evidence, and of what is told of it, say what is read and written."""

from __future__ import annotations

import json
from typing import Any

import brain._schemas
import jsonschema_rs
import pytest

from brain import check_evidence
from brain.chain.evidence.document import read
from brain.chain.evidence.report import as_json
from brain.errors import ProofError
from tests.chain import made
from tests.mutants import mutants

SCHEMA = jsonschema_rs.validator_for(brain._schemas.load("evidence"))
TOLD = jsonschema_rs.validator_for(brain._schemas.load("chain-check"))
DOCUMENTS = made.documents()


def is_read(document: Any) -> bool:
    try:
        read(json.dumps(document).encode())
    except ProofError:
        return False
    return True


@pytest.mark.parametrize("name", DOCUMENTS)
def test_evidence_keeps_its_schema(name: str) -> None:
    SCHEMA.validate(DOCUMENTS[name])


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_told_of_it_keeps_its_schema(name: str) -> None:
    TOLD.validate(json.loads(as_json(check_evidence(json.dumps(DOCUMENTS[name]).encode()))))


@pytest.mark.parametrize("name", ["skipped", "anchor"])
def test_what_breaks_the_schema_is_not_read(name: str) -> None:
    for what, mutant in mutants(DOCUMENTS[name]):
        assert SCHEMA.is_valid(mutant) or not is_read(mutant), what


@pytest.mark.parametrize("name", ["skipped", "anchor"])
def test_most_of_what_is_not_read_breaks_the_schema(name: str) -> None:
    unread = [mutant for _, mutant in mutants(DOCUMENTS[name]) if not is_read(mutant)]
    assert sum(map(SCHEMA.is_valid, unread)) < len(unread) / 5
