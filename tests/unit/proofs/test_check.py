from __future__ import annotations

import io
from typing import Any

import pytest

from brain.digest import blob_id
from brain.errors import InvalidInput, NotFound, ProofError
from brain.objects import bundle as bundles
from brain.objects.entry import EXECUTABLE, FILE, LINK, Entry
from brain.proofs.build import absence_proof, path_proof, section_proof
from brain.proofs.check import Proven, check, check_content
from brain.proofs.document import read, render
from tests.mutants import mutants
from tests.proving import FEW, OTHER, Recorded, as_bytes, as_document, numbered, recorded
from tests.shelf import Shelf

SMALL = recorded()
LATER = recorded(brain=SMALL.id)
WIDE = recorded(["SOUL.md", *numbered(400), "zz/z.md"], SMALL.id)
DEEP = recorded(numbered(4000), SMALL.id)
EMPTY = recorded([], SMALL.id)


def refused(value: Any) -> str:
    """Return the code for which a document is refused."""
    with pytest.raises(ProofError) as caught:
        check(value if isinstance(value, bytes) else as_bytes(value))
    assert caught.value.exit_status == 3
    return caught.value.code


@pytest.mark.parametrize(
    "brain", [SMALL, LATER, WIDE, DEEP], ids=["small", "later", "wide", "deep"]
)
def test_every_path_of_a_brain_is_proven_with_its_line(brain: Recorded) -> None:
    name = brain.snapshot.brain or brain.id
    for place, line in enumerate(bundles.walk(brain.nodes, brain.bundle)):
        if place % max(1, place // 40) == 0:
            proven = check(render(path_proof(*brain, line.path)))
            assert proven == Proven(
                "path", name, brain.id, brain.snapshot.bundle, line.path, *line[1:]
            )


@pytest.mark.parametrize("kind", [FILE, EXECUTABLE, LINK])
def test_the_type_of_a_file_is_proven(kind: int) -> None:
    nodes = Shelf().nodes()
    bundle = bundles.build(nodes, [Entry("a", kind, OTHER, 2**63 - 1)])
    made = SMALL.snapshot._replace(bundle=bundles.bundle_id(bundle))
    proven = check(render(path_proof(nodes, bundle, made, "a")))
    assert (proven.type, proven.size) == (kind, 2**63 - 1)


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
        (recorded(["skills/a"]), "SOUL.md"),
        (recorded(["skills/a"]), "skills/A"),
        (recorded(["skills/a"]), "skills/b"),
        (recorded(["skills/a"]), "t/b"),
        *((WIDE, f"skills/{number:05}.me") for number in range(0, 400, 7)),
        *((DEEP, f"skills/{number:05}.me") for number in range(0, 4000, 97)),
        (DEEP, "skills/!"),
        (DEEP, "skills/A"),
    ],
)
def test_what_is_not_there_is_proven_to_be_absent(brain: Recorded, path: str) -> None:
    proven = check(render(absence_proof(*brain, path)))
    name = brain.snapshot.brain or brain.id
    assert proven == Proven("absence", name, brain.id, brain.snapshot.bundle, path)
    with pytest.raises(NotFound):
        path_proof(*brain, path)


def test_absence_is_proven_at_every_border_between_nodes() -> None:
    for line in bundles.walk(DEEP.nodes, DEEP.bundle):
        path = line.path[:-1] + "e"
        if line.path.endswith(("0.md", "5.md")):
            assert check(render(absence_proof(*DEEP, path))).path == path


def test_what_is_there_is_not_proven_to_be_absent() -> None:
    with pytest.raises(InvalidInput) as caught:
        absence_proof(*SMALL, "SOUL.md")
    assert caught.value.code == "path_is_there"


@pytest.mark.parametrize("path", ["", "a//b", "../a", "/a", "a\n"])
def test_what_is_no_path_is_not_proven_at_all(path: str) -> None:
    with pytest.raises(InvalidInput):
        absence_proof(*SMALL, path)
    with pytest.raises(NotFound):
        path_proof(*SMALL, path)


