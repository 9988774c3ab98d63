"""The hashes of a proof, from its lines up to the bundle of a snapshot it carries."""

from __future__ import annotations

from .. import merkle
from ..errors import FormatError, ProofError
from ..objects import paths
from ..objects import snapshot as snapshots
from ..objects.bundle import section_hash
from ..objects.node import child_hash, entry_hash, join_hashes
from ..objects.snapshot import Snapshot, snapshot_id
from .proof import Climb, FileLine, Head, Opening, SectionLine


def require(truth: object, code: str, what: str) -> None:
    """Raise `ProofError` unless `truth`."""
    if not truth:
        raise ProofError(f"the proof does not hold: {what}", code=code)


def check_head(head: Head) -> None:
    """Check that the snapshot is the one it is said to be, with that brain and bundle."""
    require(snapshot_id(head.encoded) == head.snapshot, "wrong_snapshot", "another snapshot")
    snapshot = decoded(head.encoded)
    require((snapshot.brain or head.snapshot) == head.brain, "wrong_brain", "another brain")
    require(snapshot.bundle == head.bundle, "wrong_bundle", "the snapshot has another bundle")


def decoded(encoded: bytes) -> Snapshot:
    """Return a snapshot. Raises `ProofError` (`bad_snapshot`)."""
    try:
        return snapshots.decode(encoded)
    except FormatError as error:
        raise ProofError(error.message, code="bad_snapshot", hint=error.hint) from error


def inside(section: str, path: str) -> str:
    """Return the path inside its section, which must be `section`."""
    found, inner = paths.split(path)
    require(found == section, "wrong_section", "a file of another section")
    return inner


def rise_from_file(section: str, line: FileLine) -> bytes:
    """Return the hash that the climb of a file leads to."""
    path, kind, blob, size = line.entry
    return rise(entry_hash((inside(section, path), kind, blob, size)), line.climb)


def rise(here: bytes, climb: Climb) -> bytes:
    """Return the hash that `climb` leads to from `here`."""
    for one in climb:
        if isinstance(one, Opening):
            here = child_hash(one.last, here, one.files, one.bytes)
        else:
            here = merkle.climb(here, (one,), join_hashes)
    return here


def rise_from_section(line: SectionLine) -> bytes:
    """Return the hash that the steps of a section lead to."""
    return merkle.climb(section_hash(line.name, line.root), line.steps, join_hashes)


def require_bundle(head: Head, found: bytes) -> None:
    """Check that the way up has ended at the bundle of the snapshot."""
    require(found == head.bundle, "wrong_bundle", "it leads to another bundle")
