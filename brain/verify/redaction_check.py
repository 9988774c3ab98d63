"""Check that missing blobs were redacted, and that the store and the lineage agree on it.

Redactions are read from the snapshots that the walk reached; the rows of the store must
agree with them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..digest import NO_DIGEST
from ..errors import BrainError
from ..objects import lineage, operation
from ..objects.snapshot import Snapshot
from ..repo.session import Session
from ..results import Finding
from .findings import finding_from_error


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
