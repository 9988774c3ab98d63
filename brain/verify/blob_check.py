"""Check the content and sizes of blobs, and name the files that damaged blobs belong to.

Blobs are read while trees are checked. So the sizes that entries claim are collected, and
crossed out as blobs confirm them. Only if some are left, as in no healthy brain, are the
trees checked a second time, against the true sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress

from ..errors import BrainError
from ..objects.snapshot import Snapshot
from ..repo.session import Session
from ..results import Finding
from ..store.rows import BlobCheckResult
from ..util.progress import Progress
from . import graph_check
from .findings import error_finding


class BlobCheck:
    """Reads every blob of the store again: it must hash to its id and have its size.

    `faults` says what is wrong with damaged blobs; `wrong_cards` are the sound blobs that
    the predicate of the reader selected.
    """

    def __init__(self, session: Session, progress: Progress, sizes: ClaimedSizes) -> None:
        self._session = session
        self._progress = progress
        self._sizes = sizes
        self.faults: dict[bytes, str] = {}
        self.wrong_cards: list[bytes] = []

    def findings(self, verdicts: Iterable[BlobCheckResult]) -> Iterator[Finding]:
        """Yield a finding for each damaged blob; find the true sizes of the others."""
        blob_count = 0
        for checked in verdicts:
            self._sizes.confirm(checked.sizes)
            self.wrong_cards += checked.selected
            for blob, fault in checked.faults:
                self.faults[blob] = fault.removeprefix(f"object {blob.hex()} is damaged: ")
            blob_count += len(checked.sizes) + len(checked.faults)
            self._progress("blobs", blob_count, 0)
        self._sizes.find_true_sizes(self._session.reader.blob_size, self.faults.keys())
        if self.faults:
            yield from _name_damaged_files(self._session, self.faults)


def _name_damaged_files(session: Session, faults: dict[bytes, str]) -> Iterator[Finding]:
    unnamed = dict(faults)
    starts, _ = graph_check.check_refs(session)
    for snapshot_id, snapshot in graph_check.walk_reachable(session, starts):
        if not unnamed:
            return
        try:
            paths_by_blob = (
                _find_paths_of_blobs(session, snapshot, unnamed)
                if isinstance(snapshot, Snapshot)
                else {}
            )
        except BrainError:  # reported with the trees
            continue
        for blob, path in paths_by_blob.items():
            message = f"blob {blob.hex()}: {unnamed.pop(blob)}"
            yield error_finding("corrupt_blob", message, snapshot_id.hex(), path)
    for blob, fault in unnamed.items():
        yield error_finding("corrupt_blob", f"blob {blob.hex()}: {fault}")


def _find_paths_of_blobs(
    session: Session, snapshot: Snapshot, wanted: dict[bytes, str]
) -> dict[bytes, str]:
    before = session.parent_state(snapshot)
    after = session.load_state(snapshot.bundle)
    out = {}
    for path, _, now in before.diff(after):
        if now is not None and now.blob in wanted:
            out[now.blob] = path
    return out


class ClaimedSizes:
    """The sizes that entries claim of blobs, and the true sizes where claims are wrong."""

    def __init__(self) -> None:
        self._unconfirmed: set[tuple[bytes, int]] = set()
        self.true_sizes: dict[bytes, int] = {}
        self._claimed: dict[bytes, int] | None = None

    def add_claims(self, claims: Iterable[tuple[bytes, int]]) -> None:
        """Add (blob, size) claims of entries."""
        self._unconfirmed.update(claims)

    def confirm(self, sizes: Iterable[tuple[bytes, int]]) -> None:
        """Drop the claims that are true."""
        self._unconfirmed.difference_update(sizes)

    def expected_size(self, blob: bytes, size: int) -> int:
        """Return the size that a large blob must have, given the `size` that the store claims.

        That is `size` if an entry claims it too or none names the blob, else an entry's claim.
        """
        if (blob, size) in self._unconfirmed:
            return size
        if self._claimed is None:
            self._claimed = dict(self._unconfirmed)
        return self._claimed.get(blob, size)

    def find_true_sizes(self, size_of: Callable[[bytes], int], damaged: Collection[bytes]) -> None:
        """Find the true sizes of the undamaged blobs of which unconfirmed claims are left."""
        for blob in {blob for blob, _ in self._unconfirmed}.difference(damaged):
            with suppress(BrainError):
                self.true_sizes[blob] = size_of(blob)
