"""The read side of the store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import chain, starmap
from typing import TYPE_CHECKING

from ..digest import DIGEST_SIZE, NO_DIGEST, domain_hash, is_hex
from ..errors import (
    BrainError,
    FormatError,
    NotFound,
    StoreError,
    corrupt_object_error,
    printable_text,
)
from . import high_water_mark, ref_table, rows, store_database
from . import rows as checksums
from . import rows as field_limits
from .blobs import BlobDecoder, BlobReader, missing_object_error
from .connection import Connection, ConnectionHolder
from .database import DATABASE_FILE_SUFFIXES, typed_columns
from .rows import (
    BlobCheckResult,
    BlobPredicate,
    ExpectedSize,
    ObjectKind,
    ObjectRange,
    OperationRow,
    PendingWrite,
    StoredObject,
    TransactionContext,
    accept_claimed_size,
)

if TYPE_CHECKING:
    from pathlib import Path


MAX_SINGLE_LOOKUPS = 1024
"""Up to this many ids are looked up one by one, whatever the size of the store."""

_OBJECT_COLUMNS = typed_columns("id BLOB, kind INTEGER, data BLOB, checksum BLOB")


def object_checksum(id: bytes, kind: int, data: bytes) -> bytes:
    """Return the checksum of a row of `objects`."""
    return checksums.row_checksum(id, b"%d" % kind, data)


class ObjectReader(ConnectionHolder):
    """The methods of `StoreReader` for structured objects and for ids."""

    def read_object(self, kind: int, id: bytes) -> bytes:
        row = self._db.fetch_one(f"SELECT {_OBJECT_COLUMNS} FROM objects WHERE id = ?", (id,))
        if row is None:
            if kind != ObjectKind.BLOB and self.has_object(id):
                raise _wrong_kind_error(id)
            raise missing_object_error(id)
        data = self._check_object_row(id, *row[1:])
        if row[1] != kind:
            raise _wrong_kind_error(id)
        return data

    def has_object(self, id: bytes) -> bool:
        sql = "SELECT 1 FROM objects WHERE id = ?1 UNION ALL SELECT 1 FROM blobs WHERE id = ?1"
        return self._db.fetch_one(sql, (id,)) is not None

    def find_missing(self, ids: Iterable[bytes]) -> set[bytes]:
        remaining = set(ids)
        for table in ("blobs", "objects"):
            if self._db.should_scan(table, len(remaining), MAX_SINGLE_LOOKUPS):
                rows = self._db.stream_rows(f"SELECT id FROM {table}")
                remaining.difference_update(chain.from_iterable(rows))
            else:
                sql = f"SELECT id FROM {table} WHERE id IN ({{keys}})"
                remaining.difference_update(
                    id for (id,) in list(self._db.fetch_by_keys(sql, list(remaining)))
                )
        return remaining

    def count_objects(self) -> int:
        sql = "SELECT (SELECT count(*) FROM objects) + (SELECT count(*) FROM blobs)"
        ((total,),) = self._db.fetch_all(sql)
        return int(total)

    def find_snapshots(self, prefix: str) -> list[tuple[int, bytes]]:
        digits = 2 * DIGEST_SIZE
        if len(prefix) > digits or not is_hex(prefix):
            return []
        rows = self._db.fetch_all(
            "SELECT id FROM objects WHERE id BETWEEN ? AND ? AND kind = ? LIMIT 2",
            (
                bytes.fromhex(prefix.ljust(digits, "0")),
                bytes.fromhex(prefix.ljust(digits, "f")),
                ObjectKind.SNAPSHOT,
            ),
        )
        return [(ObjectKind.SNAPSHOT, id) for (id,) in rows]

    def stream_object_ids(self) -> Iterator[tuple[int, bytes]]:
        for kind, id in self._db.stream_rows(
            f"SELECT {typed_columns('kind INTEGER, id BLOB')} FROM objects"
        ):
            yield kind, id
        for (id,) in self._db.stream_rows(f"SELECT {typed_columns('id BLOB')} FROM blobs"):
            yield ObjectKind.BLOB, id

    def stream_objects(self, kind: int) -> Iterator[tuple[bytes, bytes]]:
        sql = f"SELECT {_OBJECT_COLUMNS} FROM objects WHERE kind = ? ORDER BY number"
        for id, stored_kind, data, expected in self._db.stream_rows(sql, (kind,)):
            yield id, self._check_object_row(id, stored_kind, data, expected)

    def split_objects(self, size: int, max_ranges: int) -> list[ObjectRange]:
        return self._db.split_rows("objects", size, max_ranges)

    def read_object_range(self, object_range: ObjectRange) -> Iterator[StoredObject]:
        sql = f"SELECT {_OBJECT_COLUMNS} FROM objects WHERE number BETWEEN ? AND ? ORDER BY number"
        for id, kind, data, expected in self._db.stream_rows(sql, object_range):
            is_intact = object_checksum(id, kind, data) == expected
            yield kind, id, data if is_intact else _checksum_error(id)

    def _check_object_row(self, id: bytes, kind: int, data: bytes, expected: bytes) -> bytes:
        if object_checksum(id, kind, data) != expected:
            raise _checksum_error(id)
        return data


def _checksum_error(id: bytes) -> StoreError:
    return corrupt_object_error(id, "it does not fit its checksum")


def _wrong_kind_error(id: bytes) -> FormatError:
    return FormatError(
        f"object {id.hex()} is not of the kind that is expected here",
        code="wrong_type",
        hint="run `brain verify`, and restore the folder .brain from a copy",
    )


_OPERATION_COLUMNS = typed_columns("number INTEGER, id BLOB, data BLOB")
_DAMAGED_HINT = "run `brain verify`, and restore the folder .brain from a copy"
_hash_operation = domain_hash("brain v1 operation")


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


def read_logged_operation(db: Connection, number: int, head: tuple[int, bytes]) -> OperationRow:
    """Return one operation after checking its link to the one before."""
    if not 1 <= number <= head[0]:
        raise NotFound(
            f"there is no operation {number}",
            code="missing_operation",
            hint="`brain op log` lists the operations",
        )
    rows = db.fetch_all(
        f"SELECT {_OPERATION_COLUMNS} FROM operations WHERE number IN (?, ?) ORDER BY number",
        (number - 1, number),
    )
    if len(rows) != min(number, 2) or (number == head[0] and rows[-1][1] != head[1]):
        raise _broken_log_error(number)
    row = _check_operation(*rows[-1])
    if row.id != chain_operation_id(rows[0][1] if number > 1 else NO_DIGEST, row.data):
        raise _broken_log_error(number)
    return row


def stream_log(db: Connection, head: tuple[int, bytes]) -> Iterator[OperationRow]:
    """Stream the log from `head` to its beginning, checking every link."""
    later: OperationRow | None = None
    rows = db.stream_rows(
        f"SELECT {_OPERATION_COLUMNS} FROM operations WHERE number <= ? ORDER BY number DESC",
        (head[0],),
    )
    for row in starmap(_check_operation, rows):
        if later is None:
            if (row.number, row.id) != head:
                raise _broken_log_error(head[0])
        elif row.number != later.number - 1 or later.id != chain_operation_id(row.id, later.data):
            raise _broken_log_error(later.number)
        else:
            yield later
        later = row
    if later is None:
        if head[0]:
            raise _broken_log_error(head[0])
        return
    if later.number != 1 or later.id != chain_operation_id(NO_DIGEST, later.data):
        raise _broken_log_error(later.number)
    yield later


def log_head_at(db: Connection, number: int, head: tuple[int, bytes]) -> bytes:
    """Return the encoded head of the log when it ended at `number`; it now ends at `head`."""
    if number <= 0 or number >= head[0]:
        return encode_log_head(*head) if head[0] else NO_DIGEST
    row = db.fetch_one(
        f"SELECT {typed_columns('id BLOB')} FROM operations WHERE number = ?", (number,)
    )
    return encode_log_head(number, row[0] if row else NO_DIGEST)


def _check_operation(number: int, id: bytes, data: bytes) -> OperationRow:
    if fault := field_limits.find_operation_error(number, id, data):
        raise StoreError(
            f"operation {number} is damaged: {fault}", code="corrupt_operation", hint=_DAMAGED_HINT
        )
    return OperationRow(number, id, data)


def _broken_log_error(number: int) -> StoreError:
    return StoreError(
        f"the operation log is broken at operation {number}",
        code="corrupt_operation",
        hint=_DAMAGED_HINT,
    )


_PENDING_COLUMNS = typed_columns("path BLOB, kind INTEGER, blob BLOB, before BLOB, checksum BLOB")


def load_pending_rows(db: Connection) -> list[PendingWrite]:
    """Return the rows by path. Raises `StoreError` (`corrupt_pending`)."""
    rows, damaged = inspect_pending_rows(db)
    for message in damaged:
        raise StoreError(
            message,
            code="corrupt_pending",
            hint="`brain doctor --repair` drops it; `brain status` then compares the folder",
        )
    return rows


def inspect_pending_rows(db: Connection) -> tuple[list[PendingWrite], list[str]]:
    """Return the intact rows by path, and messages about the others."""
    intact: list[PendingWrite] = []
    damaged: list[str] = []
    for path, *fields, expected in db.fetch_all(
        f"SELECT {_PENDING_COLUMNS} FROM pending ORDER BY path"
    ):
        row = PendingWrite(path.decode("utf-8", "surrogateescape"), *fields)
        if (fault := field_limits.find_pending_error(row)) or _pending_checksum(row) != expected:
            name = printable_text(row.path, 80)
            why = fault or "it does not fit its checksum"
            damaged.append(f"the pending write of the file {name} is damaged: {why}")
        else:
            intact.append(row)
    return intact, damaged


def put_pending_rows(db: Connection, rows: Iterable[PendingWrite]) -> None:
    """Write rows, replacing those on the same paths."""
    db.execute_many(
        "INSERT OR REPLACE INTO pending (path, kind, blob, before, checksum)"
        " VALUES (?, ?, ?, ?, ?)",
        ((*row, _pending_checksum(row)) for row in rows),
    )


def delete_pending_rows(db: Connection, paths: Iterable[str]) -> None:
    """Remove the rows on `paths`."""
    db.execute_many("DELETE FROM pending WHERE path = ?", ((path,) for path in paths))


def _pending_checksum(row: PendingWrite) -> bytes:
    return checksums.row_checksum(
        row.path.encode("utf-8", "surrogateescape"), b"%d" % row.kind, row.blob, row.before
    )


_SIGNATURE_COLUMNS = typed_columns("snapshot BLOB, key BLOB, signature BLOB, checksum BLOB")


class SignatureReader(ConnectionHolder):
    """The methods of `StoreReader` for signatures."""

    def list_signatures(self, snapshot: bytes) -> list[tuple[bytes, bytes]]:
        sql = f"SELECT {_SIGNATURE_COLUMNS} FROM signatures WHERE snapshot = ? ORDER BY key"
        return [_check_signature(*row)[1:] for row in self._db.fetch_all(sql, (snapshot,))]

    def stream_signatures(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        for row in self._db.stream_rows(
            f"SELECT {_SIGNATURE_COLUMNS} FROM signatures ORDER BY snapshot, key"
        ):
            yield _check_signature(*row)


def put_signature_row(db: Connection, snapshot: bytes, key: bytes, signature: bytes) -> None:
    """Store a signature, replacing any other of that key."""
    db.execute(
        "INSERT INTO signatures (snapshot, key, signature, checksum) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (snapshot, key) DO UPDATE SET signature = excluded.signature,"
        " checksum = excluded.checksum",
        (snapshot, key, signature, rows.row_checksum(snapshot, key, signature)),
    )


def _check_signature(
    snapshot: bytes, key: bytes, signature: bytes, expected: bytes
) -> tuple[bytes, bytes, bytes]:
    fault = rows.find_signature_error(snapshot, key, signature)
    if fault or rows.row_checksum(snapshot, key, signature) != expected:
        raise StoreError(
            f"a signature in the store is damaged: {fault or 'it does not fit its checksum'}",
            code="corrupt_signature",
            hint="restore the folder .brain from a copy, or sign again",
        )
    return snapshot, key, signature


DEFAULT_CACHE_KIB = 2000
"""Page cache of a connection: the default of SQLite."""
INTEGRITY_CACHE_KIB = 16 << 10
"""Page cache of the check: holds the index of some hundred thousand blobs."""


class SqliteReader(ObjectReader, BlobReader, SignatureReader):
    """Reads one SQLite file: a `StoreReader`."""

    def __init__(self, db: Connection, path: str) -> None:
        super().__init__(db)
        self._path = path
        self._decoder = BlobDecoder(db)

    def read_ref(self, name: str) -> bytes | None:
        return self._current_facts().get(ref_table.REF_PREFIX + name)

    def list_refs(self) -> dict[str, bytes]:
        return ref_table.select_refs(self._current_facts())

    def read_meta(self, key: str) -> bytes | None:
        return self._current_facts().get(ref_table.META_PREFIX + key)

    def removal_epoch(self) -> int:
        return int.from_bytes(self._current_facts().get(ref_table.EPOCH_FACT, b""), "big")

    def needs_compaction(self) -> bool:
        return ref_table.COMPACTION_FACT in self._current_facts()

    def operation_count(self) -> int:
        return self._log_head()[0]

    def read_operation(self, number: int) -> OperationRow:
        return read_logged_operation(self._db, number, self._log_head())

    def stream_operations(self) -> Iterator[OperationRow]:
        return stream_log(self._db, self._log_head())

    def _log_head(self) -> tuple[int, bytes]:
        return decode_log_head(self._current_facts().get(ref_table.OPERATIONS_FACT))

    def list_pending_writes(self) -> list[PendingWrite]:
        return load_pending_rows(self._db)

    def inspect_pending_writes(self) -> tuple[list[PendingWrite], list[str]]:
        return inspect_pending_rows(self._db)

    @contextmanager
    def check_blobs(
        self, predicate: BlobPredicate, expected: ExpectedSize = accept_claimed_size
    ) -> Iterator[Iterator[BlobCheckResult]]:
        """See `StoreReader.check_blobs`; large blobs come last."""
        from pathlib import Path

        from ..util.process_pool import processor_count
        from . import checks

        db, folder = self._db, Path(self._path).parent
        # Other processes do not see the changes of an open transaction.
        processes = 1 if db.in_transaction else processor_count()
        open_connection = partial(store_database.open_store_database_readonly, folder)
        large: list[bytes] = []
        with checks.check_small_blobs(db, open_connection, large, processes, predicate) as results:
            yield chain(results, self.check_large_blobs(large, expected))

    def check_large_blobs(
        self, large: list[bytes], expected: ExpectedSize
    ) -> Iterator[BlobCheckResult]:
        """Check the large blobs `large`; see `StoreReader.check_blobs`."""
        from .checks import LargeBlobChecker

        prefixes = set()
        for id in large:
            with suppress(BrainError):
                prefixes.add(self._fetch_chunk_list(id).prefix)
        checker = LargeBlobChecker(self._fetch_chunk_list, self._read_chunk, prefixes, expected)
        yield from map(checker.check, large)

    @contextmanager
    def reopen_for_fork(self) -> Iterator[SqliteReader]:
        from pathlib import Path

        with closing(store_database.open_store_database_readonly(Path(self._path).parent)) as db:
            yield SqliteReader(db, self._path)

    def check_stray_rows(self) -> list[str]:
        from . import checks

        with self._db.reading_one_state():
            facts = ref_table.load_facts(self._db)
            head = decode_log_head(facts.get(ref_table.OPERATIONS_FACT))
            return list(checks.find_stray_rows(self._db, facts, head))

    def check_integrity(self) -> list[str]:
        # The mark is read before the log, since others may write.
        marked_head = high_water_mark.read_mark(self._path)
        self._db.execute(f"PRAGMA cache_size=-{INTEGRITY_CACHE_KIB}")
        try:
            faults = [str(line) for (line,) in self._db.fetch_all("PRAGMA integrity_check")]
        finally:
            self._db.execute(f"PRAGMA cache_size=-{DEFAULT_CACHE_KIB}")
        if marked_head:
            head = self._log_head_at_mark(marked_head)
            faults.append(high_water_mark.describe_lost_operations(marked_head, head))
        return [fault for fault in faults if fault not in ("ok", "")]

    def _log_head_at_mark(self, marked_head: bytes) -> bytes:
        """Return the head that the log had at the marked operation, or that of a shorter log."""
        return log_head_at(
            self._db, high_water_mark.marked_operation_number(marked_head), self._log_head()
        )

    def size_on_disk(self) -> int:
        files = (self._path + side for side in DATABASE_FILE_SUFFIXES)
        return sum(os.stat(file).st_size for file in files if os.path.exists(file))

    def close(self) -> None:
        self._db.close()


class ReadOnlyStore(SqliteReader):
    """A store that can only be read; writing raises `StoreError` (`read_only`)."""

    def transaction(self, expected_bytes: int = 0) -> TransactionContext:
        raise store_database.store_not_writable_error()

    def compact(self) -> bool:
        raise store_database.store_not_writable_error()

    def clear_pending_writes(self) -> None:
        raise store_database.store_not_writable_error()


def open_store_reader(
    folder: Path, timeout: float = store_database.TRANSACTION_TIMEOUT
) -> ReadOnlyStore:
    """Open the store in `folder` for reading; errors as for `open_store_database_readonly`.

    `timeout` limits the wait for a transaction of another process, in seconds.
    """
    return ReadOnlyStore(
        store_database.open_store_database_readonly(folder, timeout),
        os.path.join(folder, store_database.STORE_FILE_NAME),
    )
