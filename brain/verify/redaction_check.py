"""Check that missing blobs were redacted, and that the store and the lineage agree on it.

The snapshots that the walk reached are asked, and not the rows of the store, which must
say the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..digest import NO_DIGEST
from ..errors import BrainError
from ..objects import lineage, operation
from ..objects.snapshot import Snapshot
from ..repo.open.session import Session
from ..results import Finding

_MISSING_OBJECT = "missing_object"
_MESSAGE_START, _MESSAGE_END = "blob ", " is missing"


def missing_blob_message(blob: bytes) -> str:
    """Return the message of a finding (`missing_object`) about a blob that is not here."""
    return f"{_MESSAGE_START}{blob.hex()}{_MESSAGE_END}"


class RedactionCheck:
    """What was redacted in one brain, fed with the walk over its lineage.

    With `strict` a redaction counts for a snapshot behind the head only if it is behind
    the head too: signatures are asked for there, and say nothing of other branches.
    """

    def __init__(self, session: Session, strict: bool) -> None:
        self._session = session
        self._strict = strict
        self._redacted_by: dict[bytes, list[bytes]] = {}
        self._origins: list[bytes] = []

    def add_snapshot(self, here: bytes, snapshot: Snapshot) -> None:
        """Take the next snapshot of the walk."""
        if blob := operation.redacted_blob(snapshot.operation):
            self._redacted_by.setdefault(blob, []).append(here)
        if snapshot.is_genesis and (origin := operation.fork_origin(snapshot.operation)):
            self._origins.append(origin)

    def explain(self, finding: Finding) -> Finding:
        """Return what is to be told in place of a finding about a missing blob."""
        text = finding.message
        if finding.code != _MISSING_OBJECT or not (
            text.startswith(_MESSAGE_START) and text.endswith(_MESSAGE_END)
        ):
            return finding
        blob = bytes.fromhex(text[len(_MESSAGE_START) : -len(_MESSAGE_END)])
        self._read_origins()
        redacting_snapshots = self._redacted_by.get(blob)
        if not redacting_snapshots:
            return finding
        words = f"redacted by snapshot {redacting_snapshots[0].hex()[:12]}"
        if self._strict and self._is_only_elsewhere(
            bytes.fromhex(finding.snapshot), redacting_snapshots
        ):
            message = f"{words} of another branch, which the head does not descend from"
            return finding._replace(code="redacted_elsewhere", message=message)
        return finding._replace(code="redacted", severity="note", message=f"{words}; its id stays")

    def _is_only_elsewhere(self, here: bytes, redacting_snapshots: list[bytes]) -> bool:
        session = self._session
        behind = lineage.filter_ancestors(
            session.load_snapshot, [session.head()], {here, *redacting_snapshots}
        )
        return here in behind and behind.isdisjoint(redacting_snapshots)

    def _read_origins(self) -> None:
        """Learn what was redacted before this brain was forked; what is not here says nothing."""
        while self._origins:
            start = self._origins.pop()
            try:
                for here, snapshot in lineage.walk_ancestors(self._session.load_snapshot, start):
                    self.add_snapshot(here, snapshot)
            except BrainError:
                continue

    def findings(self) -> Iterator[Finding]:
        """Yield where the rows of the store say otherwise than the lineage."""
        try:
            yield from self._compare_with_store()
        except BrainError as error:
            yield Finding(error.code, "error", "", "", error.message)

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
