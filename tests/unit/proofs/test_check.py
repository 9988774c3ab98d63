"""Proofs: what they show, and what is refused."""

import json
import subprocess
import sys
from typing import Any

import jsonschema_rs
import pytest
from brain_cli import schemas

from brain.errors import InvalidInput, ProofError
from brain.limits import MAX_MESSAGE_BYTES
from brain.objects.snapshot import encode_snapshot
from brain.proofs.check import verify_proof_bytes, verify_proof_content
from brain.proofs.proof import DescentProof, parse_proof, render_proof
from tests.support.conformance.golden_vectors import GoldenVector, check_each_vector, read_vectors
from tests.support.json_mutations import mutate_json
from tests.support.recorded_snapshots import (
    OTHER_BLOB_ID,
    json_bytes,
    record_snapshot,
)
from tests.support.refusals import raises_code

SMALL = record_snapshot()


def refused(value: Any) -> str:
    """Return the code for which a document is refused."""
    with pytest.raises(ProofError) as caught:
        verify_proof_bytes(value if isinstance(value, bytes) else json_bytes(value))
    assert caught.value.exit_status == 3
    return caught.value.code


def test_content_without_end_is_read_to_its_size():
    proven = verify_proof_bytes(json_bytes(SMALL.path_proof("skills/b.md")))
    with open("/dev/zero", "rb", buffering=0) as endless, raises_code("wrong_content", ProofError):
        verify_proof_content(proven, endless)


PATH = SMALL.path_proof("skills/b.md")
TEXT = json.dumps(PATH)


def code_of(data: bytes) -> str:
    with pytest.raises(ProofError) as caught:
        verify_proof_bytes(data)
    return caught.value.code


def test_the_proof_that_is_altered_here_holds():
    assert verify_proof_bytes(TEXT.encode()).path == "skills/b.md"


def test_the_message_shows_foreign_text_escaped_and_cut():
    with pytest.raises(ProofError) as caught:
        verify_proof_bytes(json_bytes({**PATH, "\x1b[2J": 1}))
    assert caught.value.message.isprintable()
    with pytest.raises(ProofError) as caught:
        verify_proof_bytes(json_bytes({**PATH, "path": "\x1b[2J\n" * 50_000}))
    assert caught.value.message.isprintable() and len(caught.value.message) < 1000


def test_a_proof_larger_than_is_read_is_not_made():
    long = encode_snapshot(SMALL.snapshot._replace(message="x" * MAX_MESSAGE_BYTES))
    with raises_code("too_large", InvalidInput):
        render_proof(DescentProof(OTHER_BLOB_ID, OTHER_BLOB_ID, OTHER_BLOB_ID, [long] * 64))


def test_depth_is_limited_whatever_python_would_let_a_parser_do():
    code = (
        "import sys; sys.setrecursionlimit(10**6)\n"
        "from brain import ProofError, check_proof\n"
        "for text in (b'[' * 10**5, b'{\"a\":' * 10**5, b'[\"]' + b'[' * 10**5):\n"
        "    try: check_proof(text)\n"
        "    except ProofError as error: print(error.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["too_deep"] * 3


def test_brackets_in_text_are_not_depth():
    for text in ("[" * 200, '\\"' + "[{" * 100, "[" * 100 + "]" * 300):
        document = json.dumps({**PATH, "path": text, "climb": [{}] * 40}).encode()
        assert code_of(document) == "bad_field"
    assert code_of(json.dumps({**PATH, "climb": [[]] * 40}).encode()) == "bad_field"


SCHEMA = jsonschema_rs.validator_for(schemas.load("proof"))


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


FLOORS = ("brain.proofs.", "brain.objects.")
GROUND = {
    "_version",
    "digest",
    "encoding",
    "errors",
    "limits",
    "merkle",
    "named_tuple",
    "objects",
    "proofs",
    "util",
    "util.checked_calls",
    "util.strict_json",
}


def test_checking_imports_only_objects_and_what_lies_below_them():
    code = "import sys; import brain.proofs.check; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True)
    modules = done.stdout.decode().split()
    house = {name for name in modules if name.startswith("brain.")}
    assert {name for name in house if not name.startswith(FLOORS)} <= {f"brain.{n}" for n in GROUND}
    assert "brain.proofs.build" not in house
    foreign = {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names)
    assert {"blake3", "msgpack"} <= foreign
    assert not foreign & {"apsw", "click", "cryptography", "rich", "web3", "yaml"}
