"""Reading the log: entries, heads, hashes and proofs, each held against what must fit it.

An entry is proven by the hash of its leaf, a hash by the root that it leads to, and the
root by the signature of the checkpoint. So damage is an error, never an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from ...errors import StoreError
from ...store.connection import Connected, Connection, Row
from ...store.schema import columns
from ...store.sums import of_fields
from ..protocol import NO_PARENT
from . import shape
from .checkpoint import Checkpoint
from .entry import encode
from .hashing import EMPTY_ROOT, SIZE, leaf_hash
from .note import Line
from .shape import Range, Subtree
from .vkey import ED25519, VerifierKey

_ENTRY = columns(
    "number INTEGER, brain BLOB, seq INTEGER, snapshot BLOB, parent BLOB, time INTEGER, hashes BLOB"
)
_CHECKPOINT = columns("size INTEGER, root BLOB, signature BLOB")
_HEADS = f"""
WITH wanted(id) AS (VALUES {{rows}})
SELECT {_ENTRY}, EXISTS (
  SELECT 1 FROM entries AS child
  WHERE child.brain = last.brain AND child.parent = last.snapshot AND child.seq > last.seq)
FROM entries AS last WHERE number IN (
  SELECT (SELECT number FROM entries WHERE brain = wanted.id ORDER BY seq DESC LIMIT 1)
  FROM wanted)
"""
_OPENED = (
    "SELECT CAST(brain AS BLOB) FROM entries WHERE parent = zeroblob(32) AND brain IN ({keys})"
)


class Placed(NamedTuple):
    """An entry at its place in the log, from 0."""

    place: int
    brain: bytes
    seq: int
    snapshot: bytes
    parent: bytes
    time: int

    @property
    def data(self) -> bytes:
        """The data of its leaf."""
        return encode(self[1:])


class Signed(NamedTuple):
    """A checkpoint and the log's signature of it, 64 bytes."""

    checkpoint: Checkpoint
    signature: bytes


def origin_of(key: bytes) -> str:
    """Return what a log with that public key calls itself."""
    return f"brain.local/{sha256(key).hexdigest()[:16]}"


