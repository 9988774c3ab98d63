"""A transaction on the store on disk."""

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
from . import facts, mark, oplog, signatures
from . import pending as notes
from .codec import INSERT, RAW, RECIPE
from .connection import WAL_BYTES, Connection
from .lineage import Named
from .protocol import LARGE, Packing, Pending, Source
from .reading import SqliteReader
from .recipe import Recipe, pack
from .structured import checksum

PACKED = 256 << 10
"""Bytes of a batch from which on it is compressed."""


class SqliteTransaction(SqliteReader):
    """One transaction, used as a context; see `Transaction` for what each method promises."""

    def __init__(self, db: Connection, path: str) -> None:
        super().__init__(db, path)
        self._before: dict[str, bytes] = {}
        self._now: dict[str, bytes] = {}

    def __enter__(self) -> Self:
        if self._db.in_transaction:
            raise StoreError("a transaction is open already", code="transaction_open")
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
        self._recall()

    def _recall(self) -> None:
        self._before = facts.load(self._db)
        self._now = dict(self._before)
        noted = mark.read(self._path)
        mark.refuse_loss(noted, self._when_noted(noted))

    def _commit(self) -> None:
        facts.save(self._db, self._before, self._now)
        self._db.commit()
        head = self._now.get(facts.OPERATIONS, b"")
        if head != self._before.get(facts.OPERATIONS, b""):
            mark.write(self._path, head)
        self._shorten_log()

    def _shorten_log(self) -> None:
        """Copy a long log into the file now, since whoever opens the store reads it through.

        The transaction is durable already, so trouble here is left to the next checkpoint.
        """
        with suppress(StoreError, FileNotFoundError):
            if os.stat(f"{self._path}-wal").st_size > WAL_BYTES:
                self._db.try_now("PRAGMA wal_checkpoint(TRUNCATE)")

    def _roll_back(self) -> None:
        self._db.abandon()

    def _facts(self) -> dict[str, bytes]:
        return self._now

    def put(self, kind: int, id: bytes, data: bytes) -> None:
        """See `Transaction.put`; what stands under the id and is another thing is replaced."""
        self._db.run(
            "INSERT INTO objects (id, kind, data, checksum) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, data = excluded.data,"
            " checksum = excluded.checksum"
            " WHERE data IS NOT excluded.data OR kind IS NOT excluded.kind",
            (id, kind, data, checksum(id, kind, data)),
        )

    def put_blob(self, content: bytes) -> bytes:
        """See `Transaction.put_blob`."""
        if len(content) >= LARGE:
            return self.put_stream(io.BytesIO(content), len(content), None)
        id = blob_id(content)
        self.put_blobs([(id, content)])
        return id

    def put_blobs(self, batch: list[tuple[bytes, bytes]]) -> None:
        """See `Transaction.put_blobs`."""
        small = [row for row in batch if len(row[1]) < LARGE]
        if len(small) < len(batch):
            for _, content in batch:
                if len(content) >= LARGE:
                    self.put_blob(content)
        self._keep(small)

    def packing(self, samples: list[bytes]) -> Packing | None:
        """See `Transaction.packing`."""
        return None

    def put_stream(self, source: Source, size: int, base: bytes | None) -> bytes:
        """See `Transaction.put_stream`."""
        from . import large

        return large.store(self, source, size, base)

    def put_recipe(self, id: bytes, recipe: Recipe) -> None:
        """Keep a large blob whose chunks are here."""
        if recipe.size > limits.MAX_FILE_BYTES:
            raise InvalidInput(
                f"a file of {recipe.size} bytes",
                code="too_large",
                hint=f"at most {limits.MAX_FILE_BYTES} bytes",
            )
        self._refuse_redacted([(id,)])
        self._db.run(INSERT, (id, RECIPE, pack(id, recipe)))

    def put_chunks(self, batch: list[tuple[bytes, bytes]]) -> None:
        """Keep chunks of a large blob, given as (id, content)."""
        self._keep(batch)

    def _keep(self, batch: list[tuple[bytes, bytes]]) -> None:
        """Insert blobs, packed if there is enough to make up for loading Zstandard."""
        self._refuse_redacted(batch)
        if sum(len(content) for _, content in batch) < PACKED:
            before = self._db.total_changes
            self._db.run_many(INSERT, [(id, RAW, content) for id, content in batch])
            if self._db.total_changes - before < len(batch):
                self._put_right(batch)
            return
        from .encoder import Encoder, keep

        keep(self._db, Encoder(self._db), batch)

    def _put_right(self, batch: list[tuple[bytes, bytes]]) -> None:
        """Replace what stood under the ids of these blobs before and is not their content.

        Somebody who knows what will be recorded may have put it there.
        """
        for id, content in batch:
            try:
                self.read_blob(id, len(content))
            except BrainError:
                sql = "UPDATE blobs SET codec = ?, data = ? WHERE id = ?"
                self._db.run(sql, (RAW, content, id))

    def _refuse_redacted(self, rows: Sequence[tuple[bytes, *tuple[Any, ...]]]) -> None:
        """Refuse rows, each of which begins with the id of a blob, that were redacted."""
        if facts.REDACTIONS in self._now:
            self._refuse(self._connection, [row[0] for row in rows])

    def set_ref(self, name: str, old: bytes | None, new: bytes | None) -> None:
        """See `Transaction.set_ref`."""
        facts.move(self._now, name, old, new)

    def set_meta(self, key: str, value: bytes) -> None:
        """See `Transaction.set_meta`."""
        self._now[facts.META + key] = value

    def append_operation(self, data: bytes) -> bytes:
        """See `Transaction.append_operation`."""
        number, previous = self._log_head()
        id = oplog.link(previous, data)
        self._db.run(
            "INSERT INTO operations (number, id, data) VALUES (?, ?, ?)", (number + 1, id, data)
        )
        self._now[facts.OPERATIONS] = oplog.pack_head(number + 1, id)
        return id

    def put_signature(self, snapshot: bytes, key: bytes, signature: bytes) -> None:
        """See `Transaction.put_signature`."""
        signatures.put(self._db, snapshot, key, signature)

    def redact(self, blob: bytes, snapshot: bytes, named: Named) -> None:
        """See `Transaction.redact`."""
        from . import destroying, redactions

        if self.has(blob):
            destroying.destroy(self, blob, named)
        redactions.note(self._db, blob, snapshot)
        self._made = {**self._made, blob: snapshot}
        self._judged = None
        self._now[facts.REDACTIONS] = facts.raised(self._now, facts.REDACTIONS)
        self._now[facts.EPOCH] = facts.raised(self._now, facts.EPOCH)
        self._now[facts.TRACES] = b"\x01"

    def forget_traces(self) -> None:
        """Note that no old page holds what was redacted."""
        self._now.pop(facts.TRACES, None)

    def sweep(self, kept: set[bytes], most: int) -> int:
        """See `Transaction.sweep`."""
        from . import sweep

        self._now[facts.EPOCH] = facts.raised(self._now, facts.EPOCH)
        return sweep.sweep(self, kept, most)

    def set_pending(self, rows: Iterable[Pending]) -> None:
        """See `Transaction.set_pending`."""
        rows = list(rows)
        if facts.REDACTIONS in self._now:
            for blob in self.redacted([row.blob for row in rows if row.blob]):
                raise self._gone(blob)
        notes.note(self._db, rows)

    def clear_pending(self, paths: Iterable[str]) -> None:
        """See `Transaction.clear_pending`."""
        notes.drop(self._db, paths)
