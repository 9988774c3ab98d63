"""The sweep of a garbage collection: remove unmarked objects, then give their space back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import StoreError
from .blobs.codec import CODEC_CHUNK_LIST
from .connection import Connection
from .protocol import ObjectKind
from .schema import typed_columns

if TYPE_CHECKING:
    from .sqlite_transaction import SqliteTransaction

_CHUNK_LIST_COLUMNS = typed_columns("id BLOB, data BLOB")
_SWEEP_ORDER = (ObjectKind.SNAPSHOT, ObjectKind.BUNDLE, ObjectKind.NODE)
"""What refers to others goes first, so that nothing ever refers to what is gone."""


def incomplete_store_error(what: str) -> StoreError:
    """Return the error for a store that lacks something which it needs."""
    return StoreError(
        f"nothing was removed, for the store is not whole: {what}",
        code="incomplete",
        hint="see `brain verify --deep`, and restore the folder .brain from a copy",
    )


def sweep_unmarked(txn: SqliteTransaction, marked: set[bytes], max_count: int) -> int:
    """Remove at most so many objects that are not `kept`; see `Transaction.sweep`."""
    db = txn._db
    needed = marked | _find_chunks(txn, marked)
    objects = list(islice(_unmarked_objects(db, needed), max_count))
    blobs = list(islice(_unmarked_blobs(db, needed), max_count - len(objects)))
    db.execute_many("DELETE FROM objects WHERE number = ?", objects)
    db.execute_many("DELETE FROM blobs WHERE number = ?", blobs)
    if objects or blobs:
        _delete_orphaned_signatures(db)
    return len(objects) + len(blobs)


def _find_chunks(txn: SqliteTransaction, marked: set[bytes]) -> set[bytes]:
    """Return the chunks and prefixes, all the way down, that large blobs among `kept` have."""
    rows = txn._db.fetch_all(
        f"SELECT {_CHUNK_LIST_COLUMNS} FROM blobs WHERE codec = ?", (CODEC_CHUNK_LIST,)
    )
    chunk_lists = {id: txn._decode_chunk_list(id, data) for id, data in rows}
    parts: set[bytes] = set()
    stack = [id for id in chunk_lists if id in marked]
    while stack:
        chunk_list = chunk_lists[stack.pop()]
        parts.update(chunk_list.chunks)
        if chunk_list.depth and chunk_list.prefix not in parts:
            parts.add(chunk_list.prefix)
            if chunk_list.prefix in chunk_lists:
                stack.append(chunk_list.prefix)
    if missing := txn.find_missing(parts):
        raise incomplete_store_error(f"chunk {min(missing).hex()} is missing")
    return parts


def _unmarked_objects(db: Connection, marked: set[bytes]) -> Iterator[tuple[int]]:
    sql = f"SELECT number, {typed_columns('id BLOB')} FROM objects WHERE kind = ? ORDER BY number DESC"
    for kind in _SWEEP_ORDER:
        yield from [(number,) for number, id in db.stream_rows(sql, (kind,)) if id not in marked]


def _unmarked_blobs(db: Connection, marked: set[bytes]) -> Iterator[tuple[int]]:
    sql = f"SELECT number, {typed_columns('id BLOB')} FROM blobs ORDER BY number DESC"
    yield from [(number,) for number, id in db.stream_rows(sql) if id not in marked]


def _delete_orphaned_signatures(db: Connection) -> None:
    """Drop what was noted about objects that are gone."""
    db.execute("DELETE FROM signatures WHERE snapshot NOT IN (SELECT id FROM objects)")


def compact_database(db: Connection, path: str) -> bool:
    """Give free pages back and leave no old page behind; see `Store.compact`."""
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
    db.execute("PRAGMA temp_store=FILE")  # it takes as much as the store
    try:
        db.execute("VACUUM")
    finally:
        db.execute("PRAGMA temp_store=MEMORY")


def _has_free_space(path: str) -> bool:
    """Tell whether the store fits on its disk twice more: in a file aside, and in the log."""
    return shutil.disk_usage(os.path.dirname(path)).free > 2 * os.stat(path).st_size
