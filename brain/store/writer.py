"""Write a store: transactions, the sweep of a garbage collection, compaction, and the lock.

The first load of an empty store has no readers, so it uses a rollback journal with
`synchronous=EXTRA` instead of the write-ahead log, which writes everything twice. That is as
durable, and a crash leaves the empty store. If others have the store open, the log is used.

The store locks itself during a transaction. The writer lock, an advisory lock on the file `lock`
in the folder of the store, also protects the files of the work tree, which the store cannot roll
back, and it records the process id of its holder.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain, islice
from typing import TYPE_CHECKING

from blake3 import blake3

from .. import limits
from ..digest import blob_id
from ..errors import BrainError, Conflict, InvalidInput, Locked, NotFound, StoreError
from ..util.files import LockTimeout, lock_file
from . import redactions, rows
from .blobs import (
    BLOB_COLUMNS,
    CODEC_CHUNK_LIST,
    CODEC_RAW,
    MAX_ROW_CONTENT_BYTES,
    SMALL_CHUNK_BYTES,
    encode_chunk_list,
)
from .connection import (
    MAX_WAL_BYTES,
    copy_owner,
    describe_lost_operations,
    open_regular_file,
    read_mark,
    write_mark,
)
from .database import (
    STORE,
    STORE_FILE_NAME,
    TRANSACTION_TIMEOUT,
    create_store_database,
    not_writable_error,
    open_store_database,
    typed_columns,
)
from .reader import (
    BULK_CACHE_KIB,
    DEFAULT_CACHE_KIB,
    ROWS_PER_BATCH,
    StoreReader,
    chain_operation_id,
    encode_log_head,
    load_facts,
    open_store_reader,
    read_chunk_list,
)
from .rows import LARGE_BLOB_BYTES, BlobSource, FindStandalone, ObjectKind, PendingWrite

if TYPE_CHECKING:
    from pathlib import Path

    from .large_blobs import HashingReader

MIN_COMPRESSED_BATCH_BYTES = 256 << 10
"""Smallest batch that is compressed, which justifies loading Zstandard."""
BULK_LOAD_BYTES = 32 << 20
"""Bytes of content of a large load."""
MAX_EMPTY_STORE_BLOBS = 1000
"""A store with fewer blobs than this counts as empty."""
CHUNK_BATCH_BYTES = 4 << 20
"""Bytes of chunks that are stored at a time."""
MAX_SMALL_CHUNKS = 32
"""Small chunks at the end of a list; more are joined by the next append."""
LOCK_FILE_NAME = "lock"

_SWEEP_ORDER = (ObjectKind.SNAPSHOT, ObjectKind.BUNDLE, ObjectKind.NODE)
"""Objects are removed before those they refer to, so that no reference ever dangles."""
_REPLACE_BLOB = (
    "INSERT INTO blobs (id, codec, data) VALUES (?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET codec = excluded.codec, data = excluded.data"
)


class StoreTransaction(StoreReader):
    """A write transaction, from `Store.transaction`.

    Its reads see its own writes. Methods that store content raise `Conflict` (`redacted`) if it
    was redacted. They read what is stored under the same id, and replace it if it is something
    else: somebody who knew what would be recorded may have planted it, or a disk damaged it.
    """

    def __init__(self, store: Store, expected_bytes: int = 0) -> None:
        super().__init__(store._db, store._path)
        self._expected_bytes = expected_bytes
        self._is_outside_wal = False
        self._facts_before: dict[str, bytes] = {}
        self._facts_now: dict[str, bytes] = {}

    def _begin(self) -> None:
        db = self._db
        if self._expected_bytes >= BULK_LOAD_BYTES:
            sql = f"SELECT count(*) FROM (SELECT 1 FROM blobs LIMIT {MAX_EMPTY_STORE_BLOBS})"
            ((blobs,),) = db.fetch_all(sql)
            if blobs < MAX_EMPTY_STORE_BLOBS:
                self._is_outside_wal = self._set_journal_mode("delete")
            db.execute(f"PRAGMA cache_size=-{BULK_CACHE_KIB}")
        if self._is_outside_wal:
            db.execute("PRAGMA synchronous=EXTRA")
            db.begin(exclusive=True)
        else:
            db.begin()
        self._facts_before = load_facts(db)
        self._facts_now = dict(self._facts_before)
        mark = read_mark(self._path)
        if mark and (message := describe_lost_operations(mark, self._log_head_at(mark))):
            raise StoreError(
                message,
                code="lost_operations",
                hint="restore the folder .brain from a copy;"
                " to continue without them, delete .brain/mark",
            )

    def _commit(self) -> None:
        before, now = self._facts_before, self._facts_now
        if before != now:
            removed = [(name,) for name in before.keys() - now]
            self._db.execute_many("DELETE FROM facts WHERE name = ?", removed)
            changed = [(name, value) for name, value in now.items() if before.get(name) != value]
            changed.append((rows.SEAL_FACT, rows.facts_checksum(now)))
            sql = "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)"
            self._db.execute_many(sql, changed)
        self._db.commit()
        head = now.get(rows.OPERATIONS_FACT, b"")
        if head != before.get(rows.OPERATIONS_FACT, b""):
            write_mark(self._path, head)
        # Each opening of the store reads all of the log, so a long one is checkpointed now. The
        # transaction is durable already, so errors are ignored.
        with suppress(StoreError, OSError):
            if os.stat(f"{self._path}-wal").st_size > MAX_WAL_BYTES:
                self._db.fetch_without_waiting("PRAGMA wal_checkpoint(TRUNCATE)")
        self._end_large_load()

    def _roll_back(self) -> None:
        self._db.roll_back()
        self._end_large_load()

    def _end_large_load(self) -> None:
        if self._expected_bytes >= BULK_LOAD_BYTES:
            self._db.execute(f"PRAGMA cache_size=-{DEFAULT_CACHE_KIB}")
        if self._is_outside_wal and self._set_journal_mode("wal"):
            self._db.execute("PRAGMA synchronous=FULL")
            self._is_outside_wal = False

    def _set_journal_mode(self, mode: str) -> bool:
        return self._db.fetch_without_waiting(f"PRAGMA journal_mode={mode}") == [(mode,)]

    def _current_facts(self) -> dict[str, bytes]:
        return self._facts_now

    # Objects and blobs

    def put_object(self, kind: int, id: bytes, data: bytes) -> None:
        """Store a structured object; a differing row of that id is replaced."""
        self._db.execute(
            "INSERT INTO objects (id, kind, data, checksum) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, data = excluded.data,"
            " checksum = excluded.checksum"
            " WHERE data IS NOT excluded.data OR kind IS NOT excluded.kind"
            " OR checksum IS NOT excluded.checksum",
            (id, kind, data, rows.object_checksum(id, kind, data)),
        )

    def put_blob(self, content: bytes) -> bytes:
        """Store a blob and return its id."""
        if len(content) >= LARGE_BLOB_BYTES:
            return self.put_blob_stream(io.BytesIO(content), len(content), None)
        id = blob_id(content)
        self._insert_blobs([(id, content)])
        return id

    def put_blobs(self, batch: list[tuple[bytes, bytes]]) -> None:
        """Store blobs, given as (id, content) with ids the caller has computed."""
        for _, content in batch:
            if len(content) >= LARGE_BLOB_BYTES:
                self.put_blob(content)
        self._insert_blobs([pair for pair in batch if len(pair[1]) < LARGE_BLOB_BYTES])

    def put_blob_stream(self, source: BlobSource, size: int, base: bytes | None) -> bytes:
        """Store the `size` bytes from the start of `source` and return their id.

        If the content starts with the blob `base`, only the rest is stored. Raises `Conflict`
        (`changed_while_reading`) if the source ends early.
        """
        from .large_blobs import HashingReader

        if size < LARGE_BLOB_BYTES:
            digest = blake3()
            content = HashingReader(source, size, digest).read_to_end(size)
            self._insert_blobs([(digest.digest(), content)])
            return digest.digest()
        if base:
            try:
                id = self._append_to_base(source, size, base)
            except (StoreError, NotFound):  # the base is damaged; the whole content is here
                id = None
            if id:
                return id
            source.seek(0)
        digest = blake3(max_threads=blake3.AUTO)
        pieces = self._put_chunks(HashingReader(source, size, digest), size)
        self._put_chunk_list(digest.digest(), pieces)
        return digest.digest()

    def _append_to_base(self, source: BlobSource, size: int, base: bytes) -> bytes | None:
        """Store the content after `base` in `source`; None if the source does not start with it.

        Chunks that are joined again are read from the store, since the file may have changed
        after its start was hashed. The other chunks of the base were compared when it was stored,
        and are not read again, so that an append costs what was appended.
        """
        from .large_blobs import HashingReader, hash_next_bytes

        codec, data = self._fetch_blob_row(base)
        if codec == CODEC_CHUNK_LIST:
            pieces = self.resolve_chunks(base, self._fetch_chunk_list(base))
        else:
            pieces = [(base, len(self._decode_content(base, codec, data)))]
        base_size = sum(length for _, length in pieces)
        if base_size > size:
            return None
        digest = blake3(max_threads=blake3.AUTO)
        hash_next_bytes(source, base_size, digest)
        if digest.digest() != base:
            return None
        if size == base_size:
            return base
        small = 0
        while small < len(pieces) and pieces[-1 - small][1] < SMALL_CHUNK_BYTES:
            small += 1
        kept = len(pieces) - small if small > MAX_SMALL_CHUNKS else len(pieces)
        rejoined = b"".join([self.read_blob(chunk) for chunk, _ in pieces[kept:]])
        reader = HashingReader(source, size - base_size, digest, rejoined)
        added = self._put_chunks(reader, len(rejoined) + size - base_size)
        self._put_chunk_list(digest.digest(), pieces[:kept] + added)
        return digest.digest()

    def _put_chunks(self, reader: HashingReader, size: int) -> list[tuple[bytes, int]]:
        from .large_blobs import cut_chunks

        pieces: list[tuple[bytes, int]] = []
        batch: list[tuple[bytes, bytes]] = []
        batch_bytes = 0
        for chunk in cut_chunks(reader, size):
            batch.append((blob_id(chunk), chunk))
            pieces.append((batch[-1][0], len(chunk)))
            batch_bytes += len(chunk)
            if batch_bytes >= CHUNK_BATCH_BYTES:
                self._insert_blobs(batch)
                batch, batch_bytes = [], 0
        self._insert_blobs(batch)
        return pieces

    def _put_chunk_list(self, id: bytes, pieces: list[tuple[bytes, int]]) -> None:
        """Store a large blob whose chunks are stored.

        Another list is kept if it makes the blob: others of an older release may begin with it.
        """
        size = sum(length for _, length in pieces)
        if size > limits.MAX_FILE_BYTES:
            raise InvalidInput(
                f"a file has {size} bytes; at most {limits.MAX_FILE_BYTES} are allowed",
                code="too_large",
                hint="split it, or name it in .brainignore",
            )
        self._refuse_redacted([id])
        row = id, CODEC_CHUNK_LIST, encode_chunk_list(id, pieces)
        with suppress(BrainError):  # it is missing, or is not what it should be
            if self._fetch_blob_row(id) != row[1:]:
                for _ in self.stream_blob(id, size):
                    pass
            return
        self._db.execute(_REPLACE_BLOB, row)

    def _insert_blobs(self, batch: list[tuple[bytes, bytes]]) -> None:
        self._refuse_redacted([id for id, _ in batch])
        new = self._select_new_blobs(batch)
        if sum(len(content) for _, content in batch) < MIN_COMPRESSED_BATCH_BYTES:
            packed = [(id, CODEC_RAW, content) for id, content in new]
        else:
            from .large_blobs import pack_blobs

            packed = pack_blobs(new)
        self._db.execute_many(_REPLACE_BLOB, packed)

    def _select_new_blobs(self, batch: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Return those small blobs of a batch, once each, that are not stored intact."""
        new = dict(batch)
        ids = list(new)
        sql = (
            f"SELECT {BLOB_COLUMNS} FROM blobs WHERE id IN ({{keys}})"
            f" AND codec != {CODEC_CHUNK_LIST} AND length(data) <= {MAX_ROW_CONTENT_BYTES}"
        )
        for start in range(0, len(ids), ROWS_PER_BATCH):
            stored = list(self._db.fetch_by_keys(sql, ids[start : start + ROWS_PER_BATCH]))
            for id, content in self._decoder.decode_many(stored):
                if content == new[id]:
                    del new[id]
        return list(new.items())

    def _refuse_redacted(self, blobs: Sequence[bytes]) -> None:
        if rows.REDACTIONS_FACT in self._facts_now:
            for blob, snapshot in self.find_redactions(blobs).items():
                data = self._read_snapshot(snapshot)
                raise redactions.redacted_conflict_error(blob, snapshot, data)

    # Refs, operations, signatures, pending writes

    def update_ref(self, name: str, old: bytes | None, new: bytes | None) -> None:
        """Move a ref from `old` to `new`, None meaning absent; else `Conflict` (`stale_ref`)."""
        if self._facts_now.get(rows.REF_PREFIX + name) != old:
            raise Conflict(
                f"the ref {name!r} has moved meanwhile",
                code="stale_ref",
                hint="another writer came first; run the command again",
            )
        if new is None:
            self._facts_now.pop(rows.REF_PREFIX + name, None)
        else:
            self._facts_now[rows.REF_PREFIX + name] = new

    def write_meta(self, key: str, value: bytes) -> None:
        """Store a small fact."""
        self._facts_now[rows.META_PREFIX + key] = value

    def append_operation(self, data: bytes) -> bytes:
        """Append to the operation log and return the id of the new operation."""
        number, previous = self._log_head()
        id = chain_operation_id(previous, data)
        self._db.execute(
            "INSERT INTO operations (number, id, data) VALUES (?, ?, ?)", (number + 1, id, data)
        )
        self._facts_now[rows.OPERATIONS_FACT] = encode_log_head(number + 1, id)
        return id

    def put_signature(self, snapshot: bytes, key: bytes, signature: bytes) -> None:
        """Store a verified signature, replacing any other of that key."""
        self._db.execute(
            "INSERT INTO signatures (snapshot, key, signature, checksum) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (snapshot, key) DO UPDATE SET signature = excluded.signature,"
            " checksum = excluded.checksum",
            (snapshot, key, signature, rows.row_checksum(snapshot, key, signature)),
        )

    def add_pending_writes(self, pending: Iterable[PendingWrite]) -> None:
        """Add files that have yet to be written, replacing earlier rows of the same paths.

        Raises `NotFound` (`redacted`) for redacted content.
        """
        pending = list(pending)
        if rows.REDACTIONS_FACT in self._facts_now:
            for blob in self.find_redactions([row.blob for row in pending if row.blob]):
                raise self._missing_blob_error(blob)
        self._db.execute_many(
            "INSERT OR REPLACE INTO pending (path, kind, blob, before, checksum)"
            " VALUES (?, ?, ?, ?, ?)",
            ((*row, rows.pending_checksum(row)) for row in pending),
        )

    # Removal

    def redact_blob(self, blob: bytes, snapshot: bytes, find_standalone: FindStandalone) -> None:
        """Destroy the content of a blob, if stored, and refuse it from now on.

        `snapshot` records the redaction. Chunks of a large blob are destroyed too, unless
        another blob needs them or `find_standalone` returns them.
        """
        if self.has_object(blob):
            self._erase_blob(blob, find_standalone)
        self._db.execute(
            "INSERT OR REPLACE INTO redactions (blob, snapshot, checksum) VALUES (?, ?, ?)",
            (blob, snapshot, rows.row_checksum(blob, snapshot)),
        )
        self._new_redactions = {**self._new_redactions, blob: snapshot}
        self._validity_cache = None
        self._increment(rows.REDACTIONS_FACT)
        self._increment(rows.EPOCH_FACT)
        self._facts_now[rows.COMPACTION_FACT] = b"\x01"

    def _erase_blob(self, blob: bytes, find_standalone: FindStandalone) -> None:
        from .large_blobs import empty_dictionaries

        db = self._db
        db.execute("PRAGMA secure_delete=ON")
        chunk_lists = self._flatten_chunk_lists()
        own = chunk_lists.pop(blob, None)
        erased = {blob}
        if own is not None:
            shared = {chunk for pieces in chunk_lists.values() for chunk, _ in pieces}
            free = {chunk for chunk, _ in own} - shared
            erased |= free - find_standalone(free) if free else set()
        elif holders := [id for id, pieces in chunk_lists.items() if blob in dict(pieces)]:
            content = self.read_blob(blob)  # a chunk that is also a file is split in two
            half = len(content) // 2
            parts = [(blob_id(part), part) for part in (content[:half], content[half:])]
            self._insert_blobs(parts)
            halves = [(id, len(part)) for id, part in parts]
            for id in holders:
                split = (halves if piece[0] == blob else [piece] for piece in chunk_lists[id])
                self._replace_chunk_list(id, list(chain.from_iterable(split)))
        db.execute_many("DELETE FROM blobs WHERE id = ?", [(id,) for id in erased])
        empty_dictionaries(db)  # those of older releases hold pieces of the blobs that use them

    def sweep_objects(self, marked: set[bytes], max_count: int) -> int:
        """Remove objects that are neither `marked` nor part of a marked one, with signatures.

        Returns the number of removed objects, at most `max_count`; if it is lower, the sweep is
        complete. Raises `StoreError` (`incomplete`) if a part of a large blob is missing.
        """
        self._increment(rows.EPOCH_FACT)
        db, needed = self._db, marked | self._find_parts(marked)
        columns = typed_columns("id BLOB")
        sql = f"SELECT number, {columns} FROM objects WHERE kind = ? ORDER BY number DESC"
        by_kind = (db.fetch_all(sql, (kind,)) for kind in _SWEEP_ORDER)
        stored = chain.from_iterable(by_kind)
        objects = list(islice(((number,) for number, id in stored if id not in needed), max_count))
        sql = f"SELECT number, {typed_columns('id BLOB')} FROM blobs ORDER BY number DESC"
        unmarked = [(number,) for number, id in db.stream_rows(sql) if id not in needed]
        blobs = unmarked[: max_count - len(objects)]
        db.execute_many("DELETE FROM objects WHERE number = ?", objects)
        db.execute_many("DELETE FROM blobs WHERE number = ?", blobs)
        if objects:
            db.execute("DELETE FROM signatures WHERE snapshot NOT IN (SELECT id FROM objects)")
        return len(objects) + len(blobs)

    def _find_parts(self, marked: set[bytes]) -> set[bytes]:
        chunk_lists = self._flatten_chunk_lists()
        parts = {chunk for id in marked & chunk_lists.keys() for chunk, _ in chunk_lists[id]}
        if missing := self.find_missing(parts):
            raise incomplete_store_error(f"chunk {min(missing).hex()} is missing")
        return parts

    def _flatten_chunk_lists(self) -> dict[bytes, list[tuple[bytes, int]]]:
        """Return (chunk, size) of all large blobs, after rewriting lists that have a prefix."""
        sql = f"SELECT {BLOB_COLUMNS} FROM blobs WHERE codec = ? ORDER BY number"
        chunk_lists = {}
        for id, _, data in self._db.fetch_all(sql, (CODEC_CHUNK_LIST,)):
            chunk_list = read_chunk_list(id, data)
            chunk_lists[id] = self.resolve_chunks(id, chunk_list)
            if chunk_list.depth:
                self._replace_chunk_list(id, chunk_lists[id])
        return chunk_lists

    def _replace_chunk_list(self, id: bytes, pieces: list[tuple[bytes, int]]) -> None:
        row = encode_chunk_list(id, pieces), id
        self._db.execute(
            f"UPDATE blobs SET data = ? WHERE id = ? AND codec = {CODEC_CHUNK_LIST}", row
        )

    def _increment(self, counter: str) -> None:
        count = int.from_bytes(self._facts_now.get(counter, b""), "big") + 1
        self._facts_now[counter] = count.to_bytes(8, "big")


