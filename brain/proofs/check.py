"""Checking a proof, from nothing but its text and, if wanted, the content of the file.

A proof ties what it says to the id of a snapshot, by hashes. That this snapshot is
one to rely on is for the caller to know: from a signature, a ledger, or a friend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from ..digest import EMPTY, stream_id
from ..errors import InvalidInput
from ..objects import paths
from .absence import check_gap, check_no_section, require_section
from .descent import check_descent
from .document import read
from .proof import DescentProof, GapProof, NoSectionProof, PathProof, Proof
from .rise import check_head, require, require_bundle, rise_from_file, rise_from_section

if TYPE_CHECKING:
    from io import RawIOBase


class Proven(NamedTuple):
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
    bundle: bytes = EMPTY
    path: str = ""
    type: int = 0
    blob: bytes = EMPTY
    size: int = 0
    section: str = ""
    root: bytes = EMPTY
    files: int = 0
    ancestor: bytes = EMPTY
    ancestor_brain: bytes = EMPTY


def check(data: bytes) -> Proven:
    """Return what the proof in `data` shows.

    Raises `ProofError`: as `document.read` says for what is not well-formed, else
    `wrong_snapshot`, `bad_snapshot`, `wrong_brain`, `wrong_section`, `wrong_bundle`,
    `not_neighbours`, `not_between`, `wrong_ancestor` or `broken_chain`.
    """
    return check_read(read(data))


def check_read(proof: Proof) -> Proven:
    """Return what a proof shows that was read, and raise as `check` does."""
    if isinstance(proof, DescentProof):
        brain = check_descent(proof)
        return Proven("descent", *proof[:2], ancestor=proof.ancestor, ancestor_brain=brain)
    check_head(proof.head)
    ids = proof.head[:3]
    if isinstance(proof, PathProof):
        path, kind, blob, size = proof.line.entry
        section, _ = paths.split(path)
        require_section(proof.head, section, rise_from_file(section, proof.line), proof.tree)
        return Proven("path", *ids, path, kind, blob, size)
    if isinstance(proof, GapProof):
        check_gap(proof)
        return Proven("absence", *ids, proof.path)
    if isinstance(proof, NoSectionProof):
        check_no_section(proof)
        return Proven("absence", *ids, proof.path)
    require_bundle(proof.head, rise_from_section(proof.line))
    name, (node, files, size), _ = proof.line
    return Proven("section", *ids, section=name, root=node, files=files, size=size)


def check_content(proven: Proven, source: RawIOBase) -> None:
    """Check that `source` holds the content of the path proven, reading it in flat memory.

    For a link the content is its target. Raises `ProofError` (`wrong_content`,
    `wrong_size`), and `InvalidInput` (`no_content`) if no path was proven.
    """
    if proven.kind != "path":
        raise InvalidInput(f"a proof of {proven.kind} says nothing of a content", code="no_content")
    counted = _Counted(source)
    found = stream_id(cast("RawIOBase", counted))
    require(found == proven.blob, "wrong_content", "the file has another content")
    require(counted.bytes == proven.size, "wrong_size", "the file has another size")


class _Counted:
    """Passes on what is read and counts its bytes."""

    def __init__(self, source: RawIOBase) -> None:
        self._source = source
        self.bytes = 0

    def readinto(self, window: memoryview) -> int:
        read = self._source.readinto(window) or 0
        self.bytes += read
        return read
