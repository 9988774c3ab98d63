"""The log on disk: its files and key, reading, appending, and the proofs that are built from it.

Each proof is verified as its reader will verify it, so damage is found before signing.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import Conflict, InvalidInput, NotFound, ProofError, StoreError, VerificationFailed
from ...store import database
from ...store.connection import Connection, FileFormat, SqlRow, read_mark, write_mark
from ...store.database import typed_columns
from ...store.rows import row_checksum
from ...store.writer import writer_lock
from ...trust import ed25519, keyfile
from ...util.files import move_durable, sync_folder
from ..ledger_protocol import NO_PARENT, CommitRequest
from . import merkle, note
from .merkle import EMPTY_ROOT, HASH_BYTES, LeafRange, Subtree, is_consistent, leaf_hash
from .note import (
    ALGORITHM_ED25519,
    Checkpoint,
    Cosignature,
    SignatureLine,
    SignedNote,
    VerifierKey,
    encode_entry,
)

LOG_APPLICATION_ID = 0x62726C31
"""Marks the file as a log (SQLite header, offset 68): "brl1"."""
LOG_SCHEMA_VERSION = 1

LOG_TABLES = (
    """CREATE TABLE identity (
  key BLOB PRIMARY KEY,
  file TEXT NOT NULL,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE entries (
  number INTEGER PRIMARY KEY,
  brain BLOB NOT NULL,
  seq INTEGER NOT NULL,
  snapshot BLOB NOT NULL,
  parent BLOB NOT NULL,
  time INTEGER NOT NULL,
  hashes BLOB NOT NULL,
  UNIQUE (brain, seq),
  UNIQUE (brain, parent, seq)
) STRICT""",
    """CREATE TABLE checkpoints (
  size INTEGER PRIMARY KEY,
  root BLOB NOT NULL,
  signature BLOB NOT NULL
) STRICT""",
    """CREATE TABLE cosignatures (
  size INTEGER NOT NULL,
  key TEXT NOT NULL,
  signature BLOB NOT NULL,
  PRIMARY KEY (size, key)
) STRICT, WITHOUT ROWID""",
)
LOG = FileFormat(
    file_name="log.db",
    noun="a log",
    label="the log",
    folder="the folder of the log",
    damaged="run `brain verify --ledger local` for details, and restore the folder of the log"
    " from a backup",
    application_id=LOG_APPLICATION_ID,
    version=LOG_SCHEMA_VERSION,
    tables=LOG_TABLES,
    timeout=60.0,
    foreign_hint="restore the folder of the log from a backup that is not older",
    version_hint="a newer release wrote it; upgrade to read it",
    read_only_hint="committing needs write access to the folder of the log",
)


LOG_DATABASE = LOG.file_name
LOG_LOCK_SECONDS = LOG.timeout
"""Seconds to wait for other processes."""
NO_LOG_HERE = (
    "there is no log here: it was deleted, though it had entries, or it is on another machine,"
    " which is where to compare it"
)


def create_log(folder: Path, timeout: float = LOG_LOCK_SECONDS) -> None:
    """Create a log in `folder`, unless there is one; the folder is created too.

    Only the user can read folder, database and key, whatever the umask. Raises
    `StoreError` (`read_only`, `cannot_open`, `no_space`, `io_error`), `Locked`, or
    `VerificationFailed` (`rolled_back`) if there was a log that is gone.
    """
    if os.path.lexists(folder / LOG_DATABASE):
        return
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)
        with writer_lock(folder, timeout, "the log"):
            if not os.path.lexists(folder / LOG_DATABASE):
                _refuse_lost_log(folder)
                _build_log(folder)
    except OSError as error:
        raise database.open_database_error(error, LOG) from error


def _refuse_lost_log(folder: Path) -> None:
    if read_mark(os.fspath(folder / LOG_DATABASE)):
        raise VerificationFailed(
            f"the log in {folder} is gone, though entries of it were acknowledged",
            code="rolled_back",
            hint="restore the folder of the log from a backup;"
            " to start another log, use another folder",
        )


def _build_log(folder: Path) -> None:
    path = os.fspath(folder / f"{LOG_DATABASE}.new")
    _remove_unfinished(path)
    for unfinished in folder.glob(".log-*"):  # a partly written key
        unfinished.unlink()
    key = keyfile.create_key(folder, f"log-{secrets.token_hex(8)}")
    identity = key.key, key.name, row_checksum(key.key, key.name.encode())
    database.create_file(path, LOG, [("INSERT INTO identity VALUES (?, ?, ?)", identity)])
    database.open_file(path, LOG).close()  # which begins the write-ahead log
    move_durable(path, folder / LOG_DATABASE)
    _remove_unfinished(path)
    sync_folder(os.path.dirname(os.path.abspath(folder)))


def _remove_unfinished(path: str) -> None:
    for end in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + end)


def open_log_writable(folder: Path, timeout: float = LOG_LOCK_SECONDS) -> Connection:
    """Open the log in `folder` for appending.

    Raises `NotFound` (`no_store`), `StoreError` (`foreign_owner`, `bad_store`,
    `unsupported_version`, `read_only`, `cannot_open`), `Locked`.
    """
    return database.open_file(os.fspath(folder / LOG_DATABASE), LOG, timeout)


def open_log_readonly(folder: Path, timeout: float = LOG_LOCK_SECONDS) -> Connection | None:
    """Open the log in `folder` for reading, None if there is none.

    Raises as `open_log_writable`, and `VerificationFailed` (`rolled_back`) if it is gone.
    """
    try:
        return database.open_file(os.fspath(folder / LOG_DATABASE), LOG, timeout, readonly=True)
    except NotFound:
        _refuse_lost_log(folder)
        return None


def load_log_key(folder: Path, log: LogReader) -> bytes:
    """Return the private key of a log.

    Raises `NotFound` (`no_key`), `InvalidInput` (`wrong_key`, `bad_key`), `BrainError`
    (`unsafe_key_folder`, `unsafe_key_file`).
    """
    seed = keyfile.load_key(folder, log.key_file)
    if ed25519.public_key(seed) != log.key.key:
        raise InvalidInput(
            f"the key in {folder} belongs to another log",
            code="wrong_key",
            hint="restore the folder of the log from a backup",
        )
    return seed


_ENTRY_COLUMNS = typed_columns(
    "number INTEGER, brain BLOB, seq INTEGER, snapshot BLOB, parent BLOB, time INTEGER, hashes BLOB"
)
_CHECKPOINT_COLUMNS = typed_columns("size INTEGER, root BLOB, signature BLOB")
_HEADS_SQL = f"""
WITH wanted(id) AS (VALUES {{rows}})
SELECT {_ENTRY_COLUMNS}, EXISTS (
  SELECT 1 FROM entries AS child
  WHERE child.brain = last.brain AND child.parent = last.snapshot AND child.seq > last.seq)
FROM entries AS last WHERE number IN (
  SELECT (SELECT number FROM entries WHERE brain = wanted.id ORDER BY seq DESC LIMIT 1)
  FROM wanted)
"""
_OPENED_SQL = (
    "SELECT CAST(brain AS BLOB) FROM entries WHERE parent = zeroblob(32) AND brain IN ({keys})"
)


class IndexedEntry(NamedTuple):
    """An entry and its index in the log, from 0."""

    leaf_index: int
    brain: bytes
    seq: int
    snapshot: bytes
    parent: bytes
    time: int

    @property
    def leaf_data(self) -> bytes:
        """The data of its leaf."""
        return encode_entry(self[1:])


class SignedCheckpoint(NamedTuple):
    """A checkpoint and the log's signature, 64 bytes."""

    checkpoint: Checkpoint
    signature: bytes


def log_origin(key: bytes) -> str:
    """Return the origin of the log with a public key."""
    return f"brain.local/{sha256(key).hexdigest()[:16]}"


class LogReader:
    """Reads one log. Raises as `Connection`, and `StoreError` (`bad_log`) for damage."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        rows = db.fetch_all(
            f"SELECT {typed_columns('key BLOB, file TEXT, checksum BLOB')} FROM identity"
        )
        if len(rows) != 1 or row_checksum(rows[0][0], rows[0][1].encode()) != rows[0][2]:
            raise damaged_log_error("its identity is missing or wrong")
        ((key, self.key_file, _),) = rows
        self.key = VerifierKey(log_origin(key), ALGORITHM_ED25519, key)
        self.identity = f"tlog:{self.key.name}"

    @property
    def origin(self) -> str:
        """The name of the log."""
        return self.key.name

    def last_checkpoint(self) -> SignedCheckpoint:
        """Return the checkpoint of the whole log, which must have as many entries as the table."""
        entry_count_sql = "(SELECT ifnull(max(number) + 1, 0) FROM entries)"
        last_checkpoint_sql = (
            f"(SELECT {_CHECKPOINT_COLUMNS} FROM checkpoints ORDER BY size DESC LIMIT 1)"
        )
        ((entries, *row),) = self._db.fetch_all(
            f"SELECT * FROM (SELECT {entry_count_sql}) LEFT JOIN {last_checkpoint_sql}"
        )
        size, root, signature = row if row[0] is not None else (0, EMPTY_ROOT, b"")
        if size != entries:
            raise damaged_log_error(f"it has {entries} entries, and a checkpoint of {size}")
        return SignedCheckpoint(Checkpoint(self.origin, size, root), signature)

    def find_checkpoint(self, size: int) -> SignedCheckpoint | None:
        """Return the checkpoint of a size, None if it is not stored."""
        row = self._db.fetch_one(
            f"SELECT {_CHECKPOINT_COLUMNS} FROM checkpoints WHERE size = ?", (size,)
        )
        return self._checkpoint_from_row(row) if row else None

    def _checkpoint_from_row(self, row: SqlRow) -> SignedCheckpoint:
        size, root, signature = row
        return SignedCheckpoint(Checkpoint(self.origin, size, root), signature)

    def last_cosigned_size(self, least: int) -> int | None:
        """Return the greatest size, `least` or more, that a witness cosigned."""
        row = self._db.fetch_one("SELECT max(size) FROM cosignatures WHERE size >= ?", (least,))
        return row[0] if row else None

    def count_witnesses(self, least: int) -> int:
        """Count the witnesses that cosigned a checkpoint of `least` entries or more."""
        sql = "SELECT count(DISTINCT key) FROM cosignatures WHERE size >= ?"
        row = self._db.fetch_one(sql, (least,))
        return int(row[0]) if row else 0

    def cosignatures(self, size: int) -> list[tuple[str, bytes]]:
        """Return the verifier keys and signatures of the witnesses of a size."""
        sql = f"SELECT {typed_columns('key TEXT, signature BLOB')} FROM cosignatures"
        return [
            (key, signature)
            for key, signature in self._db.fetch_all(f"{sql} WHERE size = ?", (size,))
        ]

    def signature_line(self, signature: bytes) -> SignatureLine:
        """Return the signature line of the log."""
        return SignatureLine(self.key.name, self.key.id, signature)

    def head(self, brain: bytes) -> IndexedEntry | None:
        """Return the last entry of a brain."""
        return self.heads([brain]).get(brain)

    def heads(self, brains: Sequence[bytes]) -> dict[bytes, IndexedEntry]:
        """Return the last entries of those brains that have one.

        Both indexes are used: one for the last entry, the other to check that none follows.
        """
        opened = {brain for (brain,) in self._db.fetch_by_keys(_OPENED_SQL, brains)}
        heads = {}
        for *row, has_successor in self._db.fetch_by_keys(_HEADS_SQL, brains):
            entry = verify_entry_row(row)
            if has_successor:
                raise damaged_log_error(
                    f"its indexes do not agree on what follows entry {entry.leaf_index}"
                )
            heads[entry.brain] = entry
        if opened - heads.keys():
            raise damaged_log_error("its indexes do not agree on which brains it holds")
        return heads

    def find_entry(self, brain: bytes, snapshot: bytes) -> IndexedEntry | None:
        """Return the last entry of a brain for a snapshot."""
        head = self.head(brain)
        if head is None or head.snapshot == snapshot:
            return head
        child = "SELECT max(seq) FROM entries WHERE brain = ? AND parent = ?"
        row = self._db.fetch_one(
            f"SELECT {_ENTRY_COLUMNS} FROM entries WHERE brain = ? AND seq = ({child}) - 1",
            (brain, brain, snapshot),
        )
        if row is None:
            return None
        entry = verify_entry_row(row)
        if entry.snapshot != snapshot:
            raise damaged_log_error(f"entry {entry.leaf_index} is not the parent of the next one")
        return entry

    def history(self, brain: bytes) -> list[IndexedEntry]:
        """Return all entries of a brain, oldest first."""
        sql = f"SELECT {_ENTRY_COLUMNS} FROM entries WHERE brain = ? ORDER BY seq"
        return verify_entry_chain(
            [verify_entry_row(row) for row in self._db.fetch_all(sql, (brain,))]
        )

    def subtree_hashes(self, subtrees: Iterable[Subtree]) -> list[bytes]:
        """Return the hashes of complete subtrees."""
        subtree_list = list(subtrees)  # O(log n) of them
        keys = ",".join("?" * len(subtree_list))
        sql = f"SELECT number, CAST(hashes AS BLOB) FROM entries WHERE number IN ({keys})"
        rows: dict[int, bytes] = dict(
            self._db.fetch_all(sql, [subtree.last_leaf for subtree in subtree_list])
        )
        hashes = [
            rows.get(subtree.last_leaf, b"")[HASH_BYTES * subtree.level :][:HASH_BYTES]
            for subtree in subtree_list
        ]
        if any(len(hash) != HASH_BYTES for hash in hashes):
            raise damaged_log_error("a hash of it is missing")
        return hashes

    def range_hashes(self, ranges: Sequence[LeafRange]) -> list[bytes]:
        """Return the hashes of ranges of leaves."""
        covers = [merkle.cover_range(*leaf_range) for leaf_range in ranges]
        hashes = iter(self.subtree_hashes(subtree for cover in covers for subtree in cover))
        return [merkle.fold_hashes([next(hashes) for _ in cover]) for cover in covers]

    def stored_checkpoints(self) -> list[SignedCheckpoint]:
        """Return the stored checkpoints, including the last one."""
        sql = f"SELECT {_CHECKPOINT_COLUMNS} FROM checkpoints ORDER BY size"
        return [self._checkpoint_from_row(row) for row in self._db.fetch_all(sql)]

    def root_at(self, size: int) -> bytes:
        """Return the root of the first entries."""
        return merkle.fold_hashes(self.subtree_hashes(merkle.cover_range(0, size)))

    def integrity_errors(self) -> list[str]:
        """Return the errors that SQLite finds in the file and its indexes."""
        lines = [str(line) for (line,) in self._db.fetch_all("PRAGMA integrity_check(100)")]
        return [] if lines == ["ok"] else lines

    def iter_entry_rows(self, size: int) -> Iterator[SqlRow]:
        """Yield the rows of the first `size` entries, unverified."""
        sql = f"SELECT {_ENTRY_COLUMNS} FROM entries WHERE number < ? ORDER BY number"
        return self._db.stream_rows(sql, (size,))

    def iter_rows_by_brain(self) -> Iterator[SqlRow]:
        """Yield the rows of all entries by brain, in order, unverified."""
        return self._db.stream_rows(f"SELECT {_ENTRY_COLUMNS} FROM entries ORDER BY brain, seq")

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def verify_entry_row(row: Sequence[Any]) -> IndexedEntry:
    """Return the entry of a row, whose leaf must have the first hash in the row."""
    entry = IndexedEntry(*row[:-1])
    if leaf_hash(entry.leaf_data) != row[-1][:HASH_BYTES]:
        raise damaged_log_error(f"entry {entry.leaf_index} does not have its hash")
    return entry


def verify_entry_chain(history: list[IndexedEntry]) -> list[IndexedEntry]:
    """Return the entries of a brain, each of which must follow the one before."""
    parent = NO_PARENT
    for seq, entry in enumerate(history, 1):
        if (entry.seq, entry.parent) != (seq, parent):
            raise damaged_log_error(f"entry {entry.leaf_index} does not follow the entry before")
        parent = entry.snapshot
    return history


def damaged_log_error(damage: str) -> StoreError:
    """Return the error for a damaged log."""
    return StoreError(
        f"the log is damaged: {damage}",
        code="bad_log",
        hint="restore the folder of the log from a backup that is not older",
    )


class LogWriter(LogReader):
    """A log for appending; `path` is its file, next to which the high-water mark is stored."""

    def __init__(self, db: Connection, path: str) -> None:
        super().__init__(db)
        self._path = path

    def append(
        self, requests: Sequence[CommitRequest], time: int, seed: bytes
    ) -> list[IndexedEntry]:
        """Record all requests, or none, and return their entries in the same order.

        A request for the head of its brain returns the entry of the head. New entries are ordered
        by brain, which fills the indexes from left to right. Raises `Conflict` (`stale_parent`),
        `NotFound` (`not_open`), and `VerificationFailed` (`rolled_back`, `log_forked`) if the log
        is not the one that was last appended to.
        """
        with self._transaction():
            last = self.last_checkpoint().checkpoint
            compact_range = self._load_compact_range(last)
            self.refuse_rollback(read_mark(self._path))
            entries, new_entries = self._plan_entries(requests, last.size, time)
            if new_entries:
                self._insert_entries(new_entries, compact_range)
                self._sign_checkpoint(
                    last.size,
                    Checkpoint(self.origin, compact_range.size, compact_range.root_hash()),
                    seed,
                )
        self._update_mark()
        return entries

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.begin()
        try:
            yield
            self._db.commit()
        except BaseException:
            self._db.roll_back()
            raise

    def _load_compact_range(self, last: Checkpoint) -> merkle.CompactRange:
        """Return the compact range of the log, which must have the root that was signed last."""
        compact_range = merkle.CompactRange(
            last.size, self.subtree_hashes(merkle.cover_range(0, last.size))
        )
        if compact_range.root_hash() != last.root:
            raise damaged_log_error("its hashes do not lead to the root of its checkpoint")
        return compact_range

    def refuse_rollback(self, mark: bytes) -> None:
        """Raise unless the log still holds a state, given as its size and root.

        Raises `VerificationFailed` (`rolled_back`, `log_forked`).
        """
        rollback = find_rollback(self, mark, self.last_checkpoint().checkpoint)
        if rollback:
            code, message = rollback
            raise VerificationFailed(
                message,
                code=code,
                hint="restore the folder of the log from a backup that is not older;"
                " appending would fork the log",
            )

    def _plan_entries(
        self, requests: Sequence[CommitRequest], size: int, time: int
    ) -> tuple[list[IndexedEntry], list[IndexedEntry]]:
        """Return the entries of all requests, and the new ones among them in order of writing."""
        brains = [request.brain for request in requests]
        order = sorted(range(len(requests)), key=brains.__getitem__)
        heads = self.heads(sorted(set(brains)))
        entry_of_request: dict[int, IndexedEntry] = {}
        new_entries: list[IndexedEntry] = []
        for position in order:
            brain, snapshot, parent = request = requests[position]
            head = heads.get(brain)
            if head is None or head.snapshot != snapshot:
                seq = _next_seq(head, request)
                head = IndexedEntry(
                    leaf_index=size + len(new_entries),
                    brain=brain,
                    seq=seq,
                    snapshot=snapshot,
                    parent=parent,
                    time=time,
                )
                heads[brain] = head
                new_entries.append(head)
            entry_of_request[position] = head
        return [entry_of_request[position] for position in range(len(requests))], new_entries

    def _insert_entries(
        self, new_entries: Sequence[IndexedEntry], compact_range: merkle.CompactRange
    ) -> None:
        hashes = compact_range.append_leaves([leaf_hash(entry.leaf_data) for entry in new_entries])
        self._db.execute_many(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (*entry, subtree_hashes)
                for entry, subtree_hashes in zip(new_entries, hashes, strict=True)
            ),
        )

    def _sign_checkpoint(self, previous_size: int, checkpoint: Checkpoint, seed: bytes) -> None:
        """Sign the new state; delete the checkpoint before unless a witness cosigned it."""
        signature = ed25519.sign_message(seed, checkpoint.text.encode())
        self._store_checkpoint(checkpoint, signature)
        self._db.execute(
            "DELETE FROM checkpoints WHERE size = ?1"
            " AND NOT EXISTS (SELECT 1 FROM cosignatures WHERE size = ?1)",
            (previous_size,),
        )

    def _store_checkpoint(self, checkpoint: Checkpoint, signature: bytes) -> None:
        self._db.execute(
            "INSERT OR IGNORE INTO checkpoints VALUES (?, ?, ?)",
            (checkpoint.size, checkpoint.root, signature),
        )

    def _update_mark(self) -> None:
        last = self.last_checkpoint().checkpoint
        write_mark(self._path, last.size.to_bytes(8, "big") + last.root)

    def store_cosignatures(
        self, note: SignedNote, state: Checkpoint, cosignatures: Sequence[Cosignature]
    ) -> None:
        """Store a checkpoint of this log with cosignatures that were verified."""
        own = note.find_signature(self.key)
        lines = [
            (cosignature.key, note.find_signature(cosignature.key)) for cosignature in cosignatures
        ]
        assert own is not None
        with self._transaction():
            self._store_checkpoint(state, own.signature)
            self._db.execute_many(
                "INSERT OR REPLACE INTO cosignatures VALUES (?, ?, ?)",
                [(state.size, str(key), line.signature) for key, line in lines if line],
            )


def find_rollback(log: LogReader, mark: bytes, last: Checkpoint) -> tuple[str, str] | None:
    """Return code and message if the log does not hold the state of a mark, else None."""
    size, root = int.from_bytes(mark[:8], "big"), mark[8:]
    if size > last.size:
        return "rolled_back", f"the log held {size} entries, and now ends at {last.size}"
    if mark and log.root_at(size) != root:
        return "log_forked", f"the first {size} entries are not those that were acknowledged"
    return None


def _next_seq(head: IndexedEntry | None, request: CommitRequest) -> int:
    """Return the `seq` of a new commitment, whose parent must be the head."""
    if head is None:
        if request.parent == NO_PARENT:
            return 1
        raise NotFound(
            f"the log does not hold the brain {request.brain.hex()}",
            code="not_open",
            hint="open it first, with `brain chain open`",
        )
    if request.parent == head.snapshot:
        return head.seq + 1
    raise Conflict(
        f"the log has the brain at {head.snapshot.hex()}, commitment {head.seq},"
        f" not at the parent {request.parent.hex()}",
        code="stale_parent",
        hint="merge that snapshot, and commit the merged one",
    )


def checkpoint_at(log: LogReader, size: int) -> Checkpoint:
    """Return the checkpoint of the first `size` entries, which the last one has to extend.

    Raises `NotFound` (`no_checkpoint`).
    """
    last = log.last_checkpoint().checkpoint
    if not 0 < size <= last.size:
        raise no_checkpoint_error(size)
    checkpoint = Checkpoint(log.origin, size, log.root_at(size))
    path = log.range_hashes(merkle.consistency_ranges(size, last.size))
    if not is_consistent(size, checkpoint.root, last.size, last.root, path):
        raise damaged_log_error(f"the first {size} entries do not lead to its checkpoint")
    return checkpoint


def signed_checkpoint_at(log: LogReader, size: int, seed: Callable[[], bytes]) -> SignedCheckpoint:
    """Return the checkpoint of the first `size` entries; sign it if it is not stored."""
    stored = log.find_checkpoint(size)
    if stored is not None:
        return stored
    checkpoint = checkpoint_at(log, size)
    return SignedCheckpoint(checkpoint, ed25519.sign_message(seed(), checkpoint.text.encode()))


def checkpoint_note(log: LogReader, signed_checkpoint: SignedCheckpoint) -> str:
    """Return a checkpoint as a signed note, with its stored cosignatures.

    Raises `NotFound` (`no_checkpoint`) for a log without entries, which has signed none.
    """
    if not signed_checkpoint.checkpoint.size:
        raise no_checkpoint_error(0)
    text, witnesses = _build_note(log, signed_checkpoint)
    _require_valid(lambda: note.verify_checkpoint(text, str(log.key), witnesses))
    return text


def _build_note(log: LogReader, signed_checkpoint: SignedCheckpoint) -> tuple[str, list[str]]:
    """Return the note of a checkpoint, and the verifier keys of its witnesses, unverified."""
    lines = [log.signature_line(signed_checkpoint.signature)]
    cosignatures = log.cosignatures(signed_checkpoint.checkpoint.size)
    for witness, signature in cosignatures:
        key = note.parse_verifier_key(witness)
        lines.append(note.SignatureLine(key.name, key.id, signature))
    text = str(note.SignedNote(signed_checkpoint.checkpoint.text, tuple(lines)))
    return text, [witness for witness, _ in cosignatures]


def inclusion_evidence(
    log: LogReader, entry: IndexedEntry, signed_checkpoint: SignedCheckpoint
) -> dict[str, Any]:
    """Return the field `log` of evidence that a checkpoint holds an entry.

    Raises `NotFound` (`no_checkpoint`) if the checkpoint is older than the entry.
    """
    index, size = entry.leaf_index, signed_checkpoint.checkpoint.size
    if index >= size:
        raise no_checkpoint_error(size)
    text, witnesses = _build_note(log, signed_checkpoint)
    key, data = str(log.key), entry.leaf_data
    path = log.range_hashes(merkle.inclusion_ranges(index, size))
    _require_valid(lambda: note.verify_inclusion(text, key, index, data, path, witnesses))
    return {
        "checkpoint": text,
        "key": key,
        "index": index,
        "entry": data.hex(),
        "path": [hash.hex() for hash in path],
    }


def no_checkpoint_error(size: int) -> NotFound:
    """Return the error for a size without a checkpoint."""
    return NotFound(
        f"there is no checkpoint of {size} entries",
        code="no_checkpoint",
        hint="`brain chain status` prints the last one, once something was committed",
    )


def _require_valid(verify: Callable[[], object]) -> None:
    try:
        verify()
    except ProofError as error:
        raise damaged_log_error(error.message) from error
