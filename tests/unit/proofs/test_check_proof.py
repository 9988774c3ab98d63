"""What a caller is told of a proof, what it may expect of it, and where its limits are."""

import io
import json
from typing import Any

import pytest

from brain.errors import InvalidInput, NotFound, ProofError
from brain.limits import MAX_PROOF_BYTES
from brain.objects.tree_node import MAX_SAFE_INTEGER
from brain.proofs import json_fields, proof_builder, proof_json
from brain.proofs.proof_builder import build_descent_proof, build_path_proof, build_section_proof
from brain.proofs.proof_json import parse_proof, render_proof
from brain.proofs.proof_types import DescentProof
from brain.proofs.proof_verification import check_proof, verify_proof_bytes
from brain.results import Proof
from tests.support.recorded_snapshots import (
    OTHER_BLOB_ID,
    json_bytes,
    proof_document,
    record_snapshot,
)
from tests.support.refusals import raises_code
from tests.support.snapshot_graphs import SnapshotGraph

SMALL = record_snapshot()
LATER = record_snapshot(brain=SMALL.id)
PATH = json_bytes(SMALL.path_proof("skills/b.md"))
CONTENT = b"skills/b.md"


def refused(data: bytes, **expected: Any) -> ProofError:
    with pytest.raises(ProofError) as caught:
        check_proof(data, **expected)
    return caught.value


def test_a_path_is_told_with_all_that_is_proven_of_it():
    found = check_proof(PATH, content=io.BytesIO(CONTENT))  # type: ignore[arg-type]
    entry = SMALL.bundle.get("skills/b.md")
    assert entry is not None
    assert found == Proof(
        *(False, True, [], "path", SMALL.id.hex(), SMALL.id.hex(), SMALL.snapshot.bundle.hex()),
        *("skills/b.md", "file", entry.blob.hex(), len(CONTENT)),
        *(None, None, None, None, None),
    )


def test_an_absence_is_told_by_its_path_alone():
    found = check_proof(json_bytes(LATER.absence_proof("n/b")))
    assert found == Proof(
        *(False, True, [], "absence", SMALL.id.hex(), LATER.id.hex(), LATER.snapshot.bundle.hex()),
        *("n/b", None, None, None, None, None, None, None, None),
    )


def test_a_section_is_told_with_its_root_and_totals():
    proof = build_section_proof(SMALL.bundle, SMALL.snapshot, "memory")
    root = SMALL.bundle.sections["memory"]
    assert check_proof(render_proof(proof)) == Proof(
        *(False, True, [], "section", SMALL.id.hex(), SMALL.id.hex(), SMALL.snapshot.bundle.hex()),
        *(None, None, None, root.bytes, "memory", root.node.hex(), root.files, None, None),
    )


def test_a_descent_is_told_with_the_ancestor_and_its_brain():
    graph = SnapshotGraph()
    graph.add(0)
    fork = graph.add_fork(1)
    proof = build_descent_proof(graph.load, graph.ids[0], fork)
    assert check_proof(render_proof(proof)) == Proof(
        *(False, True, [], "descent", fork.hex(), fork.hex(), None, None, None, None, None),
        *(None, None, None, graph.ids[0].hex(), graph.ids[0].hex()),
    )


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
        check_proof(json_bytes(SMALL.absence_proof("n/b")), content=io.BytesIO(b""))  # type: ignore[arg-type]


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
    monkeypatch.setattr(proof_json, "MAX_PROOF_BYTES", size)
    assert parse_proof(render_proof(proof)) == proof
    monkeypatch.setattr(proof_json, "MAX_PROOF_BYTES", size - 1)
    with raises_code("too_large", InvalidInput, match=f"the proof would have {size} bytes"):
        render_proof(proof)


def test_values_inside_each_other_have_a_greatest_depth():
    assert json_fields.parse_untrusted_json(b"[" * 32 + b"]" * 32)
    with raises_code("too_deep", ProofError):
        json_fields.parse_untrusted_json(b"[" * 33 + b"]" * 33)


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("size", [0, MAX_SAFE_INTEGER], [-1, MAX_SAFE_INTEGER + 1]),
        ("files", [1, MAX_SAFE_INTEGER], [0, MAX_SAFE_INTEGER + 1]),
        ("bytes", [0, MAX_SAFE_INTEGER], [-1, MAX_SAFE_INTEGER + 1]),
    ],
)
def test_numbers_are_read_up_to_their_limits(field, good, bad):
    document = SMALL.path_proof("skills/b.md")
    place = document if field == "size" else document["tree"]
    for number in good:
        place[field] = number
        assert parse_proof(json_bytes(document))
    for number in bad:
        place[field] = number
        with raises_code("bad_field", ProofError, match="not an integer from"):
            parse_proof(json_bytes(document))


def test_a_field_that_is_missing_or_unknown_is_named():
    document = json.loads(PATH)
    assert refused(json_bytes({**document, "extra": 1})).message.endswith(
        'the field "extra" is unknown'
    )
    del document["size"]
    assert refused(json_bytes(document)).message.endswith('the field "size" is missing')


@pytest.mark.parametrize(
    ("value", "message"),
    [(7, "7 is not a digest"), ("x", '"x" is not a digest'), (None, "null is not a digest")],
)
def test_a_field_of_another_kind_is_shown(value, message):
    assert refused(json_bytes({**json.loads(PATH), "blob": value})).message.endswith(message)


@pytest.mark.parametrize("name", ["a/b", "", "../a", 7])
def test_a_section_has_the_name_of_a_folder_at_the_top(name):
    document = proof_document(build_section_proof(SMALL.bundle, SMALL.snapshot, "memory"))
    assert refused(json_bytes({**document, "section": name})).code == "bad_field"


def test_a_version_that_is_not_known_is_shown_with_the_one_that_is():
    error = refused(json_bytes({**json.loads(PATH), "format": "brain v2 proof"}))
    assert '"brain v2 proof", not "brain v1 proof"' in error.message
    assert "newer version" in error.hint


def test_what_cannot_be_proven_is_refused_with_what_can():
    for make, code, hint in (
        (lambda: build_path_proof(*SMALL, "n/b"), "no_path", "--absent"),
        (lambda: build_path_proof(*SMALL, "skills/x"), "no_path", "--absent"),
        (
            lambda: build_section_proof(SMALL.bundle, SMALL.snapshot, "n"),
            "no_section",
            "prove a file in it",
        ),
    ):
        with raises_code(code, NotFound) as caught:
            make()
        assert hint in caught.value.hint
    with pytest.raises(InvalidInput) as there:
        proof_builder.build_absence_proof(*SMALL, "skills/b.md")
    assert there.value.hint == "prove that it is there, without --absent"


def test_a_chain_of_no_snapshot_is_refused():
    ids = (OTHER_BLOB_ID,) * 3
    error = refused(render_proof(DescentProof(*ids, [])))
    assert error.code == "broken_chain" and error.message.endswith("its chain holds no snapshot")


def test_what_a_proof_does_not_speak_of_is_empty_or_zero():
    proven = verify_proof_bytes(json_bytes(SMALL.absence_proof("n/b")))
    assert tuple(proven) == (
        *("absence", SMALL.id, SMALL.id, SMALL.snapshot.bundle, "n/b"),
        *(0, b"", 0, "", b"", 0, b"", b""),
    )
