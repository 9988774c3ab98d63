"""Checks of redactions: what is missing is forgiven only if a snapshot says that it has to be.

The snapshots that the walk reached are asked, and not the rows of the store, which must
say the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..digest import EMPTY
from ..errors import BrainError
from ..objects import lineage, operation
from ..objects.snapshot import Snapshot
from ..results import Finding
from ..session import Session

_LOST = "missing_object"
_START, _END = "blob ", " is missing"


def missing_blob(blob: bytes) -> str:
    """Return the message of a finding (`missing_object`) about a blob that is not here."""
    return f"{_START}{blob.hex()}{_END}"


class Redactions:
    """What was redacted in one brain, fed with the walk over its lineage.

    With `strict` a redaction counts for a snapshot behind the head only if it is behind
    the head too: signatures are asked for there, and say nothing of other branches.
    """

    def __init__(self, session: Session, strict: bool) -> None:
        self._session = session
        self._strict = strict
        self._told: dict[bytes, list[bytes]] = {}
        self._origins: list[bytes] = []

    def meet(self, here: bytes, snapshot: Snapshot) -> None:
        """Take the next snapshot of the walk."""
        if blob := operation.redacted_blob(snapshot.operation):
            self._told.setdefault(blob, []).append(here)
        if snapshot.is_genesis and (origin := operation.origin(snapshot.operation)):
            self._origins.append(origin)

    def explained(self, finding: Finding) -> Finding:
        """Return what is to be told in place of a finding about a missing blob."""
        text = finding.message
        if finding.code != _LOST or not (text.startswith(_START) and text.endswith(_END)):
            return finding
        blob = bytes.fromhex(text[len(_START) : -len(_END)])
        self._read_origins()
        said = self._told.get(blob)
        if not said:
            return finding
        words = f"redacted by snapshot {said[0].hex()[:12]}"
        if self._strict and self._only_elsewhere(bytes.fromhex(finding.snapshot), said):
            message = f"{words} of another branch, which the head does not descend from"
            return finding._replace(code="redacted_elsewhere", message=message)
        return finding._replace(code="redacted", severity="note", message=f"{words}; its id stays")

    def _only_elsewhere(self, here: bytes, said: list[bytes]) -> bool:
        session = self._session
        behind = lineage.among_ancestors(session.load, [session.head()], {here, *said})
        return here in behind and behind.isdisjoint(said)

    def _read_origins(self) -> None:
        """Learn what was redacted before this brain was forked; what is not here says nothing."""
        while self._origins:
            start = self._origins.pop()
            try:
                for here, snapshot in lineage.history(self._session.load, start):
                    self.meet(here, snapshot)
            except BrainError:
                continue

    def findings(self) -> Iterator[Finding]:
        """Yield where the rows of the store say otherwise than the lineage."""
        try:
            yield from self._differing()
        except BrainError as error:
            yield Finding(error.code, "error", "", "", error.message)

    def _differing(self) -> Iterator[Finding]:
        reader = self._session.reader
        noted = reader.all_redacted()
        counting = reader.redacted(list(noted))
        for blob in sorted(noted.keys() - counting.keys()):
            message = f"the store calls blob {blob.hex()} redacted, which no snapshot says"
            yield Finding("false_redaction", "error", "", "", message)
        here = {blob: said[0].hex() for blob, said in self._told.items()}
        for blob in sorted(here.keys() - counting.keys()):
            message = f"redacts blob {blob.hex()}, which the store does not know"
            yield Finding("unknown_redaction", "error", here[blob], "", message)
        for blob in sorted(counting.keys() - reader.missing(counting) - {EMPTY}):
            message = f"blob {blob.hex()} was redacted, but is still here"
            yield Finding("not_destroyed", "warning", counting[blob].hex(), "", message)
