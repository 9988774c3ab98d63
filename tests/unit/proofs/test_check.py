"""Proofs: what they show, and what is refused."""

import io
import json
import subprocess
import sys
from typing import Any

import brain._schemas
import jsonschema_rs
import pytest

from brain.errors import InvalidInput, NotFound, ProofError
from brain.limits import MAX_MESSAGE_BYTES, MAX_PROOF_BYTES
from brain.objects.bundle import State
from brain.objects.snapshot import encode_snapshot
from brain.objects.tree_node import EXECUTABLE, FILE, LINK, TreeEntry
from brain.proofs.proof_builder import build_absence_proof, build_path_proof, build_section_proof
from brain.proofs.proof_json import parse_proof, render_proof
from brain.proofs.proof_types import DescentProof
from brain.proofs.proof_verification import ProvenFact, verify_proof_bytes, verify_proof_content
from tests.support.conformance.golden_vectors import GoldenVector, check_each_vector, read_vectors
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


@pytest.mark.parametrize("kind", [FILE, EXECUTABLE, LINK])
def test_the_type_of_a_file_is_proven(kind):
    nodes = MemoryNodeStore().open_nodes()
    bundle = State.build(nodes, [TreeEntry("a", kind, OTHER_BLOB_ID, 2**53 - 1)])
    made = SMALL.snapshot._replace(bundle=bundle.id)
    proven = verify_proof_bytes(render_proof(build_path_proof(bundle, made, "a")))
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
    root = SMALL.bundle.sections[name]
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


PATH = SMALL.path_proof("skills/b.md")
TEXT = json.dumps(PATH)


def code_of(data: bytes) -> str:
    with pytest.raises(ProofError) as caught:
        verify_proof_bytes(data)
    return caught.value.code


def test_the_proof_that_is_altered_here_holds():
    assert verify_proof_bytes(TEXT.encode()).path == "skills/b.md"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "bad_json"),
        (b"{", "bad_json"),
        (TEXT.encode() + b"{}", "bad_json"),
        (b"\xef\xbb\xbf" + TEXT.encode(), "bad_json"),
        (TEXT.encode("utf-16"), "bad_json"),
        (TEXT.encode()[:-1] + b'"\xff"}', "bad_json"),
        (b"9" * 5000, "bad_json"),
        (b"[" * 100_000, "too_deep"),
        (b'{"a":' * 100_000, "too_deep"),
        (b" " * (MAX_PROOF_BYTES + 1), "too_large"),
        (TEXT.replace('"size": 11', '"size": 11, "size": 11').encode(), "duplicate_key"),
        (TEXT.replace("{", '{"format": "brain v1 proof", ', 1).encode(), "duplicate_key"),
        (TEXT.replace('"size": 11', '"size": 11.0').encode(), "bad_field"),
        (TEXT.replace('"size": 11', '"size": 1.1e1').encode(), "bad_field"),
        (TEXT.replace('"size": 11', '"size": NaN').encode(), "bad_field"),
        (TEXT.replace('"size": 11', '"size": -Infinity').encode(), "bad_field"),
        (b"[]", "bad_field"),
        (b"null", "bad_field"),
        (b"{}", "unsupported_version"),
    ],
)
def test_what_is_no_json_document_of_a_proof_is_refused(data, code):
    assert code_of(data) == code


def test_the_message_shows_foreign_text_escaped_and_cut():
    with pytest.raises(ProofError) as caught:
        verify_proof_bytes(json_bytes({**PATH, "\x1b[2J": 1}))
    assert caught.value.message.isprintable()
    with pytest.raises(ProofError) as caught:
        verify_proof_bytes(json_bytes({**PATH, "path": "\x1b[2J\n" * 50_000}))
    assert caught.value.message.isprintable() and len(caught.value.message) < 1000


def test_bytes_that_are_no_snapshot_are_refused_even_under_their_own_id():
    from brain.objects.snapshot import snapshot_id
    from brain.proofs.json_fields import to_base64

    for data, code in [
        (b"", "bad_snapshot"),
        (b"\x90", "bad_snapshot"),
        (encode_snapshot(SMALL.snapshot) + b"\0", "bad_snapshot"),
        (b"\x91\x02", "bad_snapshot"),
    ]:
        given = {**PATH, "encoded": to_base64(data), "snapshot": snapshot_id(data).hex()}
        assert code_of(json_bytes(given)) == code


def test_a_proof_larger_than_is_read_is_not_made():
    long = encode_snapshot(SMALL.snapshot._replace(message="x" * MAX_MESSAGE_BYTES))
    with raises_code("too_large", InvalidInput):
        render_proof(DescentProof(OTHER_BLOB_ID, OTHER_BLOB_ID, OTHER_BLOB_ID, [long] * 64))


def test_depth_is_limited_whatever_python_would_let_a_parser_do():
    code = (
        "import sys; sys.setrecursionlimit(10**6)\n"
        "from brain import ProofError, check_proof\n"
        "for text in (b'[' * 10**5, b'{\"a\":' * 10**5, b'[\"]' + b'[' * 10**5):\n"
        "    try: check_proof(text)\n"
        "    except ProofError as error: print(error.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["too_deep"] * 3


def test_brackets_in_text_are_not_depth():
    for text in ("[" * 200, '\\"' + "[{" * 100, "[" * 100 + "]" * 300):
        document = json.dumps({**PATH, "path": text, "climb": [{}] * 40}).encode()
        assert code_of(document) == "bad_field"
    assert code_of(json.dumps({**PATH, "climb": [[]] * 40}).encode()) == "bad_field"


SCHEMA = jsonschema_rs.validator_for(brain._schemas.load("proof"))


def test_a_proof_keeps_its_schema(subtests):
    proofs = read_vectors("proof", valid=True)
    assert proofs
    check_each_vector(subtests, proofs, lambda proof: SCHEMA.validate(json.loads(proof.data)))


def test_what_breaks_the_schema_is_not_read(subtests):
    proofs = read_vectors("proof", valid=True)[::3]
    assert proofs
    check_each_vector(subtests, proofs, _check_mutants)


def _check_mutants(vector: GoldenVector) -> None:
    for what, mutant in mutate_json(json.loads(vector.data)):
        try:
            parse_proof(json_bytes(mutant))
        except ProofError:
            continue
        assert SCHEMA.is_valid(mutant), what


def test_most_of_what_is_not_read_breaks_the_schema():
    broken = [
        vector for vector in read_vectors("proof", valid=False) if vector.error == "bad_field"
    ]
    found = [SCHEMA.is_valid(json.loads(vector.data)) for vector in broken]
    assert sum(found) < len(found) / 5


FLOORS = ("brain.proofs.", "brain.objects.")
GROUND = {
    "_version",
    "digest",
    "encoding",
    "errors",
    "limits",
    "merkle",
    "objects",
    "proofs",
    "util",
    "util.strict_json",
}


def test_checking_imports_only_objects_and_what_lies_below_them():
    code = "import sys; import brain.proofs.proof_verification; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True)
    modules = done.stdout.decode().split()
    house = {name for name in modules if name.startswith("brain.")}
    assert {name for name in house if not name.startswith(FLOORS)} <= {f"brain.{n}" for n in GROUND}
    assert "brain.proofs.proof_builder" not in house
    foreign = {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names)
    assert {"blake3", "msgpack"} <= foreign
    assert not foreign & {"apsw", "click", "cryptography", "rich", "web3", "yaml"}
