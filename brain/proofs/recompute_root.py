"""Recompute the hashes of a proof up to the bundle of its snapshot."""

from __future__ import annotations

from .. import merkle
from ..errors import RESTORE_HINT, FormatError, ProofError
from ..objects import paths
from ..objects import snapshot as snapshots
from ..objects.bundle import section_hash
from ..objects.snapshot import Snapshot, snapshot_id
from ..objects.tree_node import child_hash, entry_hash, join_hashes
from .proof_types import FileInclusion, LevelStep, ProofHead, SectionInclusion, TreeAuditPath

INVALID_PROOF_HINT = "it was changed, or made wrongly: do not rely on it, and ask for a new one"


def require_valid_proof(
    condition: object, code: str, problem: str, hint: str = INVALID_PROOF_HINT
) -> None:
    """Raise `ProofError` unless `condition`."""
    if not condition:
        raise ProofError(f"the proof does not hold: {problem}", code=code, hint=hint)


def check_proof_head(head: ProofHead) -> None:
    """Check that the encoded snapshot has the id, brain and bundle that the head claims."""
    require_valid_proof(
        snapshot_id(head.encoded) == head.snapshot,
        "wrong_snapshot",
        f"the snapshot in it is not {head.snapshot.hex()}",
    )
    snapshot = decode_proof_snapshot(head.encoded)
    require_valid_proof(
        (snapshot.brain or head.snapshot) == head.brain,
        "wrong_brain",
        f"its snapshot is not of the brain {head.brain.hex()}",
    )
    require_valid_proof(
        snapshot.bundle == head.bundle,
        "wrong_bundle",
        f"its snapshot does not have the bundle {head.bundle.hex()}",
    )


def decode_proof_snapshot(encoded: bytes) -> Snapshot:
    """Return a snapshot. Raises `ProofError` (`bad_snapshot`)."""
    try:
        return snapshots.decode_snapshot(encoded)
    except FormatError as error:
        raise ProofError(
            f"the snapshot in the proof cannot be read: {error.message}",
            code="bad_snapshot",
            hint=INVALID_PROOF_HINT if error.hint == RESTORE_HINT else error.hint,
        ) from error


def path_in_section(section: str, path: str) -> str:
    """Return the path inside its section, which must be `section`."""
    found, inner = paths.split_section(path)
    require_valid_proof(found == section, "wrong_section", f"it names a file outside {section}")
    return inner


def root_from_file(section: str, line: FileInclusion) -> bytes:
    """Return the hash that the climb of a file leads to."""
    path, kind, blob, size = line.entry
    return root_from_tree_path(
        entry_hash((path_in_section(section, path), kind, blob, size)), line.climb
    )


def root_from_tree_path(node_hash: bytes, climb: TreeAuditPath) -> bytes:
    """Return the hash that `climb` leads to from `node_hash`."""
    for one in climb:
        if isinstance(one, LevelStep):
            node_hash = child_hash(one.last, node_hash, one.files, one.bytes)
        else:
            node_hash = merkle.root_from_path(node_hash, (one,), join_hashes)
    return node_hash


def root_from_section(line: SectionInclusion) -> bytes:
    """Return the hash that the steps of a section lead to."""
    return merkle.root_from_path(section_hash(line.name, line.root), line.steps, join_hashes)


def require_bundle(head: ProofHead, found: bytes) -> None:
    """Check that a recomputed root is the bundle of the snapshot."""
    require_valid_proof(found == head.bundle, "wrong_bundle", "its hashes lead to another bundle")
