"""Read a store: objects, blobs, refs, the operation log, signatures and redactions.

Methods raise `NotFound` (`missing_object`, `redacted`) for missing and for redacted content, and
`StoreError` for damage (`corrupt_object`, `corrupt_ref`, `corrupt_operation`,
`corrupt_signature`, `corrupt_redaction`, `corrupt_pending`). Only one thread at a time may use a
store. While a transaction is open, only it may read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain, starmap
from typing import TYPE_CHECKING

from blake3 import blake3

from .. import limits
from ..digest import DIGEST_SIZE, NO_DIGEST, domain_hash, is_hex
from ..encoding import MAX_OBJECT_BYTES
from ..errors import (
    DAMAGED_STORE_HINT,
    DamagedStore,
    FormatError,
    InvalidInput,
    NotFound,
    StoreError,
    corrupt_object_error,
    printable_text,
)
from . import redactions, rows
from .blobs import (
    BLOB_COLUMNS,
    CODEC_CHUNK_LIST,
    BlobDecoder,
    ChunkList,
    check_content,
    decode_chunk_list,
)
from .connection import Connection, ContentVersion, describe_lost_operations, read_mark
from .database import (
    DATABASE_FILE_SUFFIXES,
    STORE_FILE_NAME,
    TRANSACTION_TIMEOUT,
    open_store_database,
    typed_columns,
)
from .rows import (
    LARGE_BLOB_BYTES,
    ObjectKind,
    ObjectRange,
    OperationRow,
    PendingWrite,
    StoredObject,
    row_checksum,
)

if TYPE_CHECKING:
    from pathlib import Path

MAX_SINGLE_LOOKUPS = 1024
"""Up to this many ids are looked up one by one, whatever the size of the store."""
ROWS_PER_BATCH = 256
"""Rows of blobs read at a time; content of one batch is held in memory."""
DEFAULT_CACHE_KIB = 2000
"""Page cache of a connection: the default of SQLite."""
BULK_CACHE_KIB = 8 << 10
"""Page cache of a check or a large load: holds the index of a hundred thousand blobs."""

_OBJECT_COLUMNS = typed_columns("id BLOB, kind INTEGER, data BLOB, checksum BLOB")
_OPERATION_COLUMNS = typed_columns("number INTEGER, id BLOB, data BLOB")
_PENDING_COLUMNS = typed_columns("path BLOB, kind INTEGER, blob BLOB, before BLOB, checksum BLOB")
_SIGNATURE_COLUMNS = typed_columns("snapshot BLOB, key BLOB, signature BLOB, checksum BLOB")
_REDACTION_COLUMNS = typed_columns("blob BLOB, snapshot BLOB, checksum BLOB")

_hash_operation = domain_hash("brain v1 operation")


class StoreReader:
    """An open store. `Store` in `writer` also writes it."""

    # Redactions of an open transaction, whose refs will lead to them.
    _new_redactions: Mapping[bytes, bytes] = {}
    # The refs at the last validation of redactions, and its results.
    _validity_cache: tuple[frozenset[bytes], dict[tuple[bytes, bytes], bool]] | None = None
    _facts_cache: tuple[ContentVersion | None, dict[str, bytes]] = None, {}

    def __init__(self, db: Connection, path: str) -> None:
        self._db = db
        self._path = path
        self._decoder = BlobDecoder(db)

    def close(self) -> None:
        """Close the store; closing twice does no harm."""
        self._db.close()

    def size_on_disk(self) -> int:
        """Return the size of all files of the store in bytes."""
        files = (self._path + side for side in DATABASE_FILE_SUFFIXES)
        return sum(os.stat(file).st_size for file in files if os.path.exists(file))

    def check_integrity(self) -> list[str]:
        """Return the faults that the integrity check of SQLite finds, and lost operations."""
        mark = read_mark(self._path)  # before the log, since others may write
        self._db.execute(f"PRAGMA cache_size=-{BULK_CACHE_KIB}")
        try:
            faults = [str(line) for (line,) in self._db.fetch_all("PRAGMA integrity_check")]
        finally:
            self._db.execute(f"PRAGMA cache_size=-{DEFAULT_CACHE_KIB}")
        if mark:
            faults.append(describe_lost_operations(mark, self._log_head_at(mark)))
        return [fault for fault in faults if fault not in ("ok", "")]

    @contextmanager
    def reopen_for_fork(self) -> Iterator[StoreReader]:
        """Open the store again in a forked child, which must not use an inherited connection."""
        from pathlib import Path

        with closing(open_store_reader(Path(self._path).parent)) as reader:
            yield reader

    # Structured objects: tree nodes, bundles and snapshots. They are stored uncompressed: they
    # are mostly digests, and commands that read only structure start faster without Zstandard.

    def read_object(self, kind: int, id: bytes) -> bytes:
        """Return a structured object; `FormatError` (`wrong_type`) if it is of another kind."""
        row = self._db.fetch_one(f"SELECT {_OBJECT_COLUMNS} FROM objects WHERE id = ?", (id,))
        if row is None:
            if kind != ObjectKind.BLOB and self.has_object(id):
                raise _wrong_kind_error(id)
            raise _missing_object_error(id)
        _, stored_kind, data, expected = row
        if rows.object_checksum(id, stored_kind, data) != expected:
            raise _checksum_error(id)
        if stored_kind != kind:
            raise _wrong_kind_error(id)
        return bytes(data)

    def has_object(self, id: bytes) -> bool:
        """Tell whether the store has an object of any kind."""
        sql = "SELECT 1 FROM objects WHERE id = ?1 UNION ALL SELECT 1 FROM blobs WHERE id = ?1"
        return self._db.fetch_one(sql, (id,)) is not None

    def find_missing(self, ids: Iterable[bytes]) -> set[bytes]:
        """Return those of `ids` that the store lacks."""
        remaining = set(ids)
        for table in ("blobs", "objects"):
            if self._db.should_scan(table, len(remaining), MAX_SINGLE_LOOKUPS):
                stored = self._db.stream_rows(f"SELECT id FROM {table}")
                remaining.difference_update(chain.from_iterable(stored))
            else:
                sql = f"SELECT id FROM {table} WHERE id IN ({{keys}})"
                remaining.difference_update(
                    id for (id,) in list(self._db.fetch_by_keys(sql, list(remaining)))
                )
        return remaining

    def find_snapshots(self, prefix: str) -> list[tuple[int, bytes]]:
        """Return (kind, id) of at most two snapshots whose hex id starts with `prefix`."""
        digits = 2 * DIGEST_SIZE
        if len(prefix) > digits or not is_hex(prefix):
            return []
        bounds = bytes.fromhex(prefix.ljust(digits, "0")), bytes.fromhex(prefix.ljust(digits, "f"))
        sql = "SELECT id FROM objects WHERE id BETWEEN ? AND ? AND kind = ? LIMIT 2"
        found = self._db.fetch_all(sql, (*bounds, ObjectKind.SNAPSHOT))
        return [(ObjectKind.SNAPSHOT, id) for (id,) in found]

    def count_objects(self) -> int:
        """Return the number of objects of all kinds, chunks included."""
        sql = "SELECT (SELECT count(*) FROM objects) + (SELECT count(*) FROM blobs)"
        ((total,),) = self._db.fetch_all(sql)
        return int(total)

    def stream_object_ids(self) -> Iterator[tuple[int, bytes]]:
        """Stream (kind, id) of all objects, blobs last; chunks of large blobs count as blobs."""
        columns = typed_columns("kind INTEGER, id BLOB")
        for kind, id in self._db.stream_rows(f"SELECT {columns} FROM objects"):
            yield kind, id
        for (id,) in self._db.stream_rows(f"SELECT {typed_columns('id BLOB')} FROM blobs"):
            yield ObjectKind.BLOB, id

    def stream_objects(self, kind: int) -> Iterator[tuple[bytes, bytes]]:
        """Stream (id, data) of one kind in the order of insertion."""
        sql = f"SELECT {_OBJECT_COLUMNS} FROM objects WHERE kind = ? ORDER BY number"
        for id, stored_kind, data, expected in self._db.stream_rows(sql, (kind,)):
            if rows.object_checksum(id, stored_kind, data) != expected:
                raise _checksum_error(id)
            yield id, data

    def split_objects(self, size: int, max_ranges: int) -> list[ObjectRange]:
        """Cut the structured objects into at most `max_ranges` ranges, in order.

        A range has about `size` objects, or more where there would be too many ranges.
        """
        return self._db.split_rows("objects", size, max_ranges)

    def read_object_range(self, object_range: ObjectRange) -> Iterator[StoredObject]:
        """Stream the objects of a range in the order of insertion."""
        sql = f"SELECT {_OBJECT_COLUMNS} FROM objects WHERE number BETWEEN ? AND ? ORDER BY number"
        for id, kind, data, expected in self._db.stream_rows(sql, object_range):
            is_intact = rows.object_checksum(id, kind, data) == expected
            yield kind, id, data if is_intact else _checksum_error(id)

    # Blobs. Content is checked against its id on every read.

    def blob_size(self, id: bytes) -> int:
        """Return the size of a blob; a small one is read, which proves its size."""
        codec, data = self._fetch_blob_row(id)
        if codec == CODEC_CHUNK_LIST:
            return read_chunk_list(id, data).size
        return len(self._decode_content(id, codec, data))

    def read_blob(self, id: bytes, size: int | None = None) -> bytes:
        """Return a whole blob after checking it against its id.

        If `size` is given, a large blob that claims another size is refused unread. Raises
        `InvalidInput` (`too_large`) above `limits.MAX_IN_MEMORY_BYTES`.
        """
        codec, data = self._fetch_blob_row(id)
        if codec != CODEC_CHUNK_LIST:
            return self._decode_content(id, codec, data)
        chunk_list = read_chunk_list(id, data, size)
        if chunk_list.size > limits.MAX_IN_MEMORY_BYTES:
            raise InvalidInput(
                f"blob {id.hex()} has {chunk_list.size} bytes, too many to read at once",
                code="too_large",
                hint=f"up to {limits.MAX_IN_MEMORY_BYTES} bytes are read as a whole",
            )
        return b"".join(self._stream_chunks(id, chunk_list))

    def stream_blob(self, id: bytes, size: int | None = None) -> Iterator[bytes]:
        """Stream a blob in pieces of at most `LARGE_BLOB_BYTES`; `size` as for `read_blob`.

        Each piece is checked against its own id, and the whole against `id` before the last one
        is yielded. Do not trust earlier pieces before the stream ends.
        """
        codec, data = self._fetch_blob_row(id)
        if codec == CODEC_CHUNK_LIST:
            yield from self._stream_chunks(id, read_chunk_list(id, data, size))
        else:
            yield self._decode_content(id, codec, data)

    def read_small_blobs(self, ids: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Stream (id, content) of the small blobs among `ids`, once each, in any order.

        Large blobs are skipped: use `stream_blob`.
        """
        wanted = list(dict.fromkeys(ids))
        for start in range(0, len(wanted), ROWS_PER_BATCH):
            batch = wanted[start : start + ROWS_PER_BATCH]
            sql = f"SELECT {BLOB_COLUMNS} FROM blobs WHERE id IN ({{keys}})"
            found = list(self._db.fetch_by_keys(sql, batch))
            for id in set(batch).difference(row[0] for row in found):
                if self._db.fetch_one("SELECT 1 FROM blobs WHERE id = ?", (id,)):
                    raise corrupt_object_error(id, "the index leads to another row")
                raise self._missing_blob_error(id)
            for id, codec, data in found:
                if codec == CODEC_CHUNK_LIST:  # a flipped bit in the codec would hide a small blob
                    read_chunk_list(id, data)
            small = [row for row in found if row[1] != CODEC_CHUNK_LIST]
            for id, content in self._decoder.decode_many(small):
                fails = isinstance(content, StoreError)
                yield id, self.read_blob(id) if fails else check_content(id, content)

    def _missing_blob_error(self, id: bytes) -> NotFound:
        snapshot = self.find_redactions([id]).get(id)
        if snapshot is None:
            return _missing_object_error(id)
        return redactions.redacted_content_error(id, snapshot, self._read_snapshot(snapshot))

    def _fetch_blob_row(self, id: bytes) -> tuple[int, bytes]:
        row = self._db.fetch_one(f"SELECT {BLOB_COLUMNS} FROM blobs WHERE id = ?", (id,))
        if row is None:
            raise self._missing_blob_error(id)
        return row[1], row[2]

    def _decode_content(self, id: bytes, codec: int, data: bytes) -> bytes:
        """Return the content of a row; read it again if a redaction changed it meanwhile."""
        try:
            return check_content(id, self._decoder.decode(id, codec, data))
        except StoreError:
            now = self._fetch_blob_row(id)
            if now == (codec, data):
                raise
            return check_content(id, self._decoder.decode(id, *now))

    def _fetch_chunk_list(self, id: bytes) -> ChunkList:
        codec, data = self._fetch_blob_row(id)
        if codec != CODEC_CHUNK_LIST:
            raise corrupt_object_error(id, "it has no chunk list")
        return read_chunk_list(id, data)

    def resolve_chunks(self, id: bytes, chunk_list: ChunkList) -> list[tuple[bytes, int]]:
        """Return (chunk, size) of a whole blob, with its prefixes resolved."""
        pieces = chunk_list.pieces
        while chunk_list.depth:
            below = self._fetch_chunk_list(chunk_list.prefix)
            if below.depth >= chunk_list.depth or below.size != chunk_list.prefix_size:
                raise corrupt_object_error(id, "its prefix does not fit")
            pieces, chunk_list = below.pieces + pieces, below
        return pieces

    def _stream_chunks(self, id: bytes, chunk_list: ChunkList) -> Iterator[bytes]:
        """Yield the chunks of a blob; the last one after checking the whole."""
        digest = blake3()
        last_chunk = b""
        for chunk, size in self.resolve_chunks(id, chunk_list):
            content = self._read_chunk(id, chunk, size)
            digest.update(content)
            if last_chunk:
                yield last_chunk
            last_chunk = content
        if digest.digest() != id:
            raise corrupt_object_error(id)
        yield last_chunk

    def _read_chunk(self, id: bytes, chunk: bytes, size: int) -> bytes:
        """Return a chunk of the blob `id`; a chunk is never a chunk list."""
        try:
            codec, data = self._fetch_blob_row(chunk)
        except NotFound as error:
            raise corrupt_object_error(id, f"its chunk {chunk.hex()} is missing") from error
        content = self._decode_content(chunk, codec, data)
        if len(content) != size:
            raise corrupt_object_error(id, "a chunk has the wrong size")
        return content

    # Facts: refs, small settings and counters. The table is small, so reading all of it costs
    # as much as one row, and one seal covers all: the loss of a row is noticed too.

    def _current_facts(self) -> dict[str, bytes]:
        """Return all facts by name, sorted; do not change them."""
        version = self._db.content_version  # before the facts, which others may change meanwhile
        if self._facts_cache[0] != version:
            self._facts_cache = version, load_facts(self._db)
        return self._facts_cache[1]

    def read_ref(self, name: str) -> bytes | None:
        """Return the value of a ref."""
        return self._current_facts().get(rows.REF_PREFIX + name)

    def list_refs(self) -> dict[str, bytes]:
        """Return all refs by name, sorted."""
        facts, start = self._current_facts(), len(rows.REF_PREFIX)
        names = sorted(name for name in facts if name.startswith(rows.REF_PREFIX))
        return {name[start:]: facts[name] for name in names}

    def read_meta(self, key: str) -> bytes | None:
        """Return a small fact, such as the id of the brain."""
        return self._current_facts().get(rows.META_PREFIX + key)

    def removal_epoch(self) -> int:
        """Return how often objects were removed from the store."""
        return int.from_bytes(self._current_facts().get(rows.EPOCH_FACT, b""), "big")

    def needs_compaction(self) -> bool:
        """Tell whether old pages may still hold redacted content, until `Store.compact`."""
        return rows.COMPACTION_FACT in self._current_facts()

    # The operation log, numbered from 1; each id hashes the one before. The latest number and id
    # are a fact, so that the loss of the latest rows is noticed.

    def operation_count(self) -> int:
        """Return the number of the latest operation, 0 if there is none."""
        return self._log_head()[0]

    def read_operation(self, number: int) -> OperationRow:
        """Return one operation of the checked log; `NotFound` (`missing_operation`)."""
        for row in self.stream_operations():
            if row.number == number:
                return row
        raise NotFound(
            f"there is no operation {number}",
            code="missing_operation",
            hint="`brain log --ops` lists the operations",
        )

    def stream_operations(self) -> Iterator[OperationRow]:
        """Stream the operations, newest first, checking the chain."""
        head = self._log_head()
        later: OperationRow | None = None
        found = self._db.stream_rows(
            f"SELECT {_OPERATION_COLUMNS} FROM operations WHERE number <= ? ORDER BY number DESC",
            (head[0],),
        )
        for row in starmap(_check_operation, found):
            if later is None:
                if (row.number, row.id) != head:
                    raise _broken_log_error(head[0])
            else:
                is_next = row.number == later.number - 1
                if not is_next or later.id != chain_operation_id(row.id, later.data):
                    raise _broken_log_error(later.number)
                yield later
            later = row
        if later is None:
            if head[0]:
                raise _broken_log_error(head[0])
            return
        if later.number != 1 or later.id != chain_operation_id(NO_DIGEST, later.data):
            raise _broken_log_error(later.number)
        yield later

    def _log_head(self) -> tuple[int, bytes]:
        return decode_log_head(self._current_facts().get(rows.OPERATIONS_FACT))

    def _log_head_at(self, mark: bytes) -> bytes:
        """Return the head that the log had at the marked operation, or that of a shorter log."""
        number, head = int.from_bytes(mark[:8], "big"), self._log_head()
        if not 0 < number < head[0]:
            return encode_log_head(*head) if head[0] else NO_DIGEST
        sql = f"SELECT {typed_columns('id BLOB')} FROM operations WHERE number = ?"
        row = self._db.fetch_one(sql, (number,))
        return encode_log_head(number, row[0] if row else NO_DIGEST)

    # Pending writes: files of the work tree that have yet to be written.

    def list_pending_writes(self) -> list[PendingWrite]:
        """Return the files of the work tree that have yet to be written, by path."""
        intact, damaged = self.inspect_pending_writes()
        for message in damaged:
            raise StoreError(
                message,
                code="corrupt_pending",
                hint="`brain doctor --repair` drops it; `brain status` then compares the folder",
            )
        return intact

    def inspect_pending_writes(self) -> tuple[list[PendingWrite], list[str]]:
        """Return the intact pending writes, and the faults of damaged rows."""
        intact: list[PendingWrite] = []
        damaged: list[str] = []
        for path, *fields, expected in self._db.fetch_all(
            f"SELECT {_PENDING_COLUMNS} FROM pending ORDER BY path"
        ):
            row = PendingWrite(path.decode("utf-8", "surrogateescape"), *fields)
            fault = rows.find_pending_error(row)
            if fault or rows.pending_checksum(row) != expected:
                name = printable_text(row.path, 80)
                why = fault or "it does not fit its checksum"
                damaged.append(f"the pending write of the file {name} is damaged: {why}")
            else:
                intact.append(row)
        return intact, damaged

    # Signatures. Their checksum distinguishes a damaged one from an invalid one without the key.

    def list_signatures(self, snapshot: bytes) -> list[tuple[bytes, bytes]]:
        """Return the signatures of a snapshot as (key, signature), by key; unverified."""
        sql = f"SELECT {_SIGNATURE_COLUMNS} FROM signatures WHERE snapshot = ? ORDER BY key"
        return [_check_signature(*row)[1:] for row in self._db.fetch_all(sql, (snapshot,))]

    def stream_signatures(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Stream (snapshot, key, signature) of everything that is signed, sorted."""
        sql = f"SELECT {_SIGNATURE_COLUMNS} FROM signatures ORDER BY snapshot, key"
        for row in self._db.stream_rows(sql):
            yield _check_signature(*row)

    # Redactions: see `redactions`.

    def find_redactions(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return those of `blobs` that were redacted, each with the snapshot that did it.

        Only snapshots count that a ref leads to, or will when this transaction commits.
        """
        sql = f"SELECT {_REDACTION_COLUMNS} FROM redactions WHERE blob IN ({{keys}})"
        found = dict(_check_redaction(*row) for row in self._db.fetch_by_keys(sql, blobs))
        if not found:
            return found
        refs = frozenset(self.list_refs().values())
        if self._validity_cache is None or self._validity_cache[0] != refs:
            self._validity_cache = refs, {}
        cached = self._validity_cache[1]
        unchecked = {blob: id for blob, id in found.items() if (blob, id) not in cached}
        if unchecked:
            valid = redactions.select_valid_redactions(
                self._read_snapshot, refs, unchecked, self._new_redactions
            )
            cached.update(((blob, id), blob in valid) for blob, id in unchecked.items())
        return {blob: id for blob, id in found.items() if cached[blob, id]}

    def list_redaction_rows(self) -> dict[bytes, bytes]:
        """Return all blobs in the table of redactions, sorted, each with its snapshot.

        `find_redactions` also checks the snapshot.
        """
        sql = f"SELECT {_REDACTION_COLUMNS} FROM redactions ORDER BY blob"
        found = self._db.fetch_all(sql)
        if found and rows.REDACTIONS_FACT not in self._current_facts():
            raise _corrupt_redaction_error("the store has redactions, but its facts count none")
        return dict(_check_redaction(*row) for row in found)

    def _read_snapshot(self, id: bytes) -> bytes | None:
        """Return the bytes of a snapshot, unchecked; None if it is missing."""
        sql = f"SELECT {typed_columns('data BLOB')} FROM objects WHERE id = ? AND kind = ?"
        row = self._db.fetch_one(sql, (id, ObjectKind.SNAPSHOT))
        return row[0] if row else None


def open_store_reader(folder: Path, timeout: float = TRANSACTION_TIMEOUT) -> StoreReader:
    """Open the store in `folder` for reading; errors as for `open_store_database`.

    `timeout` limits the wait for a transaction of another process, in seconds.
    """
    db = open_store_database(folder, timeout, readonly=True)
    return StoreReader(db, os.path.join(folder, STORE_FILE_NAME))


def load_facts(db: Connection) -> dict[str, bytes]:
    """Return all facts by name, sorted.

    Raises `StoreError` (`corrupt_ref`) if the seal or a fact is wrong.
    """
    columns = typed_columns("name TEXT, value BLOB")
    facts: dict[str, bytes] = dict(db.fetch_all(f"SELECT {columns} FROM facts ORDER BY name"))
    if facts.pop(rows.SEAL_FACT, None) != rows.facts_checksum(facts):
        raise DamagedStore("the refs of the store do not fit their checksum", code="corrupt_ref")
    for name, value in facts.items():
        if fault := rows.find_fact_error(name, value):
            raise DamagedStore(
                f"the fact {printable_text(name, 80)} of the store is damaged: {fault}",
                code="corrupt_ref",
            )
    return facts


def chain_operation_id(previous: bytes, data: bytes) -> bytes:
    """Return the id of the operation that follows `previous`, which is b"" for the first."""
    return _hash_operation(previous + data)


def encode_log_head(number: int, id: bytes) -> bytes:
    """Return the fact for the number and id of the latest operation."""
    return number.to_bytes(8, "big") + id


def decode_log_head(fact: bytes | None) -> tuple[int, bytes]:
    """Undo `encode_log_head`; (0, b"") for a log without operations."""
    if fact is None:
        return 0, NO_DIGEST
    if len(fact) != 8 + DIGEST_SIZE:
        raise _broken_log_error(0)
    return int.from_bytes(fact[:8], "big"), fact[8:]


def read_chunk_list(id: bytes, data: bytes, size: int | None = None) -> ChunkList:
    """Return the chunk list of a large blob, after checking its size.

    Each chunk is later checked against its listed size, so no more content is read.
    """
    try:
        chunk_list = decode_chunk_list(id, data)
    except ValueError as error:
        raise corrupt_object_error(id, str(error)) from error
    if not LARGE_BLOB_BYTES <= chunk_list.size <= limits.MAX_FILE_BYTES:
        raise corrupt_object_error(id, f"its chunk list makes {chunk_list.size} bytes")
    if size is not None and chunk_list.size != size:
        why = f"its chunk list makes {chunk_list.size} bytes, not {size}"
        raise corrupt_object_error(id, why)
    return chunk_list


def _check_operation(number: int, id: bytes, data: bytes) -> OperationRow:
    fault = "its number or its id is impossible" if number < 1 or len(id) != DIGEST_SIZE else ""
    if len(data) > MAX_OBJECT_BYTES:
        fault = f"it has {len(data)} bytes"
    if fault:
        raise DamagedStore(f"operation {number} is damaged: {fault}", code="corrupt_operation")
    return OperationRow(number, id, data)


def _check_signature(
    snapshot: bytes, key: bytes, signature: bytes, expected: bytes
) -> tuple[bytes, bytes, bytes]:
    row, sizes = (snapshot, key, signature), (DIGEST_SIZE, 32, 64)
    if tuple(map(len, row)) != sizes or row_checksum(*row) != expected:
        raise StoreError(
            "a signature in the store is damaged",
            code="corrupt_signature",
            hint="restore the folder .brain from a copy, or sign again",
        )
    return row


def _check_redaction(blob: bytes, snapshot: bytes, expected: bytes) -> tuple[bytes, bytes]:
    if row_checksum(blob, snapshot) != expected:
        raise _corrupt_redaction_error("a redaction does not fit its checksum")
    return blob, snapshot


def _missing_object_error(id: bytes) -> NotFound:
    return NotFound(
        f"object {id.hex()} is not in the store", code="missing_object", hint=DAMAGED_STORE_HINT
    )


def _wrong_kind_error(id: bytes) -> FormatError:
    return FormatError(
        f"object {id.hex()} is not of the kind that is expected here",
        code="wrong_type",
        hint=DAMAGED_STORE_HINT,
    )


def _checksum_error(id: bytes) -> StoreError:
    return corrupt_object_error(id, "it does not fit its checksum")


def _broken_log_error(number: int) -> StoreError:
    message = f"the operation log is broken at operation {number}"
    return DamagedStore(message, code="corrupt_operation")


def _corrupt_redaction_error(what: str) -> StoreError:
    return StoreError(what, code="corrupt_redaction", hint="restore the folder .brain from a copy")
