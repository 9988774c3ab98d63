"""Proofs of brains of any shape: each path is proven there, and no other."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.errors import NotFound, ProofError
from brain.proofs.build import build_path_proof
from brain.proofs.check import verify_proof_bytes
from brain.proofs.proof import parse_proof, render_proof
from tests.support.hypothesis_strategies import brain_paths
from tests.support.json_mutations import mutate_json
from tests.support.recorded_snapshots import RecordedSnapshot, json_bytes, record_snapshot


def prove(brain: RecordedSnapshot, path: str) -> bool:
    """Tell whether `path` can be proven to be there."""
    try:
        proof = build_path_proof(*brain, path)
    except NotFound:
        return False
    assert verify_proof_bytes(render_proof(proof)).path == path
    assert parse_proof(render_proof(proof)) == proof
    return True


@given(st.sets(brain_paths, max_size=40), st.lists(brain_paths, max_size=10))
def test_every_path_is_proven_if_it_is_there(there, others):
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


@settings(max_examples=15)
@given(st.sets(brain_paths, min_size=1, max_size=12), brain_paths)
def test_nothing_altered_in_a_proof_makes_it_prove_another_path(there, other):
    brain = record_snapshot(there)
    proof = brain.path_proof(min(there))
    for path in (there | {other}) - {proof["path"]}:
        with pytest.raises(ProofError):
            verify_proof_bytes(json_bytes({**proof, "path": path}))
    for what, mutant in mutate_json(proof):
        with pytest.raises(ProofError):
            assert verify_proof_bytes(json_bytes(mutant)), what
