"""The sweep of a garbage collection: remove unmarked objects, then give their space back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import islice

from ..errors import StoreError
from .connection import Connection
from .protocol import ObjectKind
from .schema import typed_columns
from .sqlite_reader import SqliteReader

_SWEEP_ORDER = (ObjectKind.SNAPSHOT, ObjectKind.BUNDLE, ObjectKind.NODE)
"""Objects are removed before those they refer to, so that no reference ever dangles."""


def incomplete_store_error(what: str) -> StoreError:
    """Return the error for a store in which a needed object is missing."""
    return StoreError(
        f"nothing was removed, because the store is incomplete: {what}",
        code="incomplete",
        hint="see `brain verify --deep`, and restore the folder .brain from a copy",
    )


def sweep_unmarked(reader: SqliteReader, marked: set[bytes], max_count: int) -> int:
    """See `StoreTransaction.sweep_objects`; `reader` reads inside the open transaction."""
    db = reader._db
    needed = marked | _find_chunks(reader, marked)
    objects = list(islice(_unmarked_objects(db, needed), max_count))
    blobs = list(islice(_unmarked_blobs(db, needed), max_count - len(objects)))
    db.execute_many("DELETE FROM objects WHERE number = ?", objects)
    db.execute_many("DELETE FROM blobs WHERE number = ?", blobs)
    if objects or blobs:
        _delete_orphaned_signatures(db)
    return len(objects) + len(blobs)


def _find_chunks(reader: SqliteReader, marked: set[bytes]) -> set[bytes]:
    """Return all chunks and prefixes of the large blobs among `marked`."""
    chunk_lists = reader.load_chunk_lists()
    parts: set[bytes] = set()
    stack = [id for id in chunk_lists if id in marked]
    while stack:
        chunk_list = chunk_lists[stack.pop()]
        parts.update(chunk_list.chunks)
        if chunk_list.depth and chunk_list.prefix not in parts:
            parts.add(chunk_list.prefix)
            if chunk_list.prefix in chunk_lists:
                stack.append(chunk_list.prefix)
    if missing := reader.find_missing(parts):
        raise incomplete_store_error(f"chunk {min(missing).hex()} is missing")
    return parts


def _unmarked_objects(db: Connection, marked: set[bytes]) -> Iterator[tuple[int]]:
    columns = typed_columns("id BLOB")
    sql = f"SELECT number, {columns} FROM objects WHERE kind = ? ORDER BY number DESC"
    for kind in _SWEEP_ORDER:
        yield from [(number,) for number, id in db.stream_rows(sql, (kind,)) if id not in marked]


def _unmarked_blobs(db: Connection, marked: set[bytes]) -> Iterator[tuple[int]]:
    sql = f"SELECT number, {typed_columns('id BLOB')} FROM blobs ORDER BY number DESC"
    yield from [(number,) for number, id in db.stream_rows(sql) if id not in marked]


def _delete_orphaned_signatures(db: Connection) -> None:
    db.execute("DELETE FROM signatures WHERE snapshot NOT IN (SELECT id FROM objects)")


def compact_database(db: Connection, path: str) -> bool:
    """Rewrite the database without free pages and empty its log; see `Store.compact`."""
    try:
        rewritten = _has_free_space(path)
        if rewritten:
            _vacuum(db)
        ((busy, _, _),) = db.fetch_all("PRAGMA wal_checkpoint(TRUNCATE)")
    except StoreError as error:
        if error.code != "no_space":
            raise
        return False
    return rewritten and not busy


def _vacuum(db: Connection) -> None:
    db.execute("PRAGMA temp_store=FILE")  # it takes as much space as the store
    try:
        db.execute("VACUUM")
    finally:
        db.execute("PRAGMA temp_store=MEMORY")


def _has_free_space(path: str) -> bool:
    """Tell whether the disk has room for two copies: a temporary file, and the log."""
    return shutil.disk_usage(os.path.dirname(path)).free > 2 * os.stat(path).st_size