@pytest.mark.parametrize("name", [".", "memory", "skills"])
def test_a_section_is_proven_with_its_root_and_nothing_inside(name: str) -> None:
    text = render(section_proof(SMALL.bundle, SMALL.snapshot, name))
    root = SMALL.bundle[name]
    assert check(text) == Proven(
        "section", SMALL.id, SMALL.id, SMALL.snapshot.bundle,
        section=name, root=root.node, files=root.files, size=root.bytes,
    )  # fmt: skip
    assert not any(path.encode() in text for path in FEW)
    with pytest.raises(NotFound):
        section_proof(SMALL.bundle, SMALL.snapshot, "prompts")


def test_a_path_in_a_section_of_one_node_names_no_other_file() -> None:
    brain = recorded(numbered(23))
    text = render(path_proof(*brain, "skills/00012.md"))
    assert text.count(b"skills/") == 1


def test_a_path_in_a_deep_tree_names_one_more_file_a_level() -> None:
    text = render(path_proof(*DEEP, "skills/00030.md"))
    assert text.count(b"skills/") == 3
    assert len(text) < 2400


def test_a_proof_reads_back_as_it_was_made() -> None:
    for proof in (
        path_proof(*DEEP, "skills/00030.md"),
        absence_proof(*DEEP, "skills/00030.me"),
        absence_proof(*SMALL, "n/b"),
        section_proof(SMALL.bundle, SMALL.snapshot, "."),
    ):
        assert read(render(proof)) == proof
        assert render(proof).isascii()


PROOFS = {
    "a path": SMALL.path("skills/b.md"),
    "a path at the top": LATER.path("SOUL.md"),
    "a path in two levels": WIDE.path("skills/00123.md"),
    "a gap": SMALL.absence("skills/b"),
    "a gap at the start": WIDE.absence("skills/!"),
    "a gap at the end": WIDE.absence("skills/A"),
    "a gap in two levels": WIDE.absence("skills/00123.me"),
    "no section": SMALL.absence("n/b"),
    "no section before": SMALL.absence("-/b"),
    "no section after": SMALL.absence("zz/b"),
    "no section at all": EMPTY.absence("a/b"),
    "a section": as_document(section_proof(SMALL.bundle, SMALL.snapshot, "memory")),
}


@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_with_anything_altered_is_refused(name: str) -> None:
    told = check(as_bytes(PROOFS[name]))
    for what, mutant in mutants(PROOFS[name]):
        if PROOFS[name]["kind"] == "absence" and what.startswith("path "):
            continue  # another path may be absent for the same reason
        assert refused(mutant), what
    assert told == check(as_bytes(PROOFS[name]))


@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_does_not_hold_for_another_brain_or_snapshot(name: str) -> None:
    for other in (recorded(content="x"), recorded(content="y", brain=OTHER)):
        head = other.path("SOUL.md")
        taken = {key: head[key] for key in ("brain", "snapshot", "bundle", "encoded")}
        assert refused({**PROOFS[name], **taken}) == "wrong_bundle"
        section = as_document(section_proof(other.bundle, other.snapshot, "."))
        for document in (head, other.absence("n/b"), section):
            mixed = {key: PROOFS[name][key] for key in ("brain", "snapshot", "encoded")}
            assert refused({**document, **mixed}) == "wrong_bundle"
        for key in ("brain", "snapshot", "encoded"):
            assert refused({**PROOFS[name], key: taken[key]}) in {"wrong_brain", "wrong_snapshot"}


def test_a_truncated_proof_is_refused_at_every_byte() -> None:
    text = as_bytes(PROOFS["a path"])
    for end in range(len(text)):
        assert refused(text[:end]) == "bad_json"


