"""Appending to the log: entries, hashes, indexes and checkpoint in one durable transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...errors import Conflict, NotFound, VerificationFailed
from ...store import mark
from ...store.connection import Connection
from ...trust import ed25519
from ..protocol import NO_PARENT, Wish
from . import shape
from .checkpoint import Checkpoint
from .cosignature import Cosigned
from .hashing import leaf_hash
from .note import Note
from .reading import LogReader, Placed, damaged


class LogWriter(LogReader):
    """A log that can be appended to; `path` is its file, beside which the mark is kept."""

    def __init__(self, db: Connection, path: str) -> None:
        super().__init__(db)
        self._path = path

    def append(self, wishes: Sequence[Wish], time: int, seed: bytes) -> list[Placed]:
        """Record all wishes, or none of them, and return their entries in the same order.

        A wish for what is its brain's head already gets the entry of that. New entries
        stand in the order of their brains, which fills the indexes from left to right.
        Raises `Conflict` (`stale_parent`), `NotFound` (`not_open`), and
        `VerificationFailed` (`rolled_back`, `log_forked`) if the log is not the one that
        was last appended to.
        """
        with self._writing():
            last = self.last().checkpoint
            edge = self._edge(last)
            self.refuse_loss(mark.read(self._path))
            placed, fresh = self._decide(wishes, last.size, time)
            if fresh:
                self._write(fresh, edge)
                self._sign(last.size, Checkpoint(self.origin, edge.size, edge.root()), seed)
        self._note()
        return placed

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.begin()
        try:
            yield
            self._db.commit()
        except BaseException:
            self._db.abandon()
            raise

    def _edge(self, last: Checkpoint) -> shape.Edge:
        """Return the right edge, which must lead to the root that was signed last."""
        edge = shape.Edge(last.size, self.hashes(shape.cover(0, last.size)))
        if edge.root() != last.root:
            raise damaged("its hashes do not lead to the root of its checkpoint")
        return edge

    def refuse_loss(self, noted: bytes) -> None:
        """Refuse to go on if the log does not hold a state, noted as size and root."""
        found = behind(self, noted, self.last().checkpoint)
        if found:
            code, message = found
            raise VerificationFailed(
                message,
                code=code,
                hint="bring the folder of the log back from a copy that is not older;"
                " appending would fork the log",
            )

    def _decide(
        self, wishes: Sequence[Wish], size: int, time: int
    ) -> tuple[list[Placed], list[Placed]]:
        """Return the entries of all wishes, and those of them that are new, in their order."""
        brains = [wish.brain for wish in wishes]
        order = sorted(range(len(wishes)), key=brains.__getitem__)
        heads = self.heads(sorted(set(brains)))
        out: dict[int, Placed] = {}
        fresh: list[Placed] = []
        for place in order:
            brain, snapshot, parent = wish = wishes[place]
            head = heads.get(brain)
            if head is None or head.snapshot != snapshot:
                seq = _seq_after(head, wish)
                head = Placed(size + len(fresh), brain, seq, snapshot, parent, time)
                heads[brain] = head
                fresh.append(head)
            out[place] = head
        return [out[place] for place in range(len(wishes))], fresh

    def _write(self, fresh: Sequence[Placed], edge: shape.Edge) -> None:
        hashes = edge.extend([leaf_hash(one.data) for one in fresh])
        self._db.run_many(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
            ((*one, of_it) for one, of_it in zip(fresh, hashes, strict=True)),
        )

    def _sign(self, before: int, now: Checkpoint, seed: bytes) -> None:
        """Sign the new state; of the one before only what a witness cosigned is kept."""
        signature = ed25519.sign(seed, now.text.encode())
        self._keep(now, signature)
        self._db.run(
            "DELETE FROM checkpoints WHERE size = ?1"
            " AND NOT EXISTS (SELECT 1 FROM cosignatures WHERE size = ?1)",
            (before,),
        )

    def _keep(self, checkpoint: Checkpoint, signature: bytes) -> None:
        self._db.run(
            "INSERT OR IGNORE INTO checkpoints VALUES (?, ?, ?)",
            (checkpoint.size, checkpoint.root, signature),
        )

    def _note(self) -> None:
        last = self.last().checkpoint
        mark.write(self._path, last.size.to_bytes(8, "big") + last.root)

    def cosign(self, told: Note, state: Checkpoint, judges: Sequence[Cosigned]) -> None:
        """Keep a checkpoint of this log with the lines of witnesses, which were verified."""
        own = told.by(self.key)
        lines = [(one.key, told.by(one.key)) for one in judges]
        assert own is not None
        with self._writing():
            self._keep(state, own.signature)
            self._db.run_many(
                "INSERT OR REPLACE INTO cosignatures VALUES (?, ?, ?)",
                [(state.size, str(key), line.signature) for key, line in lines if line],
            )


def behind(log: LogReader, noted: bytes, last: Checkpoint) -> tuple[str, str] | None:
    """Return in a code and in words how a log fell behind what was noted of it."""
    size, root = int.from_bytes(noted[:8], "big"), noted[8:]
    if size > last.size:
        return "rolled_back", f"the log held {size} entries, and now ends at {last.size}"
    if noted and log.root(size) != root:
        return "log_forked", f"the first {size} entries are not those that were acknowledged"
    return None


def _seq_after(head: Placed | None, wish: Wish) -> int:
    """Return which commitment of its brain a wish makes; the parent it names must be the head."""
    if head is None:
        if wish.parent == NO_PARENT:
            return 1
        raise NotFound(
            f"the log does not hold the brain {wish.brain.hex()}",
            code="not_open",
            hint="open it first",
        )
    if wish.parent == head.snapshot:
        return head.seq + 1
    raise Conflict(
        f"the log's head of the brain is {head.snapshot.hex()}, commitment {head.seq},"
        f" not {wish.parent.hex()}",
        code="stale_parent",
        hint="merge it, and commit after it",
    )
