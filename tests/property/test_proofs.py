"""Proofs of brains of any shape: each path is proven there or absent, and never both."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.errors import InvalidInput, NotFound, ProofError
from brain.proofs.proof_builder import build_absence_proof, build_path_proof
from brain.proofs.proof_json import parse_proof, render_proof
from brain.proofs.proof_verification import verify_proof_bytes
from tests.support.hypothesis_strategies import brain_paths
from tests.support.json_mutations import mutate_json
from tests.support.recorded_snapshots import (
    RecordedSnapshot,
    json_bytes,
    proof_document,
    record_snapshot,
)


def prove(brain: RecordedSnapshot, path: str) -> bool:
    """Prove that `path` is there or absent, and fail to prove the other; tell which."""
    try:
        proof = build_path_proof(*brain, path)
    except NotFound:
        gone = build_absence_proof(*brain, path)
        assert verify_proof_bytes(render_proof(gone))[:5] == (
            "absence",
            brain.id,
            brain.id,
            gone.head.bundle,
            path,
        )
        assert parse_proof(render_proof(gone)) == gone
        return False
    with pytest.raises(InvalidInput):
        build_absence_proof(*brain, path)
    assert verify_proof_bytes(render_proof(proof)).path == path
    return True


@given(st.sets(brain_paths, max_size=40), st.lists(brain_paths, max_size=10))
def test_every_path_is_proven_there_or_absent(there, others):
    brain = record_snapshot(there)
    for path in [*there, *others]:
        assert prove(brain, path) == (path in there)


@settings(max_examples=10)
@given(st.integers(0, 2**32), st.sampled_from([30, 300, 3000, 6000]))
def test_in_trees_of_all_depths_too(seed, total):
    chooser = random.Random(seed)
    names = [f"{chooser.choice('abc')}/{number:05}" for number in range(total)]
    there = set(chooser.sample(names, total // 2))
    brain = record_snapshot(there)
    for path in chooser.sample(names, 25):
        assert prove(brain, path) == (path in there)


@given(st.sets(brain_paths, min_size=1, max_size=40), st.data())
def test_the_parts_of_other_true_proofs_make_no_false_one(there, data):
    brain = record_snapshot(there)
    lines = list(brain.bundle.walk())
    line = data.draw(st.sampled_from(lines))
    others = [brain.path_proof(data.draw(st.sampled_from(lines)).path) for _ in range(2)]
    sections = {line.path: brain.path_proof(line.path)["climb"] for line in lines}
    for other in others:
        forged = {
            **{key: other[key] for key in ("format", "brain", "snapshot", "bundle", "encoded")},
            "kind": "absence", "path": line.path, "tree": other["tree"],
        }  # fmt: skip
        ends = [None, *({k: one[k] for k in ("path", "type", "blob", "size")} for one in others)]
        for before in ends:
            for after in ends:
                climb = data.draw(st.sampled_from(list(sections.values())))
                cut = data.draw(st.integers(0, len(climb)))
                given = {
                    **forged,
                    "before": before and {**before, "climb": sections[before["path"]][:cut]},
                    "after": after and {**after, "climb": sections[after["path"]][:cut]},
                    "climb": climb[cut + 1 :],
                }
                with pytest.raises(ProofError):
                    verify_proof_bytes(json_bytes(given))


@settings(max_examples=15)
@given(st.sets(brain_paths, max_size=12), brain_paths)
def test_nothing_altered_in_a_proof_of_absence_makes_it_prove_a_path_that_is_there(there, path):
    brain = record_snapshot(there)
    if path in there:
        return
    proof = proof_document(build_absence_proof(*brain, path))
    for other in there:
        with pytest.raises(ProofError):
            verify_proof_bytes(json_bytes({**proof, "path": other}))
    for what, mutant in mutate_json(proof):
        if not what.startswith("path "):
            with pytest.raises(ProofError):
                assert verify_proof_bytes(json_bytes(mutant)), what