def test_a_neighbour_that_is_none_proves_no_absence() -> None:
    brain = recorded([f"skills/{number}" for number in range(8)])
    for first in range(8):
        for second in range(first + 2, 8):
            left, right = brain.path(f"skills/{first}"), brain.path(f"skills/{second}")
            for here in range(len(left["climb"]) + 1):
                forged = {
                    **brain.absence("skills/x"),
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
def test_a_single_neighbour_inside_a_section_proves_no_absence(side: str) -> None:
    brain = recorded([f"skills/{number}" for number in range(8)])
    for number in range(8):
        found = brain.path(f"skills/{number}")
        path = "skills/z" if side == "before" else "skills/!"
        forged = {
            **{key: found[key] for key in ("format", "brain", "snapshot", "bundle", "encoded")},
            "kind": "absence", "path": path, "tree": found["tree"], "climb": [],
            "before": None, "after": None, side: line(found, 3),
        }  # fmt: skip
        if number == (7 if side == "before" else 0):
            assert check(as_bytes(forged)).path == path
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


def test_a_path_beside_its_neighbours_is_not_between_them() -> None:
    for path in ("skills/a/SKILL.md", "skills/b.md", "skills/a", "skills/d", "skills/c/run.sh"):
        assert refused({**SMALL.absence("skills/b"), "path": path}) == "not_between"
    for path in ("memory/x", "skills/x", "SOUL.me", "zz/x", "-/x"):
        assert refused({**SMALL.absence("n/b"), "path": path}) == "not_between"


def test_a_neighbour_of_another_section_is_refused() -> None:
    gap = SMALL.absence("skills/b")
    assert refused({**gap, "path": "memory/b"}) == "wrong_section"
    top = {**gap, "before": line(SMALL.path("SOUL.md"), 0)}
    assert refused(top) == "wrong_section"


def test_a_section_without_neighbours_is_not_absent() -> None:
    gap = {**SMALL.absence("a/b"), "before": None, "after": None}
    assert refused(gap) == "not_neighbours"
    assert refused({**gap, "steps": []}) == "wrong_bundle"
    tree = {**SMALL.absence("skills/b"), "before": None, "after": None}
    assert refused(tree) == refused({**tree, "climb": []}) == "not_neighbours"


def test_an_entry_of_an_inner_node_is_no_file() -> None:
    proof = WIDE.path("skills/00123.md")
    place = next(place for place, one in enumerate(proof["climb"]) if isinstance(one, dict))
    opening = proof["climb"][place]
    root = WIDE.nodes.get(WIDE.bundle["skills"].node)
    child = next(one for one in root.entries if "skills/" + one[0] == opening["last"])
    forged = {
        **proof, "path": opening["last"], "blob": child[1].hex(), "size": child[3],
        "climb": proof["climb"][place + 1 :],
    }  # fmt: skip
    for kind in ("file", "executable", "link"):
        assert refused({**forged, "type": kind}) == "wrong_bundle"


def test_a_file_is_no_node_and_a_section_no_entry() -> None:
    proof = SMALL.path("skills/b.md")
    opening = {"last": "skills/b.md", "files": 1, "bytes": proof["size"]}
    for climb in ([opening, *proof["climb"]], [*proof["climb"], opening]):
        assert refused({**proof, "climb": climb}) == "wrong_bundle"
    root = SMALL.bundle["skills"]
    forged = {
        **proof, "blob": root.node.hex(), "size": root.bytes, "path": "skills",
        "climb": proof["tree"]["steps"], "tree": {"files": 1, "bytes": 1, "steps": []},
    }  # fmt: skip
    assert refused(forged) == "wrong_bundle"
    section = PROOFS["a section"]
    leaf = blob_id(b"").hex()
    assert refused({**section, "root": leaf}) == "wrong_bundle"


def test_neighbours_lie_on_one_level() -> None:
    gap = WIDE.absence("skills/00123.me")
    opening = {"last": gap["after"]["path"], "files": 1, "bytes": 1}
    deeper = {**gap["after"], "climb": [opening, *gap["after"]["climb"]]}
    assert refused({**gap, "after": deeper}) == "not_neighbours"


class Narrow(io.RawIOBase):
    """Gives content in small pieces, as a pipe does."""

    def __init__(self, content: bytes) -> None:
        self._left = content

    def readinto(self, window: Any) -> int:
        piece, self._left = self._left[:7], self._left[7:]
        window[: len(piece)] = piece
        return len(piece)


def test_content_is_compared_by_its_digest_and_size() -> None:
    path = "skills/b.md"
    proven = check(as_bytes(SMALL.path(path)))
    check_content(proven, Narrow(path.encode()))
    for other in (b"", path.encode() + b"\n", b"skills/c.md"):
        with pytest.raises(ProofError) as caught:
            check_content(proven, Narrow(other))
        assert caught.value.code == "wrong_content"
    with pytest.raises(ProofError) as caught:
        check_content(proven._replace(size=5), Narrow(path.encode()))
    assert caught.value.code == "wrong_size"


def test_what_is_no_path_has_no_content() -> None:
    with pytest.raises(InvalidInput) as caught:
        check_content(check(as_bytes(PROOFS["no section"])), Narrow(b""))
    assert caught.value.code == "no_content"
