import random

import pytest

from brain.errors import NotFound, ProofError
from brain.objects.operation import genesis_operation
from brain.objects.snapshot import Jump, Snapshot, encode_snapshot, snapshot_id
from brain.proofs.proof_builder import build_descent_proof
from brain.proofs.proof_json import parse_proof, render_proof
from brain.proofs.proof_types import DescentProof
from brain.proofs.proof_verification import ProvenFact, verify_proof_bytes
from tests.support.json_mutations import mutate_json
from tests.support.recorded_snapshots import OTHER_BLOB_ID, json_bytes, proof_document
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


def holds(chain: list[Snapshot]) -> bool:
    return verify_proof_bytes(proof_of(chain)).kind == "descent"


def refused(chain: list[Snapshot]) -> str:
    """Return the code for which a proof of this chain is refused."""
    with pytest.raises(ProofError) as caught:
        verify_proof_bytes(proof_of(chain))
    return caught.value.code


@pytest.mark.parametrize(("old", "new"), [(3, 3), (3, 4), (0, 40), (60, 70), (70, 71), (55, 85)])
def test_a_proof_with_anything_altered_is_refused(old, new):
    document = proof_document(build_descent_proof(DAG.load, IDS[old], IDS[new]))
    for what, mutant in mutate_json(document):
        with pytest.raises(ProofError):
            assert verify_proof_bytes(json_bytes(mutant)), what


def test_a_chain_with_a_link_missing_is_refused():
    proof = build_descent_proof(DAG.load, IDS[17], IDS[49])
    assert len(proof.chain) > 4
    for place in range(1, len(proof.chain) - 1):
        chain = [*proof.chain[:place], *proof.chain[place + 1 :]]
        with raises_code("broken_chain", ProofError):
            verify_proof_bytes(render_proof(proof._replace(chain=chain)))
    for chain, code in [
        (proof.chain[1:], "wrong_snapshot"),
        (proof.chain[:-1], "wrong_ancestor"),
        (proof.chain[::-1], "wrong_snapshot"),
        ([], "broken_chain"),
    ]:
        with raises_code(code, ProofError):
            verify_proof_bytes(render_proof(proof._replace(chain=chain)))


def test_a_snapshot_of_another_brain_is_no_link():
    at = [DAG.known[here] for here in IDS]
    foreign = at[38]._replace(brain=OTHER_BLOB_ID)
    here = snapshot_id(encode_snapshot(foreign))
    for same, link in [(at[38], IDS[38]), (foreign, here)]:
        for new in (at[39]._replace(parents=(link,)), at[45]._replace(jump=Jump(45, link))):
            if same is foreign:
                assert refused([new, foreign]) == "broken_chain"
            else:
                assert holds([new, same])


def test_what_is_named_elsewhere_is_no_link():
    old, new = DAG.known[IDS[10]], DAG.known[IDS[40]]
    assert refused([new._replace(receipt=IDS[10]), old]) == "broken_chain"
    assert refused([new._replace(operation=("restore", IDS[10])), old]) == "broken_chain"
    both = (*new.parents, IDS[20])
    merge = new._replace(parents=both, operation=("merge", (IDS[10],), ()))
    assert refused([merge, old]) == "broken_chain"


def test_an_ancestor_has_a_smaller_generation():
    at = [DAG.known[here] for here in IDS]
    child = at[40]._replace(parents=(IDS[39], IDS[45]), operation=("graft",))
    for generation in (44, 45):
        assert refused([child._replace(generation=generation), at[45]]) == "broken_chain"
    assert holds([child._replace(generation=46), at[45]])
    for generation, right in [(38, True), (44, True), (45, False), (100, False)]:
        target = at[38]._replace(generation=generation)
        child = at[45]._replace(jump=Jump(45, snapshot_id(encode_snapshot(target))))
        assert holds([child, target]) if right else refused([child, target]) == "broken_chain"


def test_a_first_parent_is_one_step_less_deep():
    old, new = DAG.known[IDS[39]], DAG.known[IDS[40]]
    assert refused([new._replace(jump=Jump(30, IDS[38])), old]) == "broken_chain"
    assert refused([new._replace(generation=39, jump=Jump(39, IDS[38])), old]) == "broken_chain"


def test_a_jump_that_lands_where_none_lands_is_refused():
    for old in range(50):
        forged = DAG.known[IDS[45]]._replace(jump=Jump(45, IDS[old]))
        if old not in (38, 44):  # by the rule, and the parent
            assert refused([forged, DAG.known[IDS[old]]]) == "broken_chain"


def test_a_fork_begins_with_what_its_origin_held():
    fork, origin = DAG.known[IDS[71]], DAG.known[IDS[70]]
    assert refused([fork._replace(bundle=OTHER_BLOB_ID), origin]) == "broken_chain"
    assert (
        refused([fork._replace(operation=genesis_operation(bytes(16))), origin]) == "broken_chain"
    )


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
