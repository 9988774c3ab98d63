import random

import pytest

from brain.errors import NotFound, ProofError
from brain.objects.snapshot import Snapshot, encode_snapshot, snapshot_id
from brain.proofs.proof_builder import build_descent_proof
from brain.proofs.proof_json import parse_proof, render_proof
from brain.proofs.proof_types import DescentProof
from brain.proofs.proof_verification import ProvenFact, verify_proof_bytes
from tests.support.refusals import raises_code
from tests.support.snapshot_graphs import SnapshotGraph


def lines() -> SnapshotGraph:
    """A line of 50, a side line of 20 from its snapshot 5, their merge 70, and a fork of that."""
    dag = SnapshotGraph()
    for number in range(49):
        dag.add(number)
    dag.add(5)
    for number in range(50, 69):
        dag.add(number)
    dag.add(49, 69)
    dag.add_fork(70)
    for number in range(71, 90):
        dag.add(number)
    return dag


DAG = lines()
IDS = DAG.ids


def prove(old: int, new: int) -> bytes:
    return render_proof(build_descent_proof(DAG.load, IDS[old], IDS[new]))


@pytest.mark.parametrize(
    ("old", "new", "links"),
    [(3, 3, 1), (3, 4, 2), (0, 40, None), (17, 49, None), (60, 70, None), (2, 69, None),
     (70, 71, 2), (71, 90, None), (49, 90, None), (55, 85, None)],
)  # fmt: skip
def test_descent_is_proven_along_parents_jumps_and_origins(old, new, links):
    text = prove(old, new)
    known = {0: IDS[0], 1: IDS[71]}
    expected = ProvenFact(
        "descent", known[new > 70], IDS[new],
        ancestor=IDS[old], ancestor_brain=known[old > 70],
    )  # fmt: skip
    assert verify_proof_bytes(text) == expected
    proof = parse_proof(text)
    assert isinstance(proof, DescentProof) and len(proof.chain) <= (links or 20)


@pytest.mark.parametrize(("old", "new"), [(4, 3), (60, 40), (71, 70), (89, 40)])
def test_what_does_not_descend_is_not_proven(old, new):
    with raises_code("not_an_ancestor", NotFound):
        prove(old, new)


def proof_of(chain: list[Snapshot]) -> bytes:
    """Return a proof of this chain, whatever it is worth."""
    ids = [snapshot_id(encode_snapshot(one)) for one in chain]
    encoded = list(map(encode_snapshot, chain))
    return render_proof(DescentProof(chain[0].brain or ids[0], ids[0], ids[-1], encoded))


def refused(chain: list[Snapshot]) -> str:
    """Return the code for which a proof of this chain is refused."""
    with pytest.raises(ProofError) as caught:
        verify_proof_bytes(proof_of(chain))
    return caught.value.code


def test_ten_thousand_snapshots_need_a_few_dozen():
    dag = SnapshotGraph()
    for number in range(10_000):
        dag.add(number)
    chooser = random.Random(3)
    for _ in range(20):
        old, new = sorted(chooser.sample(range(10_000), 2))
        text = render_proof(build_descent_proof(dag.load, dag.ids[old], dag.ids[new]))
        assert len(text) < 12_000
        assert verify_proof_bytes(text).ancestor == dag.ids[old]