class Store(StoreReader):
    """A store that can be written."""

    @contextmanager
    def transaction(self, expected_bytes: int = 0) -> Iterator[StoreTransaction]:
        """Begin a transaction, whose changes are durable when the `with` block ends.

        `expected_bytes` of content let the store prepare for a large load. Raises `Locked` if
        another transaction does not end in time.
        """
        if self._db.in_transaction:
            raise StoreError(
                "a transaction of this store is open already",
                code="transaction_open",
                hint="end it first: transactions are not nested",
            )
        transaction = StoreTransaction(self, expected_bytes)
        try:
            transaction._begin()
            yield transaction
            transaction._commit()
        except BaseException:
            transaction._roll_back()
            raise

    def compact(self) -> bool:
        """Rewrite the store without free space, so that no file holds removed content.

        False if the disk has no room for that, or readers still use the old state.
        """
        import shutil

        try:
            # Room for two copies: a temporary file, and the log.
            free = shutil.disk_usage(os.path.dirname(self._path)).free
            rewritten = free > 2 * os.stat(self._path).st_size
            if rewritten:
                self._db.execute("PRAGMA temp_store=FILE")  # it takes as much space as the store
                try:
                    self._db.execute("VACUUM")
                finally:
                    self._db.execute("PRAGMA temp_store=MEMORY")
            ((busy, _, _),) = self._db.fetch_all("PRAGMA wal_checkpoint(TRUNCATE)")
        except StoreError as error:
            if error.code != "no_space":
                raise
            return False
        if busy or not rewritten:
            return False
        if self.needs_compaction():
            with self.transaction() as transaction:
                transaction._facts_now.pop(rows.COMPACTION_FACT)
        return True

    def clear_pending_writes(self) -> None:
        """Remove all pending writes, in a transaction that a power cut may undo.

        After that, the next writer finds the files already written.
        """
        self._db.execute("PRAGMA synchronous=NORMAL")
        try:
            self._db.execute("DELETE FROM pending")
        finally:
            self._db.execute("PRAGMA synchronous=FULL")


