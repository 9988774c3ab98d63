"""A hardened SQLite connection that raises typed errors only, and the checks on its files.

A program with write access to the folder can replace a file by a pipe, a device, a link or the
file of another user, which are neither read nor written. A file that is removed or replaced
while it is open still accepts writes, but loses them when it is closed. A process must not open
a database file by other means while it is open here: closing any handle of it would drop the
engine's POSIX locks.

SQLite silently drops the end of a damaged log, and with it acknowledged commits. So each commit
notes its latest operation in the file `mark`, the high-water mark; a store behind its mark has
lost something. The mark is not synced: a power cut may leave it behind the store, never ahead.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import apsw
from blake3 import blake3

from ..errors import Locked, StoreError
from ..named_tuple import NamedTuple

_OPEN_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NOT_REGULAR_ERRNOS = {errno.ELOOP, errno.ENXIO, errno.EISDIR}
"""The errors of opening a link, a pipe without a reader, or a folder."""


def open_regular_file(path: str | os.PathLike[str], flags: int, mode: int = 0o600) -> int:
    """Open a regular file and return its descriptor; `flags` must not truncate it.

    Raises `StoreError` as `check_regular_file`, and `OSError`.
    """
    try:
        handle = os.open(path, flags | _OPEN_FLAGS, mode)
    except OSError as error:
        if error.errno in _NOT_REGULAR_ERRNOS:
            raise _unsafe_file_error(path, "is not a regular file") from error
        raise
    try:
        check_regular_file(path, os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def check_regular_file(path: str | os.PathLike[str], st: os.stat_result) -> None:
    """Check that this is a regular file with one name that belongs to the user.

    Root may open the files of others. Raises `StoreError` (`bad_store`, `foreign_owner`).
    """
    if not stat.S_ISREG(st.st_mode):
        raise _unsafe_file_error(path, "is not a regular file")
    if os.geteuid() not in (0, st.st_uid):
        raise _unsafe_file_error(
            path, "belongs to another user", "foreign_owner", "let its owner run this"
        )
    if st.st_nlink > 1:
        raise _unsafe_file_error(path, "has another name elsewhere (a hard link)")


def copy_owner(handle: int, folder: str | os.PathLike[str]) -> None:
    """Give a file that root creates the owner of its folder."""
    if os.geteuid() == 0:
        owner = os.stat(folder)
        os.fchown(handle, owner.st_uid, owner.st_gid)


def _unsafe_file_error(
    path: str | os.PathLike[str],
    why: str,
    code: str = "bad_store",
    way_out: str = "it was not made by this program: move it away",
) -> StoreError:
    folder, name = os.path.split(os.fspath(path))
    return StoreError(
        f"{os.path.join(os.path.basename(folder), name)} {why}",
        code=code,
        hint=f"{way_out}, or copy the folder with `cp -r`",
    )


WAL_CHECKPOINT_PAGES = 128
"""Pages in the write-ahead log that trigger a checkpoint; opening reads the log through."""
MAX_WAL_BYTES = 4 << 20
"""A longer log is emptied at once; its file is truncated to this size."""
MAX_FIELD_BYTES = 32 << 20
"""The longest field of any row; the engine refuses longer ones before it reads them."""
KEYS_PER_QUERY = 256
"""Keys looked up by one statement."""

_QUERY_WIDTHS = (1, 2, 16, KEYS_PER_QUERY)
_FULL_SCAN_SHARE = 8
"""Reading a whole table is faster if at least one row in this many is wanted."""

SqlRow = tuple[Any, ...]
ContentVersion = tuple[int, int, int]

# The schema of a file is not trusted: no triggers, no views, no functions with side effects.
# Closing keeps the log, because checkpointing costs milliseconds; automatic checkpoints bound it.
_HARDENING_FLAGS = (
    (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
    (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
    (apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1),
)

# synchronous=FULL: with NORMAL, a power cut could lose acknowledged snapshots in the log.
_PRAGMAS = f"""
PRAGMA synchronous=FULL;
PRAGMA cell_size_check=ON;
PRAGMA temp_store=MEMORY;
PRAGMA wal_autocheckpoint={WAL_CHECKPOINT_PAGES};
PRAGMA journal_size_limit={MAX_WAL_BYTES};
"""


class FileFormat(NamedTuple):
    """A kind of database file: how it is created, checked and opened, and what its errors say.

    `label` names it, `content_label` its content if that has another name, and `folder` where it
    is; `damaged` is the hint for a damaged one. `application_id` marks the file (SQLite header,
    offset 68), and `noun` says what a foreign file is not. `tables` are the statements that create
    its tables; without any, those of a file are not checked. `older_tables` are those of older
    versions, which lack the last ones. Files of `outdated` versions are refused as OUTDATED.
    `timeout` is in seconds, for the transaction of another process. `synchronous` says what a power
    cut may lose: with NORMAL the last writes, with OFF everything. A disposable file may have more
    tables and be deleted at any time. If `is_cut_refused`, so is a file that ends within a page,
    whose rest the engine would take for zeros. Hints are by default those for a damaged file.
    """

    file_name: str
    noun: str
    label: str
    folder: str
    damaged: str
    application_id: int
    version: int
    tables: tuple[str, ...]
    timeout: float
    content_label: str = ""
    foreign_hint: str = ""
    version_hint: str = ""
    read_only_hint: str = ""
    synchronous: str = "FULL"
    page_bytes: int = 4096
    older_tables: Mapping[int, tuple[str, ...]] = {}
    outdated: tuple[int, ...] = ()
    is_disposable: bool = False
    is_cut_refused: bool = False


_WRITABLE_HINT = "check who may write to {folder}"
_OPENABLE_HINT = "check who may read and write {folder}"
_DAMAGE_ERRORS = (apsw.CorruptError, apsw.ConstraintError, apsw.SQLError, apsw.TooBigError)
_ENGINE_ERROR_TABLE: tuple[tuple[tuple[type[apsw.Error], ...], str, str, str], ...] = (
    ((apsw.FullError,), "no_space", "cannot grow, no space left", "free some space and try again"),
    ((apsw.ReadOnlyError, apsw.PermissionsError), "read_only", "cannot be written", _WRITABLE_HINT),
    ((apsw.CantOpenError,), "cannot_open", "cannot be opened", _OPENABLE_HINT),
    ((apsw.NotADBError,), "bad_store", "is not a store", "{damaged}"),
    (_DAMAGE_ERRORS, "bad_store", "is damaged", "{damaged}"),
    ((apsw.IOError,), "io_error", "cannot be read or written", "check the disk and its free space"),
    ((apsw.NoMemError,), "no_memory", "needs more memory than there is", "free some memory"),
    ((apsw.ConnectionClosedError,), "closed", "is closed", "open the brain again"),
)


_ENGINE_ERRORS = (apsw.Error, UnicodeDecodeError)


def translate_engine_error(error: Exception, format: FileFormat) -> Exception:
    """Return the typed error for an engine error; misuse by this program is not translated."""
    name = format.file_name
    if isinstance(error, UnicodeDecodeError):
        return StoreError(
            f"{name} is damaged: it holds text that is not UTF-8", hint=format.damaged
        )
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return Locked(
            f"another process is writing to {format.content_label or format.label}",
            hint="wait until it is done, and try again",
        )
    for kinds, code, problem, hint_format in _ENGINE_ERROR_TABLE:
        if isinstance(error, kinds):
            message, hint = f"{name} {problem}: {error}", hint_format.format_map(format._asdict())
            return StoreError(message, code=code, hint=hint)
    return error


class Connection:
    """A connection to one database file; raises only typed errors.

    `timeout` is in seconds, for the transaction of another process.
    """

    def __init__(self, filename: str, flags: int, format: FileFormat, timeout: float) -> None:
        self._watched_files: list[str] = []
        self._file_identities: dict[str, tuple[int, int]] = {}
        self._format = format
        self._was_begun = False
        self._rollbacks = 0
        self._timeout = int(timeout * 1000)
        try:
            self._raw = apsw.Connection(filename, flags=flags)
            for option, value in _HARDENING_FLAGS:
                self._raw.config(option, value)
            self._raw.limit(apsw.SQLITE_LIMIT_LENGTH, MAX_FIELD_BYTES)
            self._raw.set_busy_timeout(self._timeout)
            self._raw.execute(_PRAGMAS).fetchall()
        except _ENGINE_ERRORS as error:
            raise translate_engine_error(error, format) from error

    def execute(self, sql: str, args: Sequence[Any] = ()) -> None:
        """Run one statement to its end."""
        self._check_still_open()
        self.fetch_all(sql, args)

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each of `rows`."""
        self._check_still_open()
        try:
            self._raw.executemany(sql, rows)
        except _ENGINE_ERRORS as error:
            raise translate_engine_error(error, self._format) from error

    def fetch_one(self, sql: str, args: Sequence[Any] = ()) -> SqlRow | None:
        """Return the first row, or None."""
        return next(iter(self.fetch_all(sql, args)), None)

    def fetch_all(self, sql: str, args: Sequence[Any] = ()) -> list[SqlRow]:
        """Return all rows."""
        try:
            return self._raw.execute(sql, args).fetchall()
        except _ENGINE_ERRORS as error:
            raise translate_engine_error(error, self._format) from error

    def stream_rows(self, sql: str, args: Sequence[Any] = ()) -> Iterator[SqlRow]:
        """Yield the rows one by one."""
        cursor = self._raw.cursor()
        try:
            yield from cursor.execute(sql, args)
        except _ENGINE_ERRORS as error:
            raise translate_engine_error(error, self._format) from error
        finally:
            cursor.close(True)

    def fetch_by_keys(self, sql: str, keys: Sequence[Any]) -> Iterator[SqlRow]:
        """Yield the rows of `sql`, with a list of keys for `{keys}` or of rows for `{rows}`.

        Keys are looked up in slices. The last slice is padded with its last key, so that there
        are few different statements.
        """
        for start in range(0, len(keys), KEYS_PER_QUERY):
            keys_slice = list(keys[start : start + KEYS_PER_QUERY])
            width = next(width for width in _QUERY_WIDTHS if width >= len(keys_slice))
            keys_slice += keys_slice[-1:] * (width - len(keys_slice))
            yield from self.fetch_all(
                sql.format(keys=",".join("?" * width), rows=",".join(["(?)"] * width)), keys_slice
            )

    def should_scan(self, table: str, keys: int, max_lookups: int) -> bool:
        """Tell whether reading a whole table is faster than looking up so many keys.

        Up to `max_lookups` keys are looked up, since counting the rows would cost more.
        """
        if keys < max_lookups:
            return False
        ((rows,),) = self.fetch_all(f"SELECT count(*) FROM {table}")
        return keys * _FULL_SCAN_SHARE >= int(rows)

    def split_rows(self, table: str, size: int, max_ranges: int) -> list[tuple[int, int]]:
        """Return at most `max_ranges` ranges (first, last) of row numbers, in order.

        A range has `size` numbers, or more if there would be too many ranges.
        """
        sql = f"SELECT ifnull(min(number), 1), ifnull(max(number), 0) FROM {table}"
        ((first, last),) = self.fetch_all(sql)
        step = max(size, -(-(last - first + 1) // max_ranges))
        return [(start, min(start + step - 1, last)) for start in range(first, last + 1, step)]

    def make_tokenizer(self, spec: Sequence[str]) -> Callable[[str], list[str]]:
        """Return a function that splits a text into words as a full-text index does."""
        tokenize = self._raw.fts5_tokenizer(spec[0], list(spec[1:]))

        def cut(text: str) -> list[str]:
            words = tokenize(
                text.encode("utf-8", "replace"),
                apsw.FTS5_TOKENIZE_DOCUMENT,
                None,
                include_offsets=False,
                include_colocated=False,
            )
            return [str(word) for word in words]

        return cut

    def fetch_without_waiting(self, sql: str) -> list[SqlRow]:
        """Return the rows of a statement, or [] if it would have to wait for a lock."""
        self._raw.set_busy_timeout(0)
        try:
            return self.fetch_all(sql)
        except Locked:
            return []
        finally:
            self._raw.set_busy_timeout(self._timeout)

    @property
    def content_version(self) -> ContentVersion:
        """Another value whenever this connection may see other content than before.

        It counts commits of other connections, and changed rows and rollbacks of this one.
        """
        ((commits,),) = self.fetch_all("PRAGMA data_version")
        return commits, self._raw.total_changes(), self._rollbacks

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._raw.in_transaction

    def begin(self, *, exclusive: bool = False) -> None:
        """Begin a write transaction; an exclusive one is without the log and excludes readers.

        Raises `StoreError` (`store_replaced`) if the file or its log was removed since.
        """
        if exclusive:
            for file in self._watched_files[1:]:
                self._file_identities.pop(file, None)
        self.execute("BEGIN EXCLUSIVE" if exclusive else "BEGIN IMMEDIATE")
        self._was_begun = True
        try:
            self._remember_files()
        except StoreError:
            self.roll_back()
            raise

    @contextmanager
    def reading_one_state(self) -> Iterator[None]:
        """Let all reads inside see the same state, whatever others commit meanwhile."""
        if self._raw.in_transaction:
            yield
            return
        self.execute("BEGIN")
        try:
            yield
        finally:
            self.roll_back()

    def commit(self) -> None:
        """Make the changes since `begin` durable.

        Raises `StoreError` (`store_replaced`) if the file or its log was removed meanwhile, so
        that the changes are lost.
        """
        self.execute("COMMIT")
        self._was_begun = False
        self.check_files()

    def _check_still_open(self) -> None:
        """Refuse statements after the engine rolled back, as it does on a full disk.

        Each of them would be a separate transaction.
        """
        if self._was_begun and not self._raw.in_transaction:
            raise StoreError(
                "the transaction was rolled back after an earlier error",
                code="transaction_lost",
                hint="nothing of it was kept; see the first error",
            )

    def roll_back(self) -> None:
        """Roll back, unless the engine has done so."""
        self._was_begun = False
        self._rollbacks += 1
        if self._raw.in_transaction:
            self.execute("ROLLBACK")

    def watch_files(self, path: str) -> None:
        """From now on, notice that a file of the database at `path` is removed or replaced.

        A cache, which may be deleted at any time, is not watched.
        """
        self._watched_files = [path + side for side in ("", "-wal", "-shm")]
        self._remember_files()

    def _remember_files(self) -> None:
        for file in self._watched_files:
            if file not in self._file_identities and (identity := _file_identity(file)):
                self._file_identities[file] = identity
        self.check_files()

    def check_files(self) -> None:
        """Raise `StoreError` (`store_replaced`) if a watched file was removed or replaced."""
        for file, known in self._file_identities.items():
            if _file_identity(file) != known:
                raise StoreError(
                    f"{os.path.basename(file)} was removed or replaced while it was open",
                    code="store_replaced",
                    hint="this change was not recorded; restart this program, and run"
                    " `brain verify`",
                )

    def close(self) -> None:
        """Close the connection."""
        self._raw.close(True)


def _file_identity(file: str) -> tuple[int, int] | None:
    try:
        st = os.lstat(file)
    except FileNotFoundError:
        return None
    return st.st_dev, st.st_ino


MARK_FILE_NAME = "mark"
_MARK_CHECKSUM_BYTES = 8


def write_mark(store: str, head: bytes) -> None:
    """Record the encoded `head` of the operation log of the file `store`.

    The operation is durable already, so errors are ignored.
    """
    path = os.path.join(os.path.dirname(store), MARK_FILE_NAME)
    with suppress(OSError, StoreError):  # the next transaction raises a `StoreError` again
        is_new = not os.path.lexists(path)
        handle = open_regular_file(path, os.O_WRONLY | os.O_CREAT)
        try:
            if is_new:
                os.fchmod(handle, 0o600)
                copy_owner(handle, os.path.dirname(path))
            os.pwrite(handle, head + blake3(head).digest(_MARK_CHECKSUM_BYTES), 0)
        finally:
            os.close(handle)


def read_mark(store: str) -> bytes:
    """Return the head that was recorded last, b"" if the mark is missing or damaged.

    Raises `StoreError` as `open_regular_file`.
    """
    try:
        handle = open_regular_file(
            os.path.join(os.path.dirname(store), MARK_FILE_NAME), os.O_RDONLY
        )
    except OSError:
        return b""
    try:
        note = os.read(handle, 256)
    finally:
        os.close(handle)
    head, check = note[:-_MARK_CHECKSUM_BYTES], note[-_MARK_CHECKSUM_BYTES:]
    return head if check == blake3(head).digest(_MARK_CHECKSUM_BYTES) else b""


def describe_lost_operations(marked_head: bytes, head: bytes) -> str:
    """Describe the operations that are lost if the log ends at `head`; "" if none are."""
    last, here = int.from_bytes(marked_head[:8], "big"), int.from_bytes(head[:8], "big")
    if last > here:
        return f"operations {here + 1} to {last} were acknowledged and are not in the store"
    if last == here and marked_head != head:
        return f"operation {last} is not the one that was acknowledged"
    return ""
