"""One write transaction on the store on disk."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from .. import limits
from ..digest import blob_id
from ..errors import BrainError, InvalidInput, StoreError
from . import high_water_mark, operation_log, pending_table, ref_table, signature_table
from .blobs.chunk_list import ChunkList, encode_chunk_list
from .blobs.codec import CODEC_CHUNK_LIST, CODEC_RAW, INSERT_BLOB_SQL, REPLACE_BLOB_SQL
from .connection import MAX_WAL_BYTES, Connection
from .object_table import object_checksum
from .protocol import LARGE_BLOB_BYTES, BlobPacking, BlobSource, FindStandalone, PendingWrite
from .sqlite_reader import SqliteReader

MIN_COMPRESSED_BATCH_BYTES = 256 << 10
"""Smallest batch that is compressed."""


class SqliteTransaction(SqliteReader):
    """One write transaction, used as a context: a `StoreTransaction`."""

    def __init__(self, db: Connection, path: str) -> None:
        super().__init__(db, path)
        self._facts_before: dict[str, bytes] = {}
        self._facts_now: dict[str, bytes] = {}

    def __enter__(self) -> Self:
        if self._db.in_transaction:
            raise StoreError(
                "a transaction of this store is open already",
                code="transaction_open",
                hint="end it first: transactions are not nested",
            )
        try:
            self._begin()
        except BaseException:
            self._roll_back()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._roll_back()
            return
        try:
            self._commit()
        except BaseException:
            self._roll_back()
            raise

    def _begin(self) -> None:
        self._db.begin()
        self._load_facts()

    def _load_facts(self) -> None:
        self._facts_before = ref_table.load_facts(self._db)
        self._facts_now = dict(self._facts_before)
        marked_head = high_water_mark.read_mark(self._path)
        high_water_mark.check_operations_not_lost(marked_head, self._log_head_at_mark(marked_head))

    def _commit(self) -> None:
        ref_table.save_facts(self._db, self._facts_before, self._facts_now)
        self._db.commit()
        head = self._facts_now.get(ref_table.OPERATIONS_FACT, b"")
        if head != self._facts_before.get(ref_table.OPERATIONS_FACT, b""):
            high_water_mark.write_mark(self._path, head)
        self._truncate_wal()

    def _truncate_wal(self) -> None:
        """Checkpoint a long log now, since each opening of the store reads all of it.

        The transaction is durable already, so errors are ignored.
        """
        with suppress(StoreError, OSError):
            if os.stat(f"{self._path}-wal").st_size > MAX_WAL_BYTES:
                self._db.fetch_without_waiting("PRAGMA wal_checkpoint(TRUNCATE)")

    def _roll_back(self) -> None:
        self._db.roll_back()

    def _current_facts(self) -> dict[str, bytes]:
        return self._facts_now

    def put_object(self, kind: int, id: bytes, data: bytes) -> None:
        """See `StoreTransaction.put_object`; a differing row of that id is replaced."""
        self._db.execute(
            "INSERT INTO objects (id, kind, data, checksum) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, data = excluded.data,"
            " checksum = excluded.checksum"
            " WHERE data IS NOT excluded.data OR kind IS NOT excluded.kind"
            " OR checksum IS NOT excluded.checksum",
            (id, kind, data, object_checksum(id, kind, data)),
        )

    def put_blob(self, content: bytes) -> bytes:
        if len(content) >= LARGE_BLOB_BYTES:
            return self.put_blob_stream(io.BytesIO(content), len(content), None)
        id = blob_id(content)
        self.put_blobs([(id, content)])
        return id

    def put_blobs(self, batch: list[tuple[bytes, bytes]]) -> None:
        small = [row for row in batch if len(row[1]) < LARGE_BLOB_BYTES]
        if len(small) < len(batch):
            for _, content in batch:
                if len(content) >= LARGE_BLOB_BYTES:
                    self.put_blob(content)
        self._insert_blobs(small)

    def get_packing(self, samples: list[bytes]) -> BlobPacking | None:
        return None

    def put_blob_stream(self, source: BlobSource, size: int, base: bytes | None) -> bytes:
        from .blobs import large_blob_writer

        return large_blob_writer.write_large_blob(self, source, size, base)

    def put_chunk_list(self, id: bytes, chunk_list: ChunkList) -> None:
        """Store a large blob whose chunks are stored.

        Another list is kept if it makes the blob: others may name it as their prefix.
        """
        if chunk_list.size > limits.MAX_FILE_BYTES:
            raise InvalidInput(
                f"a file has {chunk_list.size} bytes; at most {limits.MAX_FILE_BYTES} are allowed",
                code="too_large",
                hint="split it, or name it in .brainignore",
            )
        self._refuse_redacted_rows([(id,)])
        db, row = self._db, (id, CODEC_CHUNK_LIST, encode_chunk_list(id, chunk_list))
        before = db.total_changes
        db.execute(INSERT_BLOB_SQL, row)
        if db.total_changes == before and self._fetch_blob_row(id) != row[1:]:
            try:
                for _ in self.stream_blob(id, chunk_list.size):
                    pass
            except BrainError:
                db.execute(REPLACE_BLOB_SQL, row)

    def put_chunks(self, batch: list[tuple[bytes, bytes]]) -> None:
        """Store chunks of a large blob, given as (id, content)."""
        self._insert_blobs(batch)

    def _insert_blobs(self, batch: list[tuple[bytes, bytes]]) -> None:
        """Insert blobs, compressed if there are enough to justify loading Zstandard."""
        self._refuse_redacted_rows(batch)
        db = self._db
        is_small = sum(len(content) for _, content in batch) < MIN_COMPRESSED_BATCH_BYTES
        if is_small:
            before = db.total_changes
            db.execute_many(INSERT_BLOB_SQL, [(id, CODEC_RAW, content) for id, content in batch])
            if db.total_changes - before == len(batch):
                return
        from .blobs.stored_blobs import select_new_blobs

        new = select_new_blobs(db, self._decoder, batch)
        if is_small:
            rows = [(id, CODEC_RAW, content) for id, content in new]
        else:
            from .blobs.encoder import BlobEncoder

            rows = BlobEncoder(db).packer.pack(new)
        db.execute_many(REPLACE_BLOB_SQL, rows)

    def _refuse_redacted_rows(self, rows: Sequence[tuple[bytes, *tuple[Any, ...]]]) -> None:
        """Refuse rows of redacted blobs; each row begins with the id of its blob."""
        if ref_table.REDACTIONS_FACT in self._facts_now:
            self._refuse_redacted_blobs(self._connection, [row[0] for row in rows])

    def update_ref(self, name: str, old: bytes | None, new: bytes | None) -> None:
        ref_table.compare_and_swap_ref(self._facts_now, name, old, new)

    def write_meta(self, key: str, value: bytes) -> None:
        self._facts_now[ref_table.META_PREFIX + key] = value

    def append_operation(self, data: bytes) -> bytes:
        number, previous = self._log_head()
        id = operation_log.chain_operation_id(previous, data)
        self._db.execute(
            "INSERT INTO operations (number, id, data) VALUES (?, ?, ?)", (number + 1, id, data)
        )
        self._facts_now[ref_table.OPERATIONS_FACT] = operation_log.encode_log_head(number + 1, id)
        return id

    def put_signature(self, snapshot: bytes, key: bytes, signature: bytes) -> None:
        signature_table.put_signature_row(self._db, snapshot, key, signature)

    def redact_blob(self, blob: bytes, snapshot: bytes, find_standalone: FindStandalone) -> None:
        from . import redaction_table
        from .blobs import erase

        if self.has_object(blob):
            erase.erase_blob(self, blob, find_standalone, self.put_chunks)
        redaction_table.put_redaction_row(self._db, blob, snapshot)
        self._new_redactions = {**self._new_redactions, blob: snapshot}
        self._validity_cache = None
        ref_table.increment_counter(self._facts_now, ref_table.REDACTIONS_FACT)
        ref_table.increment_counter(self._facts_now, ref_table.EPOCH_FACT)
        self._facts_now[ref_table.COMPACTION_FACT] = b"\x01"

    def mark_compacted(self) -> None:
        """Record that no old page holds redacted content."""
        self._facts_now.pop(ref_table.COMPACTION_FACT, None)

    def sweep_objects(self, marked: set[bytes], max_count: int) -> int:
        from . import sweep

        ref_table.increment_counter(self._facts_now, ref_table.EPOCH_FACT)
        return sweep.sweep_unmarked(self, marked, max_count)

    def add_pending_writes(self, rows: Iterable[PendingWrite]) -> None:
        rows = list(rows)
        if ref_table.REDACTIONS_FACT in self._facts_now:
            for blob in self.find_redactions([row.blob for row in rows if row.blob]):
                raise self._missing_blob_error(blob)
        pending_table.put_pending_rows(self._db, rows)

    def remove_pending_writes(self, paths: Iterable[str]) -> None:
        pending_table.delete_pending_rows(self._db, paths)
