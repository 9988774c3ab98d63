"""Verify a proof without access to the brain.

A proof ties a statement to the id of a snapshot by hashes. The caller has to know from
elsewhere that this snapshot can be trusted: from a signature or a ledger.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..digest import NO_DIGEST, stream_blob_id
from ..errors import InvalidInput, printable_text
from ..objects import paths
from .absence_check import check_path_absence, check_section_absence, require_section
from .descent_check import check_descent_proof
from .json_fields import parse_expected_ids
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
    from collections.abc import Callable
    from io import RawIOBase

    from ..results import Proof


_CONTENT_HINT = "compare it with the file as it was in that snapshot"


class ProvenFact(NamedTuple):
    """The fact that a proof shows about a snapshot; fields that its kind lacks are empty or 0.

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

    Raises `ProofError`: the codes of `parse_proof` if malformed, else
    `wrong_snapshot`, `bad_snapshot`, `wrong_brain`, `wrong_section`, `wrong_bundle`,
    `not_neighbours`, `not_between`, `wrong_ancestor` or `broken_chain`.
    """
    return verify_proof(parse_proof(data))


def verify_proof(proof: AnyProof) -> ProvenFact:
    """Return what a parsed proof shows. Raises as `verify_proof_bytes`."""
    if isinstance(proof, DescentProof):
        brain = check_descent_proof(proof)
        return ProvenFact(
            kind="descent",
            brain=proof.brain,
            snapshot=proof.snapshot,
            ancestor=proof.ancestor,
            ancestor_brain=brain,
        )
    check_proof_head(proof.head)
    prove = partial(
        ProvenFact,
        brain=proof.head.brain,
        snapshot=proof.head.snapshot,
        bundle=proof.head.bundle,
    )
    if isinstance(proof, PathProof):
        path, kind, blob, size = proof.line.entry
        section, _ = paths.split_section(path)
        require_section(proof.head, section, root_from_file(section, proof.line), proof.tree)
        return prove(kind="path", path=path, type=kind, blob=blob, size=size)
    if isinstance(proof, PathAbsenceProof | SectionAbsenceProof):
        if isinstance(proof, PathAbsenceProof):
            check_path_absence(proof)
        else:
            check_section_absence(proof)
        return prove(kind="absence", path=proof.path)
    require_bundle(proof.head, root_from_section(proof.line))
    name, (node, files, size), _ = proof.line
    return prove(kind="section", section=name, root=node, files=files, size=size)


def verify_proof_content(proven: ProvenFact, source: RawIOBase) -> None:
    """Check that `source` holds the content of the path proven, reading it in flat memory.

    For a link the content is its target. Raises `ProofError` (`wrong_content`,
    `wrong_size`), and `InvalidInput` (`no_content`) if no path was proven.
    """
    if proven.kind != "path":
        raise InvalidInput(
            f"a proof of the kind {proven.kind} shows no content to compare a file with",
            code="no_content",
            hint="check it without --content, or ask for a proof of the file itself",
        )
    counted = _CountingReader(source, proven.size + 1)
    found = stream_blob_id(cast("RawIOBase", counted))
    name = printable_text(proven.path)
    require_valid_proof(
        found == proven.blob,
        "wrong_content",
        f"the content is not that of {name} in the snapshot",
        _CONTENT_HINT,
    )
    require_valid_proof(
        counted.bytes_read == proven.size,
        "wrong_size",
        f"the content has {counted.bytes_read} bytes, and {name} in the snapshot {proven.size}",
        _CONTENT_HINT,
    )


class _CountingReader:
    """Reads at most so many bytes of a source, which may have no end."""

    def __init__(self, source: RawIOBase, most: int) -> None:
        self._source = source
        self._most = most
        self.bytes_read = 0

    def readinto(self, window: memoryview) -> int:
        read = self._source.readinto(window[: self._most - self.bytes_read]) or 0
        self.bytes_read += read
        return read


def check_proof(
    data: bytes,
    *,
    content: RawIOBase | None = None,
    brain: str = "",
    snapshot: str = "",
    in_store: Callable[[str], bool] | None = None,
) -> Proof:
    """Verify the proof in `data` without access to the brain; return what it shows.

    `content` must be the proven content; `brain` and `snapshot` are full ids that the proof
    must be about. Anybody can make a proof that is consistent, also one that names somebody
    else's brain, so the result is `ok` only if `snapshot` was given, or `in_store`, which tells
    whether a brain of the reader holds a snapshot, knows it. A `brain` is known by its first
    snapshot alone, so it counts for that one and for the origin of a fork. Raises `ProofError`
    (`not_this_brain`, `not_this_snapshot`, and as `verify_proof_bytes`) or `InvalidInput`
    (`bad_id`, `no_content`).
    """
    expected_ids = parse_expected_ids(brain, snapshot)
    proven = verify_proof_bytes(data)
    for name, id in expected_ids.items():
        found = getattr(proven, name)
        require_valid_proof(
            found == id,
            f"not_this_{name}",
            f"it is about the {name} {found.hex()}, not {id.hex()}",
            f"compare the id, or ask for a proof about that {name}",
        )
    if content is not None:
        verify_proof_content(proven, content)
    if snapshot:
        known = "snapshot"
    elif brain and (
        proven.snapshot == proven.brain or proven.ancestor_brain not in (NO_DIGEST, proven.brain)
    ):
        known = "brain"  # its id is that of its genesis, through which a descent of a fork passes
    elif in_store is not None and in_store(proven.snapshot.hex()):
        known = "own_store"
    else:
        known = ""
    return _proof_result(proven, [known] if known else [])


def _proof_result(proven: ProvenFact, vouched_by: list[str]) -> Proof:
    from ..results.trust import Proof

    fields: dict[str, Any] = {
        name: (value.hex() if isinstance(value, bytes) else value) or None
        for name, value in proven._asdict().items()
    }
    fields["type"] = ENTRY_TYPES[proven.type] if proven.kind == "path" else None
    fields["size"] = proven.size if proven.kind in ("path", "section") else None
    return Proof(ok=bool(vouched_by), consistent=True, vouched_by=vouched_by, **fields)
