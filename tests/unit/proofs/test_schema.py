"""The schema of proofs says what their reader takes."""

from __future__ import annotations

import json

import brain._schemas
import jsonschema_rs
import pytest

from brain.errors import ProofError
from brain.proofs.document import read
from tests.conformance.reading import Vector, title
from tests.conformance.reading import read as vectors
from tests.mutants import mutants
from tests.proving import as_bytes

SCHEMA = jsonschema_rs.validator_for(brain._schemas.load("proof"))


@pytest.mark.parametrize("vector", vectors("proof", valid=True), ids=title)
def test_a_proof_keeps_its_schema(vector: Vector) -> None:
    SCHEMA.validate(json.loads(vector.data))


@pytest.mark.parametrize("vector", vectors("proof", valid=True)[::3], ids=title)
def test_what_breaks_the_schema_is_not_read(vector: Vector) -> None:
    for what, mutant in mutants(json.loads(vector.data)):
        try:
            read(as_bytes(mutant))
        except ProofError:
            continue
        assert SCHEMA.is_valid(mutant), what


def test_most_of_what_is_not_read_breaks_the_schema() -> None:
    broken = [vector for vector in vectors("proof", valid=False) if vector.error == "bad_field"]
    found = [SCHEMA.is_valid(json.loads(vector.data)) for vector in broken]
    assert sum(found) < len(found) / 5
