"""Redactions: whose content was destroyed on purpose, and which snapshot says so.

The rows stay for good, so that the content is known when it comes back, and refused.
They are an index and prove nothing: a row counts only if the snapshot it names hashes to
its id, says that it redacted that blob, and a ref leads to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from ..errors import BrainError, Conflict, NotFound, StoreError, printable
from ..objects import lineage, operation
from ..objects import snapshot as snapshots
from ..objects.snapshot import Snapshot
from . import facts, sums
from .connection import Connected, Connection
from .protocol import Kind
from .schema import columns

_KEPT = 4096
"""Snapshots kept decoded while it is asked whether rows count."""
_ROW = columns("blob BLOB, snapshot BLOB, checksum BLOB")

Data = Callable[[bytes], bytes | None]
"""Returns the bytes of a snapshot, None if it is not here."""


class RedactionReader(Connected):
    """The part of `Reader` that deals with redactions.

    `_made` are those of this very transaction, whose refs will lead to them once it ends.
    `_judged` are the refs when it was last asked whether rows count, and the answers.
    """

    _made: Mapping[bytes, bytes] = {}
    _judged: tuple[frozenset[bytes], dict[tuple[bytes, bytes], bool]] | None = None

    def redacted(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        """See `Reader.redacted`."""
        return self._counted(self._db, blobs)

    def all_redacted(self) -> dict[bytes, bytes]:
        """See `Reader.all_redacted`."""
        rows = self._db.all(f"SELECT {_ROW} FROM redactions ORDER BY blob")
        if rows and facts.REDACTIONS not in self._facts():
            raise _corrupt("the store has redactions, which it does not count")
        return dict(_proven(*row) for row in rows)

    def _facts(self) -> dict[str, bytes]:
        return facts.load(self._db)

    def _counted(self, db: Connection, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        sql = f"SELECT {_ROW} FROM redactions WHERE blob IN ({{keys}})"
        rows = dict(_proven(*row) for row in db.among(sql, blobs))
        if not rows:
            return rows
        refs = frozenset(facts.refs(self._facts()).values())
        if self._judged is None or self._judged[0] != refs:
            self._judged = refs, {}
        known = self._judged[1]
        asked = {blob: here for blob, here in rows.items() if (blob, here) not in known}
        if asked:
            counting = counted(lambda here: _snapshot(db, here), refs, asked, self._made)
            known.update(((blob, here), blob in counting) for blob, here in asked.items())
        return {blob: here for blob, here in rows.items() if known[blob, here]}

    def _lost(self, blob: bytes) -> NotFound | None:
        """Return the error for a blob that is not here because it was redacted, else None."""
        snapshot = self.redacted([blob]).get(blob)
        return gone(blob, snapshot, _snapshot(self._db, snapshot)) if snapshot else None

    def _refuse(self, db: Connection, blobs: Iterable[bytes]) -> None:
        """Raise `Conflict` (`redacted`) if one of `blobs` was redacted."""
        for blob, snapshot in self._counted(db, list(blobs)).items():
            raise unwelcome(blob, snapshot, _snapshot(db, snapshot))


def counted(
    data: Data, refs: Collection[bytes], rows: Mapping[bytes, bytes], made: Mapping[bytes, bytes]
) -> dict[bytes, bytes]:
    """Return those rows, blob to snapshot, that count: see above. `made` do in any case."""

    @lru_cache(_KEPT)
    def load(snapshot_id: bytes) -> Snapshot:
        found = data(snapshot_id)
        if found is None or snapshots.snapshot_id(found) != snapshot_id:
            raise NotFound(f"no snapshot {snapshot_id.hex()}", code="missing_object")
        return snapshots.decode(found)

    def says_so(blob: bytes, snapshot_id: bytes) -> bool:
        try:
            return operation.redacted_blob(load(snapshot_id).operation) == blob
        except BrainError:
            return False

    saying = {blob: here for blob, here in rows.items() if says_so(blob, here)}
    asked = {here for blob, here in saying.items() if made.get(blob) != here}
    led_to = lineage.among_ancestors(load, refs, asked) if asked else set()
    return {b: s for b, s in saying.items() if s in led_to or made.get(b) == s}


def note(db: Connection, blob: bytes, snapshot: bytes) -> None:
    """Note a redaction, in place of what was noted of that blob before."""
    db.run(
        "INSERT OR REPLACE INTO redactions (blob, snapshot, checksum) VALUES (?, ?, ?)",
        (blob, snapshot, sums.of_fields(blob, snapshot)),
    )


def gone(blob: bytes, snapshot: bytes, data: bytes | None) -> NotFound:
    """Return the error for reading a redacted blob; `data` is the snapshot, if it is here."""
    return NotFound(
        f"the content of blob {blob.hex()} {_words(snapshot, data)}",
        code="redacted",
        hint="it was destroyed; only its id is left",
    )


def unwelcome(blob: bytes, snapshot: bytes, data: bytes | None) -> Conflict:
    """Return the error for keeping a redacted blob again; `data` as for `gone`."""
    return Conflict(
        f"the content of blob {blob.hex()} would come back, which {_words(snapshot, data)}",
        code="redacted",
        hint="take out of the file what was redacted, or name the file in .brainignore",
    )


def _words(snapshot: bytes, data: bytes | None) -> str:
    """Say who redacted when and why, as far as that is known."""
    if data is None:
        return f"was redacted by snapshot {snapshot.hex()[:12]}"
    from datetime import UTC, datetime

    known = snapshots.decode(data)
    day = datetime.fromtimestamp(known.time / 1000, UTC).date().isoformat()
    who = f" by {printable(known.author, 80)}" if known.author else ""
    why = f": {printable(known.operation[3])}" if known.operation[0] == "redact" else ""
    return f"was redacted{who} on {day}, snapshot {snapshot.hex()[:12]}{why}"


def _snapshot(db: Connection, snapshot: bytes) -> bytes | None:
    sql = f"SELECT {columns('data BLOB')} FROM objects WHERE id = ? AND kind = ?"
    row = db.one(sql, (snapshot, Kind.SNAPSHOT))
    return row[0] if row else None


def _proven(blob: bytes, snapshot: bytes, expected: bytes) -> tuple[bytes, bytes]:
    if sums.of_fields(blob, snapshot) != expected:
        raise _corrupt("the note of a redaction does not fit its checksum")
    return blob, snapshot


def _corrupt(what: str) -> StoreError:
    return StoreError(what, code="corrupt_redaction", hint="restore the folder .brain from a copy")
