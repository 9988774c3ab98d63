"""The schema of proofs says what their reader takes."""

from __future__ import annotations

import json

import brain._schemas
import jsonschema_rs
import pytest

from brain.errors import ProofError
from brain.proofs.proof_json import parse_proof
from tests.support.conformance.golden_vectors import GoldenVector, vector_id
from tests.support.conformance.golden_vectors import read_vectors as vectors
from tests.support.json_mutations import mutate_json
from tests.support.recorded_snapshots import json_bytes

SCHEMA = jsonschema_rs.validator_for(brain._schemas.load("proof"))


@pytest.mark.parametrize("vector", vectors("proof", valid=True), ids=vector_id)
def test_a_proof_keeps_its_schema(vector: GoldenVector) -> None:
    SCHEMA.validate(json.loads(vector.data))


@pytest.mark.parametrize("vector", vectors("proof", valid=True)[::3], ids=vector_id)
def test_what_breaks_the_schema_is_not_read(vector: GoldenVector) -> None:
    for what, mutant in mutate_json(json.loads(vector.data)):
        try:
            parse_proof(json_bytes(mutant))
        except ProofError:
            continue
        assert SCHEMA.is_valid(mutant), what


def test_most_of_what_is_not_read_breaks_the_schema() -> None:
    broken = [vector for vector in vectors("proof", valid=False) if vector.error == "bad_field"]
    found = [SCHEMA.is_valid(json.loads(vector.data)) for vector in broken]
    assert sum(found) < len(found) / 5