def create_store(folder: Path) -> Store:
    """Create a store in `folder` and open it; errors as for `create_store_database`."""
    return Store(create_store_database(folder), os.path.join(folder, STORE_FILE_NAME))


def open_store(folder: Path, timeout: float = TRANSACTION_TIMEOUT) -> Store:
    """Open the store in `folder` for writing; errors as for `open_store_database`.

    `timeout` limits the wait for a transaction of another process, in seconds.
    """
    return Store(open_store_database(folder, timeout), os.path.join(folder, STORE_FILE_NAME))


def open_store_or_readonly(folder: Path, timeout: float = TRANSACTION_TIMEOUT) -> StoreReader:
    """Open the store in `folder` for writing, or for reading if it cannot be written.

    Errors as for `open_store`; `read_only` means that it cannot be read either.
    """
    try:
        return open_store(folder, timeout)
    except StoreError as error:
        if error.code != "read_only":
            raise
    return open_store_reader(folder, timeout)


def writable(store: StoreReader) -> Store:
    """Return a store that was opened for writing. Raises `StoreError` (`read_only`)."""
    if isinstance(store, Store):
        return store
    raise not_writable_error(STORE)


def incomplete_store_error(what: str) -> StoreError:
    """Return the error for a store in which a needed object is missing."""
    return StoreError(
        f"nothing was removed, because the store is incomplete: {what}",
        code="incomplete",
        hint="see `brain verify --deep`, and restore the folder .brain from a copy",
    )


