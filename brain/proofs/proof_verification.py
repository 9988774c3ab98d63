"""Verify a proof without access to the brain.

A proof ties what it says to the id of a snapshot, by hashes. That this snapshot is
one to rely on is for the caller to know: from a signature, a ledger, or a friend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from ..digest import NO_DIGEST, parse_digest, stream_blob_id
from ..errors import InvalidInput
from ..objects import paths
from ..results import Proof
from .absence_check import check_path_absence, check_section_absence, require_section
from .descent_check import check_descent_proof
from .proof_json import ENTRY_TYPES, parse_proof
from .proof_types import AnyProof, DescentProof, PathAbsenceProof, PathProof, SectionAbsenceProof
from .recompute_root import (
    check_proof_head,
    require_bundle,
    require_valid_proof,
    root_from_file,
    root_from_section,
)

if TYPE_CHECKING:
    from io import RawIOBase


class ProvenFact(NamedTuple):
    """What a proof shows of a snapshot; what its kind does not speak of is empty or 0.

    `path`: the file `path`, of `type` (FILE, EXECUTABLE or LINK), is in the snapshot
    with the content `blob` of `size` bytes. `absence`: no file is at `path`.
    `section`: the tree `root`, of `files` files and `size` bytes, is its section
    `section`. `descent`: the snapshot is `ancestor`, of the brain `ancestor_brain`,
    or descends from it.
    """

    kind: str
    brain: bytes
    snapshot: bytes
    bundle: bytes = NO_DIGEST
    path: str = ""
    type: int = 0
    blob: bytes = NO_DIGEST
    size: int = 0
    section: str = ""
    root: bytes = NO_DIGEST
    files: int = 0
    ancestor: bytes = NO_DIGEST
    ancestor_brain: bytes = NO_DIGEST


def verify_proof_bytes(data: bytes) -> ProvenFact:
    """Return what the proof in `data` shows.

    Raises `ProofError`: as `document.read` says for what is not well-formed, else
    `wrong_snapshot`, `bad_snapshot`, `wrong_brain`, `wrong_section`, `wrong_bundle`,
    `not_neighbours`, `not_between`, `wrong_ancestor` or `broken_chain`.
    """
    return verify_proof(parse_proof(data))


def verify_proof(proof: AnyProof) -> ProvenFact:
    """Return what a proof shows that was read, and raise as `check` does."""
    if isinstance(proof, DescentProof):
        brain = check_descent_proof(proof)
        return ProvenFact("descent", *proof[:2], ancestor=proof.ancestor, ancestor_brain=brain)
    check_proof_head(proof.head)
    ids = proof.head[:3]
    if isinstance(proof, PathProof):
        path, kind, blob, size = proof.line.entry
        section, _ = paths.split_section(path)
        require_section(proof.head, section, root_from_file(section, proof.line), proof.tree)
        return ProvenFact("path", *ids, path, kind, blob, size)
    if isinstance(proof, PathAbsenceProof):
        check_path_absence(proof)
        return ProvenFact("absence", *ids, proof.path)
    if isinstance(proof, SectionAbsenceProof):
        check_section_absence(proof)
        return ProvenFact("absence", *ids, proof.path)
    require_bundle(proof.head, root_from_section(proof.line))
    name, (node, files, size), _ = proof.line
    return ProvenFact("section", *ids, section=name, root=node, files=files, size=size)


def verify_proof_content(proven: ProvenFact, source: RawIOBase) -> None:
    """Check that `source` holds the content of the path proven, reading it in flat memory.

    For a link the content is its target. Raises `ProofError` (`wrong_content`,
    `wrong_size`), and `InvalidInput` (`no_content`) if no path was proven.
    """
    if proven.kind != "path":
        raise InvalidInput(f"a proof of {proven.kind} says nothing of a content", code="no_content")
    counted = _CountingReader(source)
    found = stream_blob_id(cast("RawIOBase", counted))
    require_valid_proof(found == proven.blob, "wrong_content", "the file has another content")
    require_valid_proof(
        counted.bytes_read == proven.size, "wrong_size", "the file has another size"
    )


class _CountingReader:
    """Passes on what is read and counts its bytes."""

    def __init__(self, source: RawIOBase) -> None:
        self._source = source
        self.bytes_read = 0

    def readinto(self, window: memoryview) -> int:
        read = self._source.readinto(window) or 0
        self.bytes_read += read
        return read


def check_proof(
    data: bytes, *, content: RawIOBase | None = None, brain: str = "", snapshot: str = ""
) -> Proof:
    """Return what the proof in `data` shows, and raise if it does not hold.

    `content` is the content of the file, which has to be the one proven; `brain` and
    `snapshot` are ids that the proof has to be about, in full. Needs no brain. Raises
    `ProofError` (`not_this_brain`, `not_this_snapshot`, and the codes of
    `proofs.check`) or `InvalidInput` (`bad_id`, `no_content`).
    """
    wanted = {name: parse_digest(id) for name, id in _expected_ids(brain, snapshot) if id}
    proven = verify_proof_bytes(data)
    for name, id in wanted.items():
        found = getattr(proven, name)
        require_valid_proof(
            found == id, f"not_this_{name}", f"it is about the {name} {found.hex()}"
        )
    if content is not None:
        verify_proof_content(proven, content)
    return _proof_result(proven)


def _expected_ids(brain: str, snapshot: str) -> list[tuple[str, str]]:
    return [("brain", brain), ("snapshot", snapshot)]


def _proof_result(proven: ProvenFact) -> Proof:
    has_path, has_section = proven.kind == "path", proven.kind == "section"
    return Proof(
        True,
        proven.kind,
        proven.brain.hex(),
        proven.snapshot.hex(),
        proven.bundle.hex() or None,
        proven.path or None,
        ENTRY_TYPES[proven.type] if has_path else None,
        proven.blob.hex() or None,
        proven.size if has_path or has_section else None,
        proven.section or None,
        proven.root.hex() or None,
        proven.files or None,
        proven.ancestor.hex() or None,
        proven.ancestor_brain.hex() or None,
    )
