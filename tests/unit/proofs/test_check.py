import io
from typing import Any

import pytest

from brain.errors import InvalidInput, NotFound, ProofError
from brain.objects import bundle as bundles
from brain.objects.tree_entry import EXECUTABLE, FILE, LINK, TreeEntry
from brain.proofs.proof_builder import build_absence_proof, build_path_proof, build_section_proof
from brain.proofs.proof_json import render_proof
from brain.proofs.proof_verification import ProvenFact, verify_proof_bytes, verify_proof_content
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


@pytest.mark.parametrize("kind", [FILE, EXECUTABLE, LINK])
def test_the_type_of_a_file_is_proven(kind):
    nodes = MemoryNodeStore().open_nodes()
    bundle = bundles.build_bundle(nodes, [TreeEntry("a", kind, OTHER_BLOB_ID, 2**53 - 1)])
    made = SMALL.snapshot._replace(bundle=bundles.bundle_id(bundle))
    proven = verify_proof_bytes(render_proof(build_path_proof(nodes, bundle, made, "a")))
    assert (proven.type, proven.size) == (kind, 2**53 - 1)


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