@contextmanager
def writer_lock(folder: Path, timeout: float, label: str = "the brain") -> Iterator[bool]:
    """Hold the lock in `folder`, which protects `label`, during the block.

    Yields whether the last holder died while it held the lock. Raises `Locked` with the
    process id of the holder if another one keeps the lock for `timeout` seconds, `StoreError`
    (`read_only`, `cannot_open`, `bad_store`) if the lock file cannot be used. The file stays:
    if it were removed, two processes could lock two files of that name.
    """
    try:
        handle = open_regular_file(os.path.join(folder, LOCK_FILE_NAME), os.O_RDWR | os.O_CREAT)
        try:
            if os.fstat(handle).st_mode & 0o600 != 0o600:  # new, under a umask that denies all
                os.fchmod(handle, 0o600)
            copy_owner(handle, folder)
        except BaseException:
            os.close(handle)
            raise
    except OSError as error:
        raise _lock_error(folder, label, error) from error
    try:
        with ExitStack() as stack:
            try:
                stack.enter_context(lock_file(handle, timeout))
            except LockTimeout:
                holder = os.pread(handle, 32, 0).decode("ascii", "replace").partition("\n")[0]
                by = f" by pid {holder}" if holder.isdigit() else ""
                raise Locked(
                    f"{label} is locked{by}",
                    hint="wait until the other command is done, and try again",
                ) from None
            except OSError as error:
                raise _lock_error(folder, label, error) from error
            died = os.fstat(handle).st_size > 0
            try:
                pid = b"%d\n" % os.getpid()
                with suppress(OSError):  # as on a full disk; the lock holds without it
                    os.pwrite(handle, pid, 0)  # it does not empty the file meanwhile
                    os.ftruncate(handle, len(pid))
                yield died
            finally:
                with suppress(OSError):  # then the next holder cleans up without need
                    os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _lock_error(folder: Path, label: str, error: OSError) -> StoreError:
    return StoreError(
        f"cannot take the lock of {label}: {error.strerror}",
        code="cannot_open" if os.access(folder, os.W_OK) else "read_only",
        hint=f"writing needs write access to the folder {os.path.basename(folder)}",
    )