class LogReader(Connected):
    """What can be asked of a log; errors are those of `Connection`, and `StoreError`
    (`bad_log`) for what does not fit together."""

    def __init__(self, db: Connection) -> None:
        super().__init__(db)
        rows = db.all(f"SELECT {columns('key BLOB, file TEXT, checksum BLOB')} FROM identity")
        if len(rows) != 1 or of_fields(rows[0][0], rows[0][1].encode()) != rows[0][2]:
            raise damaged("it does not say who it is")
        ((key, self.key_file, _),) = rows
        self.key = VerifierKey(origin_of(key), ED25519, key)
        self.identity = f"tlog:{self.key.name}"

    @property
    def origin(self) -> str:
        """What the log calls itself."""
        return self.key.name

    def last(self) -> Signed:
        """Return the checkpoint of the whole log, which must end where the entries do."""
        ends = "(SELECT ifnull(max(number) + 1, 0) FROM entries)"
        last = f"(SELECT {_CHECKPOINT} FROM checkpoints ORDER BY size DESC LIMIT 1)"
        ((entries, *row),) = self._db.all(f"SELECT * FROM (SELECT {ends}) LEFT JOIN {last}")
        size, root, signature = row if row[0] is not None else (0, EMPTY_ROOT, b"")
        if size != entries:
            raise damaged(f"it has {entries} entries, and a checkpoint of {size}")
        return Signed(Checkpoint(self.origin, size, root), signature)

    def signed(self, size: int) -> Signed | None:
        """Return the checkpoint of a size, None if it is not kept."""
        row = self._db.one(f"SELECT {_CHECKPOINT} FROM checkpoints WHERE size = ?", (size,))
        return self._signed(row) if row else None

    def _signed(self, row: Row) -> Signed:
        size, root, signature = row
        return Signed(Checkpoint(self.origin, size, root), signature)

    def cosigned_size(self, least: int) -> int | None:
        """Return the greatest size, from `least` on, that a witness cosigned."""
        row = self._db.one("SELECT max(size) FROM cosignatures WHERE size >= ?", (least,))
        return row[0] if row else None

    def cosignatures(self, size: int) -> list[tuple[str, bytes]]:
        """Return the verifier keys of the witnesses of a size, and what they signed."""
        sql = f"SELECT {columns('key TEXT, signature BLOB')} FROM cosignatures"
        return [
            (key, signature) for key, signature in self._db.all(f"{sql} WHERE size = ?", (size,))
        ]

    def line(self, signature: bytes) -> Line:
        """Return the line by which the log signs."""
        return Line(self.key.name, self.key.id, signature)

    def head(self, brain: bytes) -> Placed | None:
        """Return the last entry of a brain."""
        return self.heads([brain]).get(brain)

    def heads(self, brains: Sequence[bytes]) -> dict[bytes, Placed]:
        """Return the last entries of those brains that have one.

        Both indexes are asked: one for the last entry, the other for one that follows it.
        """
        opened = {brain for (brain,) in self._db.among(_OPENED, brains)}
        out = {}
        for *row, followed in self._db.among(_HEADS, brains):
            placed = proven(row)
            if followed:
                raise damaged(f"its indexes do not agree on what follows entry {placed.place}")
            out[placed.brain] = placed
        if opened - out.keys():
            raise damaged("its indexes do not agree on which brains it holds")
        return out

    def find(self, brain: bytes, snapshot: bytes) -> Placed | None:
        """Return the last entry of a brain that is about a snapshot."""
        head = self.head(brain)
        if head is None or head.snapshot == snapshot:
            return head
        child = "SELECT max(seq) FROM entries WHERE brain = ? AND parent = ?"
        row = self._db.one(
            f"SELECT {_ENTRY} FROM entries WHERE brain = ? AND seq = ({child}) - 1",
            (brain, brain, snapshot),
        )
        if row is None:
            return None
        placed = proven(row)
        if placed.snapshot != snapshot:
            raise damaged(f"entry {placed.place} is not what the next one follows")
        return placed

    def history(self, brain: bytes) -> list[Placed]:
        """Return all entries of a brain, the first first."""
        sql = f"SELECT {_ENTRY} FROM entries WHERE brain = ? ORDER BY seq"
        return chained([proven(row) for row in self._db.all(sql, (brain,))])

    def hashes(self, subtrees: Iterable[Subtree]) -> list[bytes]:
        """Return the hashes of complete subtrees."""
        wanted = list(subtrees)  # O(log n) of them
        keys = ",".join("?" * len(wanted))
        sql = f"SELECT number, CAST(hashes AS BLOB) FROM entries WHERE number IN ({keys})"
        rows: dict[int, bytes] = dict(self._db.all(sql, [one.last for one in wanted]))
        out = [rows.get(one.last, b"")[SIZE * one.level :][:SIZE] for one in wanted]
        if any(len(hash) != SIZE for hash in out):
            raise damaged("a hash of it is missing")
        return out

    def ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        """Return the hashes of ranges of leaves."""
        covers = [shape.cover(*one) for one in ranges]
        hashes = iter(self.hashes(subtree for cover in covers for subtree in cover))
        return [shape.folded([next(hashes) for _ in cover]) for cover in covers]

    def kept(self) -> list[Signed]:
        """Return the checkpoints that are kept, the last one among them."""
        sql = f"SELECT {_CHECKPOINT} FROM checkpoints ORDER BY size"
        return [self._signed(row) for row in self._db.all(sql)]

    def root(self, size: int) -> bytes:
        """Return the root of the first entries."""
        return shape.folded(self.hashes(shape.cover(0, size)))

    def integrity(self) -> list[str]:
        """Return what the engine finds wrong with the file and its indexes."""
        found = [str(line) for (line,) in self._db.all("PRAGMA integrity_check(100)")]
        return [] if found == ["ok"] else found

    def every_entry(self, size: int) -> Iterator[Row]:
        """Yield the first rows of entries, unproven."""
        sql = f"SELECT {_ENTRY} FROM entries WHERE number < ? ORDER BY number"
        return self._db.stream(sql, (size,))

    def by_brain(self) -> Iterator[Row]:
        """Yield all rows of entries, unproven, those of a brain together and in order."""
        return self._db.stream(f"SELECT {_ENTRY} FROM entries ORDER BY brain, seq")

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def proven(row: Sequence[Any]) -> Placed:
    """Return the entry of a row, whose leaf must have the first hash in the row."""
    placed = Placed(*row[:-1])
    if leaf_hash(placed.data) != row[-1][:SIZE]:
        raise damaged(f"entry {placed.place} does not fit its hash")
    return placed


def chained(history: list[Placed]) -> list[Placed]:
    """Return the entries of a brain, each of which must follow the one before."""
    parent = NO_PARENT
    for seq, one in enumerate(history, 1):
        if (one.seq, one.parent) != (seq, parent):
            raise damaged(f"entry {one.place} does not follow the one before")
        parent = one.snapshot
    return history


def damaged(what: str) -> StoreError:
    """Return the error for a log that is not what it was."""
    return StoreError(
        f"the log is damaged: {what}",
        code="bad_log",
        hint="bring the folder of the log back from a copy that is not older",
    )
