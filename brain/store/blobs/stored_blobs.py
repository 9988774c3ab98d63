"""Compare blobs that are to be stored with the rows that are there already.

A row proves nothing: somebody who knew what would be recorded may have planted it, or a disk may
have damaged it. So a blob counts as stored only if the content of its row was read and is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...digest import blob_id
from ...errors import StoreError
from ..connection import Connection
from ..protocol import BlobRow
from ..schema import typed_columns
from .codec import CODEC_CHUNK_LIST, MAX_ROW_CONTENT_BYTES, BlobDecoder

_ROWS_PER_BATCH = 256
"""Rows read at a time; their content is held in memory."""
_BLOB_COLUMNS = typed_columns("id BLOB, codec INTEGER, data BLOB")
_ROWS_SQL = (
    f"SELECT {_BLOB_COLUMNS} FROM blobs WHERE id IN ({{keys}})"
    f" AND codec != {CODEC_CHUNK_LIST} AND length(data) <= {MAX_ROW_CONTENT_BYTES}"
)


def select_new_blobs(
    db: Connection, decoder: BlobDecoder, batch: list[tuple[bytes, bytes]]
) -> list[tuple[bytes, bytes]]:
    """Return those small blobs of a batch, once each, that are not stored intact."""
    new = dict(batch)
    for rows in _read_rows(db, list(new)):
        for id, content in decoder.plan_decoding(rows)():
            if content == new[id]:
                del new[id]
    return list(new.items())


def select_differing_rows(
    db: Connection, decoder: BlobDecoder, rows: list[BlobRow]
) -> list[BlobRow]:
    """Return those rows of small blobs, once each, that are not stored intact.

    A stored row may be packed differently.
    """
    differing = {row[0]: row for row in rows}
    for stored in _read_rows(db, list(differing)):
        repacked = []
        for row in stored:
            if row == differing[row[0]]:
                del differing[row[0]]
            else:
                repacked.append(row)
        for id, content in decoder.plan_decoding(repacked)():
            if not isinstance(content, StoreError) and blob_id(content) == id:
                del differing[id]
    return list(differing.values())


def _read_rows(db: Connection, ids: Sequence[bytes]) -> Iterator[list[BlobRow]]:
    """Yield the rows under `ids` that may hold a small blob, some at a time."""
    for start in range(0, len(ids), _ROWS_PER_BATCH):
        batch = ids[start : start + _ROWS_PER_BATCH]
        rows = [(id, codec, data) for id, codec, data in db.fetch_by_keys(_ROWS_SQL, batch)]
        if rows:
            yield rows
