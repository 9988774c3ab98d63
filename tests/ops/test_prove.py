import io
import json

import pytest

from brain import Brain, InvalidInput, NotFound, ProofError, check_proof
from tests.support.refusals import raises_code


class Content(io.RawIOBase):
    """Bytes to be compared with what is proven."""

    def __init__(self, content: bytes) -> None:
        self._left = io.BytesIO(content)

    def readinto(self, window: bytearray) -> int:  # type: ignore[override]
        return self._left.readinto(window)


@pytest.fixture
def brain(tmp_path):
    made = Brain.init(tmp_path / "agent", author="tester")
    made.skills.upsert("Oracle", "One.\n", description="Check oracles")
    return made


SKILL = "skills/oracle/SKILL.md"


def test_a_path_is_proven_at_the_head_and_at_any_revision(brain):
    contents = {"@~1": (brain.root / SKILL).read_bytes()}
    brain.skills.upsert("Oracle", "Two.\n")
    contents["@"] = (brain.root / SKILL).read_bytes()
    for rev, content in contents.items():
        shown = brain.history.show(rev).info
        proof = check_proof(brain.proofs.prove_file(SKILL, rev), content=Content(content))
        assert proof[:8] == (False, True, [], "path", brain.id, shown.snapshot, shown.bundle, SKILL)
        assert (proof.type, proof.size) == ("file", len(content))
    with raises_code("wrong_content", ProofError):
        check_proof(brain.proofs.prove_file(SKILL, "@~1"), content=Content(contents["@"]))


def test_a_section_is_proven_by_its_name_alone(brain):
    proof = check_proof(brain.proofs.prove_section("skills"))
    shown = brain.history.show().sections["skills"]
    assert (proof.section, proof.root, proof.files, proof.size) == ("skills", *shown)
    assert check_proof(brain.proofs.prove_section(".")).files == 1
    with pytest.raises(InvalidInput) as refused:
        brain.proofs.prove_section("skills/oracle")
    assert refused.value.hint == "prove skills/ as a whole, or single files"


def test_descent_is_proven_across_a_fork(brain, tmp_path):
    first = brain.id
    brain.fork(tmp_path / "child")
    with Brain.open(tmp_path / "child") as child:
        child.skills.upsert("Oracle", "Three.\n")
        document = child.proofs.prove_descent(first)
        proof = check_proof(document, brain=child.id, snapshot=child.head)
    assert (proof.ancestor, proof.ancestor_brain) == (first, brain.id)
    assert proof.brain != brain.id and proof.bundle is None
    with pytest.raises(NotFound):
        brain.proofs.prove_descent("@", first)


def test_a_proof_about_another_brain_or_snapshot_than_the_one_known_is_refused(brain):
    document = brain.proofs.prove_file(SKILL)
    assert check_proof(document, brain=brain.id, snapshot=brain.head).ok
    with raises_code("not_this_brain", ProofError):
        check_proof(document, brain=brain.head)
    with raises_code("not_this_snapshot", ProofError):
        check_proof(document, snapshot=brain.id)
    with pytest.raises(InvalidInput):
        check_proof(document, snapshot=brain.head[:12])


def test_a_proof_of_a_brain_of_many_files_names_one(brain):
    for number in range(300):
        (brain.root / f"skills/note-{number:03}.md").write_text(f"{number}\n")
    brain.snapshot()
    document = brain.proofs.prove_file("skills/note-123.md")
    assert sum(isinstance(one, dict) for one in json.loads(document)["climb"]) == 1
    assert document.count(b".md") == document.count(b"skills") == 1
