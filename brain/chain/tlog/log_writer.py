"""Appends to the log: entries, hashes, indexes and checkpoint in one durable transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...errors import Conflict, NotFound, VerificationFailed
from ...store.connection import Connection, read_mark, write_mark
from ...trust import ed25519
from ..ledger_protocol import NO_PARENT, CommitRequest
from . import compact_ranges
from .checkpoints import Checkpoint, Cosignature
from .log_reader import IndexedEntry, LogReader, damaged_log_error
from .rfc6962 import leaf_hash
from .signed_note import SignedNote


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

    def _load_compact_range(self, last: Checkpoint) -> compact_ranges.CompactRange:
        """Return the compact range of the log, which must have the root that was signed last."""
        compact_range = compact_ranges.CompactRange(
            last.size, self.subtree_hashes(compact_ranges.cover_range(0, last.size))
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
        self, new_entries: Sequence[IndexedEntry], compact_range: compact_ranges.CompactRange
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
