import io
from typing import Any

import pytest

from brain.errors import InvalidInput, NotFound, ProofError
from brain.objects import bundle as bundles
from brain.objects.tree_entry import EXECUTABLE, FILE, LINK, TreeEntry
from brain.proofs.proof_builder import build_absence_proof, build_path_proof, build_section_proof
from brain.proofs.proof_json import parse_proof, render_proof
from brain.proofs.proof_verification import ProvenFact, verify_proof_bytes, verify_proof_content
from tests.support.json_mutations import mutate_json
from tests.support.node_store import MemoryNodeStore
from tests.support.recorded_snapshots import (
    FEW_PATHS,
    OTHER_BLOB_ID,
    json_bytes,
    numbered_paths,
    proof_document,
    record_snapshot,
)
from tests.support.refusals import raises_code

SMALL = record_snapshot()
LATER = record_snapshot(brain=SMALL.id)
WIDE = record_snapshot(["SOUL.md", *numbered_paths(400), "zz/z.md"], SMALL.id)
DEEP = record_snapshot(numbered_paths(4000), SMALL.id)
EMPTY = record_snapshot([], SMALL.id)


def refused(value: Any) -> str:
    """Return the code for which a document is refused."""
    with pytest.raises(ProofError) as caught:
        verify_proof_bytes(value if isinstance(value, bytes) else json_bytes(value))
    assert caught.value.exit_status == 3
    return caught.value.code


