"""Check the content and sizes of blobs, and that missing ones were redacted.

Blobs are read while trees are checked. So the sizes that entries claim are collected, and
crossed out as blobs confirm them. Only if some are left, as in no healthy brain, are the
trees checked a second time, against the true sizes.

Redactions are read from the snapshots that the walk reached; the rows of the store must
agree with them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress

from ..digest import NO_DIGEST
from ..errors import BrainError
from ..objects import lineage, operation
from ..objects.snapshot import Snapshot
from ..repo.session import Session
from ..results import Finding
from ..store.rows import BlobCheckResult
from ..util.progress import Progress
from . import graph_check
from .graph_check import error_finding, finding_from_error


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


class RedactionCheck:
    """The redactions of one brain, collected while its lineage is walked.

    With `strict`, a missing blob of the head's lineage is excused only by a redaction of
    that lineage: required signatures cover it, and no other branch.
    """

    def __init__(self, session: Session, strict: bool) -> None:
        self._session = session
        self._strict = strict
        self._redacted_by: dict[bytes, list[bytes]] = {}
        self._origins: list[bytes] = []

    def add_snapshot(self, here: bytes, snapshot: Snapshot) -> None:
        """Add the next snapshot of the walk."""
        if blob := operation.redacted_blob(snapshot.operation):
            self._redacted_by.setdefault(blob, []).append(here)
        if snapshot.is_genesis and (origin := operation.fork_origin(snapshot.operation)):
            self._origins.append(origin)

    def explain(self, finding: Finding, blob: bytes) -> Finding:
        """Return the finding about the missing `blob`, as a note if the blob was redacted."""
        self._read_origins()
        redacting_snapshots = self._redacted_by.get(blob)
        if not redacting_snapshots:
            return finding
        text = f"redacted by snapshot {redacting_snapshots[0].hex()[:12]}"
        if self._strict and self._is_only_elsewhere(
            bytes.fromhex(finding.snapshot), redacting_snapshots
        ):
            message = f"{text} of another branch, which the head does not descend from"
            return finding._replace(code="redacted_elsewhere", message=message)
        return finding._replace(code="redacted", severity="note", message=f"{text}; its id stays")

    def _is_only_elsewhere(self, here: bytes, redacting_snapshots: list[bytes]) -> bool:
        session = self._session
        behind = lineage.filter_ancestors(
            session.load_snapshot, [session.head()], {here, *redacting_snapshots}
        )
        return here in behind and behind.isdisjoint(redacting_snapshots)

    def _read_origins(self) -> None:
        while self._origins:
            start = self._origins.pop()
            try:
                for here, snapshot in lineage.walk_ancestors(self._session.load_snapshot, start):
                    self.add_snapshot(here, snapshot)
            except BrainError:
                continue

    def findings(self) -> Iterator[Finding]:
        """Yield where the rows of the store disagree with the lineage."""
        try:
            yield from self._compare_with_store()
        except BrainError as error:
            yield finding_from_error(error)

    def _compare_with_store(self) -> Iterator[Finding]:
        reader = self._session.reader
        recorded = reader.list_redaction_rows()
        effective = reader.find_redactions(list(recorded))
        for blob in sorted(recorded.keys() - effective.keys()):
            message = f"the store calls blob {blob.hex()} redacted, which no snapshot says"
            yield Finding("false_redaction", "error", "", "", message)
        here = {
            blob: redacting_snapshots[0].hex()
            for blob, redacting_snapshots in self._redacted_by.items()
        }
        for blob in sorted(here.keys() - effective.keys()):
            message = f"redacts blob {blob.hex()}, which the store does not know"
            yield Finding("unknown_redaction", "error", here[blob], "", message)
        for blob in sorted(effective.keys() - reader.find_missing(effective) - {NO_DIGEST}):
            message = f"blob {blob.hex()} was redacted, but is still here"
            yield Finding("not_destroyed", "warning", effective[blob].hex(), "", message)
