"""Reads entries, heads, hashes and checkpoints of the log, verified while reading.

The hash of its leaf proves an entry, the root proves the hashes, and the signature of the
checkpoint proves the root. So damage raises an error and never gives a wrong result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from ...errors import StoreError
from ...store.connection import Connection, SqlRow
from ...store.database import typed_columns
from ...store.rows import row_checksum
from ..ledger_protocol import NO_PARENT
from . import compact_ranges
from .checkpoints import Checkpoint
from .compact_ranges import LeafRange, Subtree
from .log_entry import encode_entry
from .rfc6962 import EMPTY_ROOT, HASH_BYTES, leaf_hash
from .signed_note import ALGORITHM_ED25519, SignatureLine, VerifierKey

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
        covers = [compact_ranges.cover_range(*leaf_range) for leaf_range in ranges]
        hashes = iter(self.subtree_hashes(subtree for cover in covers for subtree in cover))
        return [compact_ranges.fold_hashes([next(hashes) for _ in cover]) for cover in covers]

    def stored_checkpoints(self) -> list[SignedCheckpoint]:
        """Return the stored checkpoints, including the last one."""
        sql = f"SELECT {_CHECKPOINT_COLUMNS} FROM checkpoints ORDER BY size"
        return [self._checkpoint_from_row(row) for row in self._db.fetch_all(sql)]

    def root_at(self, size: int) -> bytes:
        """Return the root of the first entries."""
        return compact_ranges.fold_hashes(self.subtree_hashes(compact_ranges.cover_range(0, size)))

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
