"""Check the content and sizes of blobs, and name the files that damaged blobs belong to.

Blobs are read while trees are checked. So what the entries say is noted first, and
crossed out as the blobs turn out to be so. Only where something is left, which a
healthy brain never sees, are the trees checked once more, now that it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress

from ..errors import BrainError
from ..objects import bundle as bundles
from ..objects.snapshot import Snapshot
from ..repo.open.session import Session
from ..results import Finding
from ..store.protocol import BlobCheckResult
from ..util.progress import Progress
from . import graph_check


def check_blobs(
    session: Session,
    progress: Progress,
    verdicts: Iterable[BlobCheckResult],
    sizes: ClaimedSizes,
    wrong_cards: list[bytes],
) -> Iterator[Finding]:
    """Check that every blob of the store, read again, hashes to its id and has its size.

    What the reader picked out is appended to `named`.
    """
    faults: dict[bytes, str] = {}
    done = 0
    for checked in verdicts:
        sizes.confirm(checked.sizes)
        wrong_cards += checked.selected
        for blob, fault in checked.faults:
            faults[blob] = fault.removeprefix(f"object {blob.hex()} is damaged: ")
        done += len(checked.sizes) + len(checked.faults)
        progress("blobs", done, 0)
    sizes.find_true_sizes(session.reader.blob_size, faults.keys())
    if faults:
        yield from _name_damaged_files(session, faults)


def _name_damaged_files(session: Session, faults: dict[bytes, str]) -> Iterator[Finding]:
    """Name the files that damaged blobs are the content of, newest snapshot first."""
    unnamed = dict(faults)
    starts, _ = graph_check.check_refs(session)
    for snapshot_id, snapshot in graph_check.walk_reachable(session, starts):
        if not unnamed:
            return
        try:
            found = (
                _find_paths_of_blobs(session, snapshot, unnamed)
                if isinstance(snapshot, Snapshot)
                else {}
            )
        except BrainError:  # a finding of the trees already
            continue
        for blob, path in found.items():
            message = f"blob {blob.hex()}: {unnamed.pop(blob)}"
            yield Finding("corrupt_blob", "error", snapshot_id.hex(), path, message)
    for blob, fault in unnamed.items():
        yield Finding("corrupt_blob", "error", "", "", f"blob {blob.hex()}: {fault}")


def _find_paths_of_blobs(
    session: Session, snapshot: Snapshot, wanted: dict[bytes, str]
) -> dict[bytes, str]:
    """Return the paths of `wanted` blobs that are new in a snapshot against its parent."""
    before = session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY_BUNDLE
    after = session.load_bundle(snapshot.bundle)
    out = {}
    for path, _, now in bundles.diff_bundles(session.nodes, before, after):
        if now is not None and now.blob in wanted:
            out[now.blob] = path
    return out


class ClaimedSizes:
    """What entries say of blobs, and in `true` the sizes of those of which they say wrong."""

    def __init__(self) -> None:
        self._unconfirmed: set[tuple[bytes, int]] = set()
        self.true_sizes: dict[bytes, int] = {}
        self._claimed: dict[bytes, int] | None = None

    def add_claims(self, claims: Iterable[tuple[bytes, int]]) -> None:
        """Note what entries say of some blobs."""
        self._unconfirmed.update(claims)

    def confirm(self, sizes: Iterable[tuple[bytes, int]]) -> None:
        """Cross out what is true of some blobs."""
        self._unconfirmed.difference_update(sizes)

    def expected_size(self, blob: bytes, size: int) -> int:
        """Return the size that a large blob has to have which claims to have `size` bytes.

        If no entry says that, it is what one says; a blob that no entry names has what it claims.
        """
        if (blob, size) in self._unconfirmed:
            return size
        if self._claimed is None:
            self._claimed = dict(self._unconfirmed)
        return self._claimed.get(blob, size)

    def find_true_sizes(self, size_of: Callable[[bytes], int], damaged: Collection[bytes]) -> None:
        """Find the true sizes of blobs of which something else is said, where they have one."""
        for blob in {blob for blob, _ in self._unconfirmed}.difference(damaged):
            with suppress(BrainError):
                self.true_sizes[blob] = size_of(blob)
