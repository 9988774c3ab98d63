"""What a caller is told of a proof, what it may expect of it, and where its limits are."""

import io
import json
from typing import Any

import pytest

from brain.errors import InvalidInput, ProofError
from brain.limits import MAX_PROOF_BYTES
from brain.proofs import json_fields
from brain.proofs import proof as proof_documents
from brain.proofs.build import build_path_proof, build_section_proof
from brain.proofs.check import check_proof
from brain.proofs.proof import DescentProof, parse_proof, render_proof
from tests.support.recorded_snapshots import (
    OTHER_BLOB_ID,
    json_bytes,
    record_snapshot,
)
from tests.support.refusals import raises_code

SMALL = record_snapshot()
LATER = record_snapshot(brain=SMALL.id)
PATH = json_bytes(SMALL.path_proof("skills/b.md"))


def refused(data: bytes, **expected: Any) -> ProofError:
    with pytest.raises(ProofError) as caught:
        check_proof(data, **expected)
    return caught.value


@pytest.mark.parametrize("field", ["brain", "snapshot"])
def test_a_proof_about_something_else_than_expected_is_refused(field):
    data = json_bytes(LATER.path_proof("SOUL.md"))
    ids = {"brain": SMALL.id.hex(), "snapshot": LATER.id.hex()}
    found = check_proof(data, **{field: ids[field]})  # type: ignore[arg-type]
    assert found.ok == (field == "snapshot")
    assert check_proof(data, **ids) == found._replace(ok=True, vouched_by=["snapshot"])  # type: ignore[arg-type]
    error = refused(data, **{**ids, field: OTHER_BLOB_ID.hex()})
    assert error.code == f"not_this_{field}"
    assert error.message.endswith(
        f"it is about the {field} {ids[field]}, not {OTHER_BLOB_ID.hex()}"
    )
    with raises_code("bad_id", InvalidInput):
        check_proof(data, **{field: "main"})  # type: ignore[arg-type]


def test_content_is_compared_if_it_is_given():
    assert refused(PATH, content=io.BytesIO(b"other")).code == "wrong_content"
    assert refused(PATH, content=io.BytesIO(b"")).code == "wrong_content"
    with raises_code("no_content", InvalidInput):
        section = render_proof(build_section_proof(*SMALL, "skills"))
        check_proof(section, content=io.BytesIO(b""))  # type: ignore[arg-type]


def test_a_proof_of_absence_is_refused_by_name():
    error = refused(json_bytes({**json.loads(PATH), "kind": "absence"}))
    assert error.code == "unsupported_version" and "proofs of absence" in error.message
    assert "copy of the brain" in error.hint


def test_a_proof_of_the_greatest_size_is_read():
    assert check_proof(PATH.ljust(MAX_PROOF_BYTES)) == check_proof(PATH)
    error = refused(PATH.ljust(MAX_PROOF_BYTES + 1))
    assert error.code == "too_large"
    assert error.message.endswith(
        f"it has {MAX_PROOF_BYTES + 1} bytes, more than {MAX_PROOF_BYTES}"
    )


def test_a_proof_of_the_greatest_size_is_made(monkeypatch):
    proof = build_path_proof(*SMALL, "skills/b.md")
    size = len(render_proof(proof))
    monkeypatch.setattr(proof_documents, "MAX_PROOF_BYTES", size)
    assert parse_proof(render_proof(proof)) == proof
    monkeypatch.setattr(proof_documents, "MAX_PROOF_BYTES", size - 1)
    with raises_code("too_large", InvalidInput, match=f"the proof would have {size} bytes"):
        render_proof(proof)


def test_values_inside_each_other_have_a_greatest_depth():
    assert json_fields.parse_untrusted_json(b"[" * 32 + b"]" * 32)
    with raises_code("too_deep", ProofError):
        json_fields.parse_untrusted_json(b"[" * 33 + b"]" * 33)


def test_a_version_that_is_not_known_is_shown_with_the_one_that_is():
    error = refused(json_bytes({**json.loads(PATH), "format": "brain v2 proof"}))
    assert '"brain v2 proof", not "brain v1 proof"' in error.message
    assert "newer version" in error.hint


def test_a_chain_of_no_snapshot_is_refused():
    ids = (OTHER_BLOB_ID,) * 3
    error = refused(render_proof(DescentProof(*ids, [])))
    assert error.code == "broken_chain" and error.message.endswith("its chain holds no snapshot")
