"""The table `redactions`: blobs whose content was destroyed, and the snapshot that records it.

The rows stay for good, so that the content is known when it comes back, and refused.
They are an index and prove nothing: a row counts only if the snapshot it names hashes to
its id, says that it redacted that blob, and a ref leads to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from ..errors import BrainError, Conflict, NotFound, StoreError, printable_text
from ..objects import lineage, operation
from ..objects import snapshot as snapshots
from ..objects.snapshot import Snapshot
from . import checksums, ref_table
from .connection import Connection, ConnectionHolder
from .protocol import ObjectKind
from .schema import typed_columns

_SNAPSHOT_CACHE_SIZE = 4096
"""Snapshots kept decoded while it is asked whether rows count."""
_REDACTION_COLUMNS = typed_columns("blob BLOB, snapshot BLOB, checksum BLOB")

ReadSnapshotData = Callable[[bytes], bytes | None]
"""Returns the bytes of a snapshot, None if it is not here."""


class RedactionReader(ConnectionHolder):
    """The part of `Reader` that deals with redactions.

    `_made` are those of this very transaction, whose refs will lead to them once it ends.
    `_judged` are the refs when it was last asked whether rows count, and the answers.
    """

    _new_redactions: Mapping[bytes, bytes] = {}
    _validity_cache: tuple[frozenset[bytes], dict[tuple[bytes, bytes], bool]] | None = None

    def find_redactions(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        return self._find_valid_redactions(self._db, blobs)

    def list_redaction_rows(self) -> dict[bytes, bytes]:
        rows = self._db.fetch_all(f"SELECT {_REDACTION_COLUMNS} FROM redactions ORDER BY blob")
        if rows and ref_table.REDACTIONS_FACT not in self._current_facts():
            raise _corrupt_redaction_error("the store has redactions, which it does not count")
        return dict(_check_row(*row) for row in rows)

    def _current_facts(self) -> dict[str, bytes]:
        return ref_table.load_facts(self._db)

    def _find_valid_redactions(self, db: Connection, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        sql = f"SELECT {_REDACTION_COLUMNS} FROM redactions WHERE blob IN ({{keys}})"
        rows = dict(_check_row(*row) for row in db.fetch_by_keys(sql, blobs))
        if not rows:
            return rows
        refs = frozenset(ref_table.select_refs(self._current_facts()).values())
        if self._validity_cache is None or self._validity_cache[0] != refs:
            self._validity_cache = refs, {}
        cached = self._validity_cache[1]
        unchecked = {
            blob: recorded_by
            for blob, recorded_by in rows.items()
            if (blob, recorded_by) not in cached
        }
        if unchecked:
            valid = select_valid_redactions(
                lambda recorded_by: _read_snapshot_data(db, recorded_by),
                refs,
                unchecked,
                self._new_redactions,
            )
            cached.update(
                ((blob, recorded_by), blob in valid) for blob, recorded_by in unchecked.items()
            )
        return {
            blob: recorded_by for blob, recorded_by in rows.items() if cached[blob, recorded_by]
        }

    def _redacted_error(self, blob: bytes) -> NotFound | None:
        """Return the error for a blob that is not here because it was redacted, else None."""
        snapshot = self.find_redactions([blob]).get(blob)
        return (
            redacted_content_error(blob, snapshot, _read_snapshot_data(self._db, snapshot))
            if snapshot
            else None
        )

    def _refuse_redacted_blobs(self, db: Connection, blobs: Iterable[bytes]) -> None:
        """Raise `Conflict` (`redacted`) if one of `blobs` was redacted."""
        for blob, snapshot in self._find_valid_redactions(db, list(blobs)).items():
            raise redacted_conflict_error(blob, snapshot, _read_snapshot_data(db, snapshot))


def select_valid_redactions(
    read_snapshot_data: ReadSnapshotData,
    refs: Collection[bytes],
    rows: Mapping[bytes, bytes],
    new_redactions: Mapping[bytes, bytes],
) -> dict[bytes, bytes]:
    """Return those rows, blob to snapshot, that count: see above. `made` do in any case."""

    @lru_cache(_SNAPSHOT_CACHE_SIZE)
    def load(snapshot_id: bytes) -> Snapshot:
        found = read_snapshot_data(snapshot_id)
        if found is None or snapshots.snapshot_id(found) != snapshot_id:
            raise NotFound(f"no snapshot {snapshot_id.hex()}", code="missing_object")
        return snapshots.decode_snapshot(found)

    def says_so(blob: bytes, snapshot_id: bytes) -> bool:
        try:
            return operation.redacted_blob(load(snapshot_id).operation) == blob
        except BrainError:
            return False

    claimed = {
        blob: recorded_by for blob, recorded_by in rows.items() if says_so(blob, recorded_by)
    }
    unchecked = {
        recorded_by
        for blob, recorded_by in claimed.items()
        if new_redactions.get(blob) != recorded_by
    }
    reachable = lineage.filter_ancestors(load, refs, unchecked) if unchecked else set()
    return {b: s for b, s in claimed.items() if s in reachable or new_redactions.get(b) == s}


def put_redaction_row(db: Connection, blob: bytes, snapshot: bytes) -> None:
    """Note a redaction, in place of what was noted of that blob before."""
    db.execute(
        "INSERT OR REPLACE INTO redactions (blob, snapshot, checksum) VALUES (?, ?, ?)",
        (blob, snapshot, checksums.row_checksum(blob, snapshot)),
    )


def redacted_content_error(
    blob: bytes, snapshot: bytes, read_snapshot_data: bytes | None
) -> NotFound:
    """Return the error for reading a redacted blob; `data` is the snapshot, if it is here."""
    return NotFound(
        f"the content of blob {blob.hex()} {_describe_redaction(snapshot, read_snapshot_data)}",
        code="redacted",
        hint="it was destroyed; only its id is left",
    )


def redacted_conflict_error(
    blob: bytes, snapshot: bytes, read_snapshot_data: bytes | None
) -> Conflict:
    """Return the error for keeping a redacted blob again; `data` as for `gone`."""
    return Conflict(
        f"the content of blob {blob.hex()} would come back,"
        f" which {_describe_redaction(snapshot, read_snapshot_data)}",
        code="redacted",
        hint="take out of the file what was redacted, or name the file in .brainignore",
    )


def _describe_redaction(snapshot: bytes, read_snapshot_data: bytes | None) -> str:
    """Say who redacted when and why, as far as that is known."""
    if read_snapshot_data is None:
        return f"was redacted by snapshot {snapshot.hex()[:12]}"
    from datetime import UTC, datetime

    cached = snapshots.decode_snapshot(read_snapshot_data)
    day = datetime.fromtimestamp(cached.time / 1000, UTC).date().isoformat()
    who = f" by {printable_text(cached.author, 80)}" if cached.author else ""
    why = f": {printable_text(cached.operation[3])}" if cached.operation[0] == "redact" else ""
    return f"was redacted{who} on {day}, snapshot {snapshot.hex()[:12]}{why}"


def _read_snapshot_data(db: Connection, snapshot: bytes) -> bytes | None:
    sql = f"SELECT {typed_columns('data BLOB')} FROM objects WHERE id = ? AND kind = ?"
    row = db.fetch_one(sql, (snapshot, ObjectKind.SNAPSHOT))
    return row[0] if row else None


def _check_row(blob: bytes, snapshot: bytes, expected: bytes) -> tuple[bytes, bytes]:
    if checksums.row_checksum(blob, snapshot) != expected:
        raise _corrupt_redaction_error("the note of a redaction does not fit its checksum")
    return blob, snapshot


def _corrupt_redaction_error(what: str) -> StoreError:
    return StoreError(what, code="corrupt_redaction", hint="restore the folder .brain from a copy")
