"""The figures in docs/FORMAT.md and docs/format/ are true."""

import re
from typing import Any

from brain import encoding, limits
from brain.chain.evidence import evidence_format, state_proof
from brain.chain.tlog import note
from brain.objects import snapshot, tree_node
from tests.conformance.independent import lineage as other_lineage
from tests.conformance.independent import objects as other
from tests.support.conformance.golden_vectors import read_vectors


def _line(path: str, kind: int, content: bytes) -> list[Any]:
    return [path, kind, other.blob_id(content), len(content)]


def test_the_worked_example_of_the_specification_is_true(project):
    text = (project / "docs" / "FORMAT.md").read_text("utf-8")
    stated = dict(re.findall(r"^(\S.*\S) {2,}([0-9a-f]{20,})$", text, re.MULTILINE))
    contents = {
        "SOUL.md": b"calm\n",
        "a/SKILL.md": b"one\n",
        "b.md": b"two\n",
        "c/run.sh": b"three\n",
    }
    blobs = {path: other.blob_id(content) for path, content in contents.items()}
    lines = [
        [path, int(path == "c/run.sh"), blobs[path], len(contents[path])]
        for path in ("a/SKILL.md", "b.md", "c/run.sh")
    ]
    soul = ["SOUL.md", 0, blobs["SOUL.md"], 5]
    hashes = [other.context_hash("brain v1 tree leaf", other.encode(line)) for line in lines]
    bundle = other.encode_bundle_of([soul, *(["skills/" + line[0], *line[1:]] for line in lines)])
    top, skills = other.read_bundle(bundle)
    nonce = bytes(range(16))
    id = other.bundle_id(bundle)
    genesis = other.encode(
        [
            1,
            b"",
            id,
            [],
            0,
            [0, b""],
            "me",
            1_700_000_000_000,
            ["genesis", nonce, b""],
            "begin",
            b"",
        ]
    )
    true = {
        **{f"blob {line[0]}": line[2] for line in (soul, *lines)},
        **{f"entry {line[0]}": other.encode(line) for line in lines},
        **{f"hash {line[0]}": digest for line, digest in zip(lines, hashes, strict=True)},
        "joined a b": other.merkle_root(hashes[:2]),
        "node skills": other.encode([0, lines]),
        "root skills": other.node_id(0, lines),
        "root .": other.node_id(0, [soul]),
        "section .": other.encode(top),
        "section skills": other.encode(skills),
        "bundle": bundle,
        "bundle id": id,
        "genesis": genesis,
        "brain id": other_lineage.snapshot_id(genesis),
        "empty bundle id": other.bundle_id(b"\x90"),
    }
    assert stated == {name: value.hex() for name, value in true.items()}
    assert other.context_hash("brain v1 tree cut", b"\0a/SKILL.md").hex().startswith("03677a")
    assert [other.ends_node(0, "a/SKILL.md", c) for c in (38, 39)] == [False, True]


def test_the_table_of_jumps_is_that_of_the_vectors(project):
    text = (project / "docs" / "FORMAT.md").read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if "| depth" in line]
    depths, targets = ([int(cell) for cell in row[1:]] for row in rows)
    (steps,) = (v.expected["steps"] for v in read_vectors("lineage", valid=True) if v.expected)
    assert targets == [depth - steps[depth] for depth in depths]


def test_the_limits_are_those_of_the_library(project):
    docs = project / "docs"
    pages = [docs / "FORMAT.md", *sorted((docs / "format").glob("*.md"))]
    text = " ".join(" ".join(page.read_text("utf-8") for page in pages).split())
    for number in (
        encoding.MAX_OBJECT_BYTES,
        encoding.MAX_CONTAINER_ITEMS,
        encoding.MAX_OBJECT_VALUES,
        limits.MAX_PATH_BYTES,
        limits.MAX_SECTIONS,
        limits.MAX_MESSAGE_BYTES,
        limits.MAX_PROOF_BYTES,
        limits.MAX_EVIDENCE_BYTES,
        note.MAX_NOTE_BYTES,
        evidence_format.MAX_CHECKPOINT_CHARS,
        state_proof.MAX_HEADER_BYTES,
        state_proof.MAX_TRIE_NODE_BYTES,
    ):
        assert f"{number:,}" in text
    assert f"at most {note.MAX_ENTRY_BYTES} bytes" in text
    assert f"at most {evidence_format.MAX_PATH_HASHES} hashes" in text
    assert f"at most {state_proof.MAX_PROOF_NODES} nodes" in text
    assert f"at most {state_proof.MAX_LIST_DEPTH} deep" in text
    assert f"in seconds since 1970, at most {state_proof.MAX_BLOCK_TIME}" in text
    assert f"1 to {note.MAX_NOTE_SIGNATURES} signature lines" in text
    assert f"{snapshot.MAX_TIME_MS}" in text
    assert f"{tree_node.MAX_NODE_ENTRIES - 1}^3 ≤ 2^22 < {tree_node.MAX_NODE_ENTRIES}^3" in text
