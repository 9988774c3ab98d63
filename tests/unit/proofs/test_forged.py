"""Proofs put together from true parts, to show what is not so."""

from typing import Any

import pytest

from brain.digest import blob_id
from brain.errors import ProofError
from brain.objects.tree_node import last_path_hash
from brain.proofs.proof_builder import build_section_proof
from brain.proofs.proof_verification import verify_proof_bytes
from tests.support.recorded_snapshots import (
    OTHER_BLOB_ID,
    json_bytes,
    numbered_paths,
    proof_document,
    record_snapshot,
)

SMALL = record_snapshot()
WIDE = record_snapshot(["SOUL.md", *numbered_paths(400), "zz/z.md"], SMALL.id)


def refused(value: Any) -> str:
    """Return the code for which a document is refused."""
    with pytest.raises(ProofError) as caught:
        verify_proof_bytes(value if isinstance(value, bytes) else json_bytes(value))
    assert caught.value.exit_status == 3
    return caught.value.code


def test_a_neighbour_that_is_none_proves_no_absence():
    brain = record_snapshot([f"skills/{number}" for number in range(8)])
    for first in range(8):
        for second in range(first + 2, 8):
            left, right = brain.path_proof(f"skills/{first}"), brain.path_proof(f"skills/{second}")
            for here in range(len(left["climb"]) + 1):
                forged = {
                    **brain.absence_proof("skills/x"),
                    "path": f"skills/{first + 1}",
                    "before": line(left, here),
                    "after": line(right, here),
                    "climb": left["climb"][here + 1 :],
                }
                assert refused(forged) in {"not_neighbours", "wrong_bundle"}


def line(proof: dict[str, Any], steps: int) -> dict[str, Any]:
    """Return the line of a path proof with the first steps of its climb."""
    fields = {key: proof[key] for key in ("path", "type", "blob", "size")}
    return {**fields, "climb": proof["climb"][:steps]}


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_single_neighbour_inside_a_section_proves_no_absence(side):
    brain = record_snapshot([f"skills/{number}" for number in range(8)])
    for number in range(8):
        found = brain.path_proof(f"skills/{number}")
        path = "skills/z" if side == "before" else "skills/!"
        forged = {
            **{key: found[key] for key in ("format", "brain", "snapshot", "bundle", "encoded")},
            "kind": "absence", "path": path, "tree": found["tree"], "climb": [],
            "before": None, "after": None, side: line(found, 3),
        }  # fmt: skip
        if number == (7 if side == "before" else 0):
            assert verify_proof_bytes(json_bytes(forged)).path == path
            for steps in range(3):
                forged[side] = line(found, steps)
                forged["climb"] = found["climb"][steps:]
                assert refused(forged) == "not_neighbours"
        else:
            assert refused(forged) == "not_neighbours"
            for steps in range(3):
                forged[side] = line(found, steps)
                forged["climb"] = found["climb"][steps:]
                assert refused(forged) == "not_neighbours"


def test_a_path_beside_its_neighbours_is_not_between_them():
    for path in ("skills/a/SKILL.md", "skills/b.md", "skills/a", "skills/d", "skills/c/run.sh"):
        assert refused({**SMALL.absence_proof("skills/b"), "path": path}) == "not_between"
    for path in ("memory/x", "skills/x", "SOUL.me", "zz/x", "-/x"):
        assert refused({**SMALL.absence_proof("n/b"), "path": path}) == "not_between"


def test_a_neighbour_of_another_section_is_refused():
    gap = SMALL.absence_proof("skills/b")
    assert refused({**gap, "path": "memory/b"}) == "wrong_section"
    top = {**gap, "before": line(SMALL.path_proof("SOUL.md"), 0)}
    assert refused(top) == "wrong_section"


def test_a_section_without_neighbours_is_not_absent():
    gap = {**SMALL.absence_proof("a/b"), "before": None, "after": None}
    assert refused(gap) == "not_neighbours"
    assert refused({**gap, "steps": []}) == "wrong_bundle"
    tree = {**SMALL.absence_proof("skills/b"), "before": None, "after": None}
    assert refused(tree) == refused({**tree, "climb": []}) == "not_neighbours"


def test_an_entry_of_an_inner_node_is_no_file():
    proof = WIDE.path_proof("skills/00123.md")
    place = next(place for place, one in enumerate(proof["climb"]) if isinstance(one, dict))
    opening = proof["climb"][place]
    root = WIDE.nodes.get(WIDE.bundle["skills"].node)
    child = next(one for one in root.entries if last_path_hash(one[0]).hex() == opening["last"])
    forged = {
        **proof, "path": f"skills/{child[0]}", "blob": child[1].hex(), "size": child[3],
        "climb": proof["climb"][place + 1 :],
    }  # fmt: skip
    for kind in ("file", "executable", "link"):
        assert refused({**forged, "type": kind}) == "wrong_bundle"


def test_a_file_is_no_node_and_a_section_no_entry():
    proof = SMALL.path_proof("skills/b.md")
    opening = {"last": last_path_hash("b.md").hex(), "files": 1, "bytes": proof["size"]}
    for climb in ([opening, *proof["climb"]], [*proof["climb"], opening]):
        assert refused({**proof, "climb": climb}) == "wrong_bundle"
    root = SMALL.bundle["skills"]
    forged = {
        **proof, "blob": root.node.hex(), "size": root.bytes, "path": "skills",
        "climb": proof["tree"]["steps"], "tree": {"files": 1, "bytes": 1, "steps": []},
    }  # fmt: skip
    assert refused(forged) == "wrong_bundle"
    section = proof_document(build_section_proof(SMALL.bundle, SMALL.snapshot, "memory"))
    leaf = blob_id(b"").hex()
    assert refused({**section, "root": leaf}) == "wrong_bundle"


def test_neighbours_lie_on_one_level():
    gap = WIDE.absence_proof("skills/00123.me")
    opening = {"last": OTHER_BLOB_ID.hex(), "files": 1, "bytes": 1}
    deeper = {**gap["after"], "climb": [opening, *gap["after"]["climb"]]}
    assert refused({**gap, "after": deeper}) == "not_neighbours"
