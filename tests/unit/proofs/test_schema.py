"""The schema of proofs says what their reader takes."""

import json

import brain._schemas
import jsonschema_rs

from brain.errors import ProofError
from brain.proofs.proof_json import parse_proof
from tests.support.conformance.golden_vectors import GoldenVector, check_each_vector, read_vectors
from tests.support.json_mutations import mutate_json
from tests.support.recorded_snapshots import json_bytes

SCHEMA = jsonschema_rs.validator_for(brain._schemas.load("proof"))


def test_a_proof_keeps_its_schema(subtests):
    proofs = read_vectors("proof", valid=True)
    assert proofs
    check_each_vector(subtests, proofs, lambda proof: SCHEMA.validate(json.loads(proof.data)))


def test_what_breaks_the_schema_is_not_read(subtests):
    proofs = read_vectors("proof", valid=True)[::3]
    assert proofs
    check_each_vector(subtests, proofs, _check_mutants)


def _check_mutants(vector: GoldenVector) -> None:
    for what, mutant in mutate_json(json.loads(vector.data)):
        try:
            parse_proof(json_bytes(mutant))
        except ProofError:
            continue
        assert SCHEMA.is_valid(mutant), what


def test_most_of_what_is_not_read_breaks_the_schema():
    broken = [
        vector for vector in read_vectors("proof", valid=False) if vector.error == "bad_field"
    ]
    found = [SCHEMA.is_valid(json.loads(vector.data)) for vector in broken]
    assert sum(found) < len(found) / 5
