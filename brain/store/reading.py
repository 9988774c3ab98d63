"""Reading the store on disk: the parts of `Reader`, put together over one connection."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain

from . import database, facts, mark, oplog
from . import pending as notes
from .blobs import BlobReader
from .codec import Decoder
from .connection import Connection
from .dbfile import SIDE_FILES
from .protocol import Checked, ExpectedSize, Look, OperationRow, Pending, as_claimed
from .signatures import SignatureReader
from .structured import ObjectReader

CACHE_KIB = 2000
"""Page cache of a connection: what the engine takes by itself."""
INTEGRITY_CACHE_KIB = 16 << 10
"""Holds the index of some hundred thousand blobs, in which each row is looked up."""


class SqliteReader(
    ObjectReader,
    BlobReader,
    SignatureReader,
):
    """Answers from one SQLite file; see `Reader` for what each method promises."""

    def __init__(self, db: Connection, path: str) -> None:
        super().__init__(db)
        self._path = path
        self._decoder = Decoder(db)

    def _facts(self) -> dict[str, bytes]:
        return facts.load(self._db)

    def ref(self, name: str) -> bytes | None:
        """See `Reader.ref`."""
        return self._facts().get(facts.REF + name)

    def refs(self) -> dict[str, bytes]:
        """See `Reader.refs`."""
        return facts.refs(self._facts())

    def meta(self, key: str) -> bytes | None:
        """See `Reader.meta`."""
        return self._facts().get(facts.META + key)

    def epoch(self) -> int:
        """See `Reader.epoch`."""
        return int.from_bytes(self._facts().get(facts.EPOCH, b""), "big")

    def has_traces(self) -> bool:
        """See `Reader.has_traces`."""
        return facts.TRACES in self._facts()

    def operation_count(self) -> int:
        """See `Reader.operation_count`."""
        return self._log_head()[0]

    def operation(self, number: int) -> OperationRow:
        """See `Reader.operation`."""
        return oplog.read(self._db, number, self._log_head())

    def operations(self) -> Iterator[OperationRow]:
        """See `Reader.operations`."""
        return oplog.newest_first(self._db, self._log_head())

    def _log_head(self) -> tuple[int, bytes]:
        return oplog.parse_head(self._facts().get(facts.OPERATIONS))

    def pending(self) -> list[Pending]:
        """See `Reader.pending`."""
        return notes.load(self._db)

    def pending_notes(self) -> tuple[list[Pending], list[str]]:
        """See `Reader.pending_notes`."""
        return notes.load_sound(self._db)

    @contextmanager
    def check_blobs(
        self, look: Look, expected: ExpectedSize = as_claimed
    ) -> Iterator[Iterator[Checked]]:
        """See `Reader.check_blobs`; large blobs come last."""
        from pathlib import Path

        from ..forking import processors
        from . import checking

        db, folder = self._db, Path(self._path).parent
        processes = 1 if db.in_transaction else processors()  # none else sees what it wrote
        large: list[bytes] = []
        with checking.small(
            db, lambda: database.open_readonly(folder), large, processes, look
        ) as verdicts:
            yield chain(verdicts, self.judge_large(large, expected))

    @contextmanager
    def aside(self) -> Iterator[SqliteReader]:
        """See `Reader.aside`."""
        from pathlib import Path

        with closing(database.open_readonly(Path(self._path).parent)) as db:
            yield SqliteReader(db, self._path)

    def strays(self) -> list[str]:
        """See `Reader.strays`."""
        from . import strays

        return list(strays.find(self._db, self._facts()))

    def integrity(self) -> list[str]:
        """See `Reader.integrity`."""
        noted = mark.read(self._path)  # before the log is, beside writers
        self._db.run(f"PRAGMA cache_size=-{INTEGRITY_CACHE_KIB}")
        try:
            found = [str(line) for (line,) in self._db.all("PRAGMA integrity_check")]
        finally:
            self._db.run(f"PRAGMA cache_size=-{CACHE_KIB}")
        lost = mark.lost(noted, self._when_noted(noted)) if noted else ""
        return [line for line in (*found, lost) if line not in ("ok", "")]

    def _when_noted(self, noted: bytes) -> bytes:
        """Return where the log stood when `noted` was, or stands if that is not so far."""
        return oplog.head_at(self._db, mark.number(noted), self._log_head())

    def size_on_disk(self) -> int:
        """See `Reader.size_on_disk`."""
        files = (self._path + side for side in SIDE_FILES)
        return sum(os.stat(file).st_size for file in files if os.path.exists(file))

    def close(self) -> None:
        """Close the store; closing twice does no harm."""
        self._db.close()