@pytest.mark.parametrize(
    "brain", [SMALL, LATER, WIDE, DEEP], ids=["small", "later", "wide", "deep"]
)
def test_every_path_of_a_brain_is_proven_with_its_line(brain):
    name = brain.snapshot.brain or brain.id
    for place, line in enumerate(bundles.walk_entries(brain.nodes, brain.bundle)):
        if place % max(1, place // 40) == 0:
            proven = verify_proof_bytes(render_proof(build_path_proof(*brain, line.path)))
            assert proven == ProvenFact(
                "path", name, brain.id, brain.snapshot.bundle, line.path, *line[1:]
            )


@pytest.mark.parametrize("kind", [FILE, EXECUTABLE, LINK])
def test_the_type_of_a_file_is_proven(kind):
    nodes = MemoryNodeStore().open_nodes()
    bundle = bundles.build_bundle(nodes, [TreeEntry("a", kind, OTHER_BLOB_ID, 2**53 - 1)])
    made = SMALL.snapshot._replace(bundle=bundles.bundle_id(bundle))
    proven = verify_proof_bytes(render_proof(build_path_proof(nodes, bundle, made, "a")))
    assert (proven.type, proven.size) == (kind, 2**53 - 1)


@pytest.mark.parametrize(
    ("brain", "path"),
    [
        (SMALL, "skills/a"),
        (SMALL, "skills/a/SKILL.md/x"),
        (SMALL, "skills/!"),
        (SMALL, "skills/é"),
        (SMALL, "A"),
        (SMALL, "skills"),
        (SMALL, "a/b"),
        (SMALL, "n/b"),
        (SMALL, "zz/b"),
        (SMALL, "-/b"),
        (EMPTY, "skills/a"),
        (record_snapshot(["skills/a"]), "SOUL.md"),
        (record_snapshot(["skills/a"]), "skills/A"),
        (record_snapshot(["skills/a"]), "skills/b"),
        (record_snapshot(["skills/a"]), "t/b"),
        *((WIDE, f"skills/{number:05}.me") for number in range(0, 400, 7)),
        *((DEEP, f"skills/{number:05}.me") for number in range(0, 4000, 97)),
        (DEEP, "skills/!"),
        (DEEP, "skills/A"),
    ],
)
def test_what_is_not_there_is_proven_to_be_absent(brain, path):
    proven = verify_proof_bytes(render_proof(build_absence_proof(*brain, path)))
    name = brain.snapshot.brain or brain.id
    assert proven == ProvenFact("absence", name, brain.id, brain.snapshot.bundle, path)
    with pytest.raises(NotFound):
        build_path_proof(*brain, path)


def test_absence_is_proven_at_every_border_between_nodes():
    for line in bundles.walk_entries(DEEP.nodes, DEEP.bundle):
        path = line.path[:-1] + "e"
        if line.path.endswith(("0.md", "5.md")):
            assert verify_proof_bytes(render_proof(build_absence_proof(*DEEP, path))).path == path


def test_what_is_there_is_not_proven_to_be_absent():
    with raises_code("path_is_there", InvalidInput):
        build_absence_proof(*SMALL, "SOUL.md")


@pytest.mark.parametrize("path", ["", "a//b", "../a", "/a", "a\n"])
def test_what_is_no_path_is_not_proven_at_all(path):
    with pytest.raises(InvalidInput):
        build_absence_proof(*SMALL, path)
    with pytest.raises(NotFound):
        build_path_proof(*SMALL, path)


@pytest.mark.parametrize("name", [".", "memory", "skills"])
def test_a_section_is_proven_with_its_root_and_nothing_inside(name):
    text = render_proof(build_section_proof(SMALL.bundle, SMALL.snapshot, name))
    root = SMALL.bundle[name]
    assert verify_proof_bytes(text) == ProvenFact(
        "section", SMALL.id, SMALL.id, SMALL.snapshot.bundle,
        section=name, root=root.node, files=root.files, size=root.bytes,
    )  # fmt: skip
    assert not any(path.encode() in text for path in FEW_PATHS)
    with pytest.raises(NotFound):
        build_section_proof(SMALL.bundle, SMALL.snapshot, "prompts")


@pytest.mark.parametrize("total", [23, 400, 4000])
def test_a_proof_of_a_path_names_no_other_file(total):
    brain = record_snapshot(numbered_paths(total))
    text = render_proof(build_path_proof(*brain, "skills/00012.md"))
    assert text.count(b".md") == 1 and b"skills/00012.md" in text
    assert len(text) < 2400


def test_a_proof_of_absence_names_the_two_neighbours_alone():
    text = render_proof(build_absence_proof(*DEEP, "skills/00030.me"))
    assert text.count(b".md") == 2
    assert b"skills/00030.md" in text and b"skills/00031.md" in text


def test_a_proof_reads_back_as_it_was_made():
    for proof in (
        build_path_proof(*DEEP, "skills/00030.md"),
        build_absence_proof(*DEEP, "skills/00030.me"),
        build_absence_proof(*SMALL, "n/b"),
        build_section_proof(SMALL.bundle, SMALL.snapshot, "."),
    ):
        assert parse_proof(render_proof(proof)) == proof
        assert render_proof(proof).isascii()


PROOFS = {
    "a path": SMALL.path_proof("skills/b.md"),
    "a path at the top": LATER.path_proof("SOUL.md"),
    "a path in two levels": WIDE.path_proof("skills/00123.md"),
    "a gap": SMALL.absence_proof("skills/b"),
    "a gap at the start": WIDE.absence_proof("skills/!"),
    "a gap at the end": WIDE.absence_proof("skills/A"),
    "a gap in two levels": WIDE.absence_proof("skills/00123.me"),
    "no section": SMALL.absence_proof("n/b"),
    "no section before": SMALL.absence_proof("-/b"),
    "no section after": SMALL.absence_proof("zz/b"),
    "no section at all": EMPTY.absence_proof("a/b"),
    "a section": proof_document(build_section_proof(SMALL.bundle, SMALL.snapshot, "memory")),
}


@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_with_anything_altered_is_refused(name):
    told = verify_proof_bytes(json_bytes(PROOFS[name]))
    for what, mutant in mutate_json(PROOFS[name]):
        if PROOFS[name]["kind"] == "absence" and what.startswith("path "):
            continue  # another path may be absent for the same reason
        assert refused(mutant), what
    assert told == verify_proof_bytes(json_bytes(PROOFS[name]))


@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_does_not_hold_for_another_brain_or_snapshot(name):
    for other in (record_snapshot(content="x"), record_snapshot(content="y", brain=OTHER_BLOB_ID)):
        head = other.path_proof("SOUL.md")
        taken = {key: head[key] for key in ("brain", "snapshot", "bundle", "encoded")}
        assert refused({**PROOFS[name], **taken}) == "wrong_bundle"
        section = proof_document(build_section_proof(other.bundle, other.snapshot, "."))
        for document in (head, other.absence_proof("n/b"), section):
            mixed = {key: PROOFS[name][key] for key in ("brain", "snapshot", "encoded")}
            assert refused({**document, **mixed}) == "wrong_bundle"
        for key in ("brain", "snapshot", "encoded"):
            assert refused({**PROOFS[name], key: taken[key]}) in {"wrong_brain", "wrong_snapshot"}


def test_a_truncated_proof_is_refused_at_every_byte():
    text = json_bytes(PROOFS["a path"])
    for end in range(len(text)):
        assert refused(text[:end]) == "bad_json"


class Narrow(io.RawIOBase):
    """Gives content in small pieces, as a pipe does."""

    def __init__(self, content: bytes) -> None:
        self._left = content

    def readinto(self, window: Any) -> int:
        piece, self._left = self._left[:7], self._left[7:]
        window[: len(piece)] = piece
        return len(piece)


def test_content_is_compared_by_its_digest_and_size():
    path = "skills/b.md"
    proven = verify_proof_bytes(json_bytes(SMALL.path_proof(path)))
    verify_proof_content(proven, Narrow(path.encode()))
    for other in (b"", path.encode() + b"\n", b"skills/c.md"):
        with raises_code("wrong_content", ProofError):
            verify_proof_content(proven, Narrow(other))
    with raises_code("wrong_size", ProofError):
        verify_proof_content(proven._replace(size=500), Narrow(path.encode()))


def test_content_without_end_is_read_to_its_size():
    proven = verify_proof_bytes(json_bytes(SMALL.path_proof("skills/b.md")))
    with open("/dev/zero", "rb", buffering=0) as endless, raises_code("wrong_content", ProofError):
        verify_proof_content(proven, endless)


def test_what_is_no_path_has_no_content():
    with raises_code("no_content", InvalidInput):
        verify_proof_content(verify_proof_bytes(json_bytes(PROOFS["no section"])), Narrow(b""))
