"""Proofs: of every kind and shape, with every field altered, and forged in earnest."""

import json
from collections.abc import Iterator
from typing import Any

from brain.errors import ProofError
from brain.proofs.proof_builder import build_section_proof
from brain.proofs.proof_json import proof_to_json
from brain.proofs.proof_verification import ProvenFact, verify_proof_bytes
from tests.support.json_mutations import mutate_json
from tests.support.recorded_snapshots import record_snapshot
from tests.vectors.families import forgeries
from tests.vectors.families.proven import (
    DEEP,
    EIGHT,
    HOLLOW,
    NONE,
    SMALL,
    WIDE,
    Document,
    between_nodes,
    descent,
)
from tests.vectors.families.vector import Vector, refused, valid


def _paths() -> dict[str, Document]:
    return {
        "a path": SMALL.path_proof("skills/b.md"),
        "a path at the top": SMALL.path_proof("SOUL.md"),
        "a path that is its whole section": SMALL.path_proof("memory/a.md"),
        "a path that is the whole brain": record_snapshot(["é/🧠"]).path_proof("é/🧠"),
        "an empty file": HOLLOW.path_proof("skills/b.md"),
        "a path in two levels": WIDE.path_proof("skills/00123.md"),
        "the first path of three levels": DEEP.path_proof("skills/00000.md"),
        "the last path of three levels": DEEP.path_proof("skills/03999.md"),
    }


def _absences() -> dict[str, Document]:
    return {
        "a gap": SMALL.absence_proof("skills/b"),
        "a gap before the first file": WIDE.absence_proof("skills/!"),
        "a gap after the last file": DEEP.absence_proof("skills/A"),
        "a gap between nodes": between_nodes(WIDE, 1),
        "a gap between inner nodes": between_nodes(DEEP, 2),
        "a folder is no file": SMALL.absence_proof("skills/a"),
        "a section between sections": SMALL.absence_proof("n/b"),
        "a section before all": SMALL.absence_proof("-/b"),
        "a section after all": SMALL.absence_proof("zz/b"),
        "an empty brain": NONE.absence_proof("a/b"),
        "no files at the top": EIGHT.absence_proof("SOUL.md"),
    }


def _descents() -> dict[str, Document]:
    return {
        "a snapshot and itself": descent(3, 3),
        "a parent": descent(3, 4),
        "a line of jumps": descent(2, 49),
        "a second parent": descent(59, 60),
        "the origin of a fork": descent(60, 61),
        "across a fork and a merge": descent(52, 68),
    }


def vectors() -> Iterator[Vector]:
    """Yield the vectors of proofs."""
    sections = {
        f"the section {name!r}": proof_to_json(
            build_section_proof(SMALL.bundle, SMALL.snapshot, name)
        )
        for name in SMALL.bundle
    }
    good = {**_paths(), **_absences(), **sections, **_descents()}
    for name, document in good.items():
        proven = verify_proof_bytes(_text(document).encode())
        yield valid(name, "proof", {"text": _text(document)}, **facts(proven))
    for name, document in _contents():
        yield valid(name, "proof-content", document, ok=True)
    for name, document in [("another content", b"skills/b.me"), ("no content", b"")]:
        given = {"text": _text(_paths()["a path"]), "content": document.hex()}
        yield refused(name, "proof-content", given, "wrong_content")
    for name in ("a path", "a gap", "a section between sections", "the section 'memory'"):
        yield from _altered(name, good[name])
    yield from _altered("a second parent", good["a second parent"])
    for name, document in forgeries.documents():
        yield _refused(name, _text(document))
    yield _refused("a size of zero with a sign", _signed_zero(good["an empty file"]))
    for name, text in forgeries.malformed(_text(good["a path"])):
        yield _refused(name, text)


def _signed_zero(document: Document) -> str:
    text = _text(document)
    assert text.count('"size": 0') == 1
    return text.replace('"size": 0', '"size": -0')


def _text(document: Any) -> str:
    return json.dumps(document)


def _contents() -> Iterator[tuple[str, Document]]:
    for path in ("skills/b.md", "SOUL.md"):
        given = {"text": _text(SMALL.path_proof(path)), "content": path.encode().hex()}
        yield f"the content of {path}", given


def facts(proven: ProvenFact) -> Document:
    """Return what is shown, in the words of the proof."""
    ids = {name: getattr(proven, name).hex() for name in ("brain", "snapshot")}
    if proven.kind == "descent":
        return {**ids, "ancestor": proven.ancestor.hex(), "from": proven.ancestor_brain.hex()}
    ids["bundle"] = proven.bundle.hex()
    if proven.kind == "section":
        totals = {"files": proven.files, "bytes": proven.size}
        return {**ids, "section": proven.section, "root": proven.root.hex(), **totals}
    if proven.kind == "absence":
        return {**ids, "absent": proven.path}
    entry = {"type": proven.type, "blob": proven.blob.hex(), "size": proven.size}
    return {**ids, "path": proven.path, **entry}


def _refused(name: str, text: str) -> Vector:
    """Return a vector of a text that is refused, for the reason it is refused for."""
    try:
        verify_proof_bytes(text.encode())
    except ProofError as error:
        return refused(name, "proof", {"text": text}, error.code)
    raise AssertionError(f"{name} is taken")


def _altered(name: str, document: Document) -> Iterator[Vector]:
    """Yield the alterations of a proof; those that are no proofs at all, of one proof only."""
    for what, mutant in mutate_json(document):
        if document["kind"] != "absence" or not what.startswith("path "):
            made = _refused(f"{name}: {what}", _text(mutant))
            if made["error"] != "bad_field" or name == "a path":
                yield made
