"""The table `redactions`: blobs whose content was destroyed, and the snapshot that records it.

The rows are never removed, so that the same content is refused later. They are an index and
prove nothing: a row is valid only if its snapshot hashes to its id and redacts that blob, and
a ref leads to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial

from ..errors import BrainError, Conflict, NotFound, StoreError, printable_text
from ..objects import lineage, operation
from ..objects import snapshot as snapshots
from ..objects.snapshot import Snapshot
from . import ref_table
from . import rows as checksums
from .connection import Connection
from .database import typed_columns
from .rows import ObjectKind

_SNAPSHOT_CACHE_SIZE = 4096
"""Decoded snapshots that are cached while rows are validated."""
_REDACTION_COLUMNS = typed_columns("blob BLOB, snapshot BLOB, checksum BLOB")

ReadSnapshotData = Callable[[bytes], bytes | None]
"""Returns the bytes of a snapshot, None if it is missing."""


class RedactionReader(ref_table.FactReader):
    """The methods of `StoreReader` for redactions.

    `_new_redactions` are those of this transaction, whose refs will lead to them.
    `_validity_cache` holds the refs at the last validation, and its results.
    """

    _new_redactions: Mapping[bytes, bytes] = {}
    _validity_cache: tuple[frozenset[bytes], dict[tuple[bytes, bytes], bool]] | None = None

    def find_redactions(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        return self._find_valid_redactions(self._db, blobs)

    def list_redaction_rows(self) -> dict[bytes, bytes]:
        rows = self._db.fetch_all(f"SELECT {_REDACTION_COLUMNS} FROM redactions ORDER BY blob")
        if rows and ref_table.REDACTIONS_FACT not in self._current_facts():
            raise _corrupt_redaction_error("the store has redactions, but its facts count none")
        return dict(_check_row(*row) for row in rows)

    def _find_valid_redactions(self, db: Connection, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        sql = f"SELECT {_REDACTION_COLUMNS} FROM redactions WHERE blob IN ({{keys}})"
        rows = dict(_check_row(*row) for row in db.fetch_by_keys(sql, blobs))
        if not rows:
            return rows
        refs = frozenset(ref_table.select_refs(self._current_facts()).values())
        if self._validity_cache is None or self._validity_cache[0] != refs:
            self._validity_cache = refs, {}
        cached = self._validity_cache[1]
        unchecked = {blob: id for blob, id in rows.items() if (blob, id) not in cached}
        if unchecked:
            valid = select_valid_redactions(
                partial(_read_snapshot_data, db), refs, unchecked, self._new_redactions
            )
            cached.update(((blob, id), blob in valid) for blob, id in unchecked.items())
        return {blob: id for blob, id in rows.items() if cached[blob, id]}

    def _redacted_error(self, blob: bytes) -> NotFound | None:
        """Return the error for a blob that was redacted, else None."""
        snapshot = self.find_redactions([blob]).get(blob)
        if snapshot is None:
            return None
        return redacted_content_error(blob, snapshot, _read_snapshot_data(self._db, snapshot))

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
    """Return the valid rows, from blob to snapshot; `new_redactions` need no ref."""

    @lru_cache(_SNAPSHOT_CACHE_SIZE)
    def load(snapshot_id: bytes) -> Snapshot:
        data = read_snapshot_data(snapshot_id)
        if data is None or snapshots.snapshot_id(data) != snapshot_id:
            raise NotFound(
                f"there is no snapshot {snapshot_id.hex()} in the store",
                code="missing_object",
                hint="run `brain verify`, and restore the folder .brain from a copy",
            )
        return snapshots.decode_snapshot(data)

    def redacts(snapshot_id: bytes, blob: bytes) -> bool:
        try:
            return operation.redacted_blob(load(snapshot_id).operation) == blob
        except BrainError:
            return False

    claimed = {blob: id for blob, id in rows.items() if redacts(id, blob)}
    unchecked = {id for blob, id in claimed.items() if new_redactions.get(blob) != id}
    reachable = lineage.filter_ancestors(load, refs, unchecked) if unchecked else set()
    return {
        blob: id
        for blob, id in claimed.items()
        if id in reachable or new_redactions.get(blob) == id
    }


def put_redaction_row(db: Connection, blob: bytes, snapshot: bytes) -> None:
    """Record a redaction, replacing any other of that blob."""
    db.execute(
        "INSERT OR REPLACE INTO redactions (blob, snapshot, checksum) VALUES (?, ?, ?)",
        (blob, snapshot, checksums.row_checksum(blob, snapshot)),
    )


def redacted_content_error(blob: bytes, snapshot: bytes, data: bytes | None) -> NotFound:
    """Return the error for reading a redacted blob; `data` is the snapshot, if stored."""
    return NotFound(
        f"the content of blob {blob.hex()} {_describe_redaction(snapshot, data)}",
        code="redacted",
        hint="it was destroyed; only its id is left",
    )


def redacted_conflict_error(blob: bytes, snapshot: bytes, data: bytes | None) -> Conflict:
    """Return the error for storing a redacted blob; `data` is the snapshot, if stored."""
    return Conflict(
        f"the content of blob {blob.hex()} {_describe_redaction(snapshot, data)},"
        " and is not stored again",
        code="redacted",
        hint="remove the redacted content from the file, or name the file in .brainignore",
    )


def _describe_redaction(snapshot_id: bytes, data: bytes | None) -> str:
    if data is None:
        return f"was redacted by snapshot {snapshot_id.hex()[:12]}"
    from datetime import UTC, datetime

    snapshot = snapshots.decode_snapshot(data)
    day = datetime.fromtimestamp(snapshot.time / 1000, UTC).date().isoformat()
    by = f" by {printable_text(snapshot.author, 80)}" if snapshot.author else ""
    why = f": {printable_text(snapshot.operation[3])}" if snapshot.operation[0] == "redact" else ""
    return f"was redacted{by} on {day}, snapshot {snapshot_id.hex()[:12]}{why}"


def _read_snapshot_data(db: Connection, snapshot: bytes) -> bytes | None:
    sql = f"SELECT {typed_columns('data BLOB')} FROM objects WHERE id = ? AND kind = ?"
    row = db.fetch_one(sql, (snapshot, ObjectKind.SNAPSHOT))
    return row[0] if row else None


def _check_row(blob: bytes, snapshot: bytes, expected: bytes) -> tuple[bytes, bytes]:
    if checksums.row_checksum(blob, snapshot) != expected:
        raise _corrupt_redaction_error("a redaction does not fit its checksum")
    return blob, snapshot


def _corrupt_redaction_error(what: str) -> StoreError:
    return StoreError(what, code="corrupt_redaction", hint="restore the folder .brain from a copy")
