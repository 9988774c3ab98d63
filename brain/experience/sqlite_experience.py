"""Experience in `.brain/evolution.db`, an SQLite file beside the store.

It is no part of the brain: no snapshot has it, and it may be deleted at any time, which forgets
what agents went through and nothing else. Each write is durable when its method returns. A file
that is damaged or was written by another program is an error, never an empty one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial

from ..encoding import pack
from ..errors import FormatError
from ..store.checksums import row_checksum
from ..store.connection import Connection, SqlRow
from ..store.side_database import SideDatabase
from . import experience_limits, sqlite_work
from .experience_limits import MAX_EVENTS, MAX_NOTES, MAX_RATE_ROWS, MAX_SEQUENCES
from .experience_protocol import (
    AuditEvent,
    ClaimedWork,
    RateLimit,
    SequenceBatch,
    SkillSequence,
    StoredSequence,
    WorkItem,
)
from .sequence_blocks import (
    MAX_BLOCK_ROWS,
    SequenceBlock,
    pack_sequences,
    read_batch,
    unpack_block,
)
from .sqlite_tables import EXPERIENCE_FORMAT

_MERGE_WINDOWS = (256, MAX_BLOCK_ROWS)
"""Blocks that begin in one window of so many numbers are merged when the window is complete."""
_BLOCKS_PER_READ = 16

_BLOCK_COLUMNS = "last, first, rows, oldest, newest, checksum, columns"
_WHOLE_BLOCK = f"{_BLOCK_COLUMNS}, details_checksum, details"
_EVENT_FIELDS = "at, evolver, name, trigger_reason, phase, result"
_SEQUENCE_COUNTER = "sequences"
_encode = EXPERIENCE_FORMAT.encode_row
_decode = EXPERIENCE_FORMAT.decode_row


class SqliteExperience:
    """The experience and the rates of one brain; implements `ExperienceStore`.

    Threads may share it. Besides what the protocol says, every method may raise `StoreError`:
    `bad_store`, `unsupported_version`, `read_only`, `cannot_open`, `no_space`; or `Locked`.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._file = SideDatabase(folder, EXPERIENCE_FORMAT)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def record_sequences(self, sequences: Sequence[SkillSequence]) -> None:
        """Record sequences in this order, all or none."""
        experience_limits.check_sequences(sequences)
        if sequences:
            self._file.write(partial(_record_sequences, sequences=sequences))

    def read_sequences(self, after: int = 0, since: int = 0) -> Iterator[StoredSequence]:
        """Yield the sequences with a greater number, not before `since`."""
        for block in self._read_blocks(after, since, with_details=True):
            for stored in _unpack(block):
                if stored.number > after and stored.sequence.at >= since:
                    yield stored

    def read_batches(self, after: int = 0, since: int = 0) -> Iterator[SequenceBatch]:
        """Yield the same sequences in columns, some thousands at a time; no batch is empty."""
        for block in self._read_blocks(after, since, with_details=False):
            try:
                batch = read_batch(block, after, since)
            except FormatError as error:
                raise EXPERIENCE_FORMAT.damaged_row_error() from error
            if batch is not None:
                yield batch

    def _read_blocks(
        self, after: int, since: int, *, with_details: bool
    ) -> Iterator[SequenceBlock]:
        """Yield the blocks that reach beyond `after`; others may write between two of them."""
        columns = _WHOLE_BLOCK if with_details else _BLOCK_COLUMNS
        sql = (
            f"SELECT {columns} FROM sequences WHERE last > ? AND newest >= ?"
            f" ORDER BY last LIMIT {_BLOCKS_PER_READ}"
        )
        while True:
            rows = self._file.fetch_all(sql, (after, since))
            for row in rows:
                yield _decode_block(row)
            if len(rows) < _BLOCKS_PER_READ:
                return
            after = rows[-1][0]

    def add_work(self, item: WorkItem) -> bool:
        """Add an item; return False if one of its kind and key is known, done or not."""
        experience_limits.check_work_item(item)
        return self._file.write(partial(sqlite_work.add_work, item=item))

    def claim_work(self, kind: str, now: int, lease: int, max_attempts: int) -> ClaimedWork | None:
        """Claim the oldest item that is free, or whose lease ended; None if there is none."""
        experience_limits.check_claim(kind, now, lease)
        return self._file.write(
            lambda db: sqlite_work.claim_work(db, kind, now, lease, max_attempts)
        )

    def keep_progress(self, work: ClaimedWork, progress: str) -> None:
        """Keep what the next attempt begins with. Raises `Conflict` (`work_lost`)."""
        experience_limits.check_progress(progress)
        self._file.write(lambda db: sqlite_work.keep_progress(db, work, progress))

    def add_answer(self, work: ClaimedWork, answer: str) -> None:
        """Append an answer of a model to an item. Raises `Conflict` (`work_lost`)."""
        experience_limits.check_stored_answer(answer)
        self._file.write(lambda db: sqlite_work.add_answer(db, work, answer))

    def read_answers(self, work: ClaimedWork) -> list[str]:
        """Return the answers of all attempts at an item, in the order of adding."""
        return self._file.read(partial(sqlite_work.read_answers, work=work), [])

    def renew_work(self, work: ClaimedWork, now: int, lease: int) -> None:
        """Let the lease end `lease` ms from now. Raises `Conflict` (`work_lost`)."""
        experience_limits.check_claim(work.item.kind, now, lease)
        self._file.write(lambda db: sqlite_work.set_lease_end(db, work, now + lease))

    def release_work(self, work: ClaimedWork) -> None:
        """End the lease. Raises `Conflict` (`work_lost`)."""
        self._file.write(lambda db: sqlite_work.set_lease_end(db, work, 0))

    def finish_work(self, work: ClaimedWork, result: str, data: str | None = None) -> None:
        """Mark an item as done. Raises `Conflict` (`work_lost`)."""
        experience_limits.check_result(result, data)
        self._file.write(lambda db: sqlite_work.finish_work(db, work, result, data))

    def count_work(self, kind: str = "") -> int:
        """Return how many items of a kind, or of all, are not done."""
        return self._file.read(partial(sqlite_work.count_work, kind=kind), 0)

    def newest_work(self, kind: str) -> int | None:
        """Return the time of the item that was added last and is not done, None for no such."""
        return self._file.read(partial(sqlite_work.find_work_time, kind=kind, order="DESC"), None)

    def oldest_work(self, kind: str) -> int | None:
        """Return the time of the item that was added first and is not done, None for no such."""
        return self._file.read(partial(sqlite_work.find_work_time, kind=kind, order="ASC"), None)

    def list_work(self, kind: str = "") -> list[tuple[WorkItem, str]]:
        """Return the items with their results, "" for those not done, oldest first."""
        return self._file.read(partial(sqlite_work.list_work, kind=kind), [])

    def append_event(self, event: AuditEvent) -> None:
        """Append an event to the audit; the oldest are forgotten beyond a limit."""
        experience_limits.check_event(event)
        self._file.write(partial(_append_event, event=event))

    def read_events(self, evolver: str = "", last: int = 100) -> list[AuditEvent]:
        """Return the last events, of one evolver or of all, oldest first."""
        where, args = ("WHERE evolver = ?", (evolver,)) if evolver else ("", ())
        sql = (
            f"SELECT {_EVENT_FIELDS}, checksum FROM events {where}"
            f" ORDER BY number DESC LIMIT {max(last, 0):d}"
        )
        rows = self._file.fetch_all(sql, args)
        names = _EVENT_FIELDS.split(", ")
        return [AuditEvent(**dict(zip(names, _decode(row), strict=True))) for row in rows[::-1]]

    def read_note(self, name: str) -> str | None:
        """Return a small text by name; None without it."""
        return self._file.read(partial(_read_note, name=name), None)

    def write_note(self, name: str, old: str | None, new: str) -> bool:
        """Replace a note if it is still `old`; tell whether it was."""
        experience_limits.check_note(name, new)
        return self._file.write(lambda db: _write_note(db, name, old, new))

    def take(self, key: str, limits: Sequence[RateLimit], now: int) -> str:
        """Count an attempt under all limits, or return the name of the one that is reached."""
        experience_limits.check_limits(key, limits, now)
        return self._file.write(lambda db: _take(db, key, limits, now))

    def read(self, key: str, limits: Sequence[RateLimit], now: int) -> dict[str, int]:
        """Return how many attempts count at present, by the name of the limit."""
        experience_limits.check_limits(key, limits, now)
        none = dict.fromkeys((limit.name for limit in limits), 0)
        return self._file.read(
            lambda db: {limit.name: _count_attempts(db, key, limit, now) for limit in limits}, none
        )


def _record_sequences(db: Connection, sequences: Sequence[SkillSequence]) -> None:
    start = _read_counter(db, _SEQUENCE_COUNTER)
    end = start + len(sequences)
    _insert_blocks(db, pack_sequences(enumerate(sequences, start + 1)))
    row = _encode([_SEQUENCE_COUNTER, end])
    db.execute("INSERT OR REPLACE INTO counters (name, value, checksum) VALUES (?, ?, ?)", row)
    for window in _MERGE_WINDOWS:
        complete = end - end % window
        if start < complete:
            _merge_blocks(db, complete - window, complete)
    db.execute("DELETE FROM sequences WHERE last <= ?", (end - MAX_SEQUENCES,))


def _merge_blocks(db: Connection, after: int, last: int) -> None:
    """Merge the blocks that begin after a number and end by `last`, so that there are few."""
    rows = db.fetch_all(
        f"SELECT {_WHOLE_BLOCK} FROM sequences"
        " WHERE last > ? AND last <= ? AND first > ? ORDER BY last",
        (after, last, after),
    )
    if len(rows) > 1:
        merged = [stored for row in rows for stored in _unpack(_decode_block(row))]
        db.execute("DELETE FROM sequences WHERE last >= ? AND last <= ?", (rows[0][0], rows[-1][0]))
        _insert_blocks(db, pack_sequences((one.number, one.sequence) for one in merged))


def _insert_blocks(db: Connection, blocks: Iterator[SequenceBlock]) -> None:
    db.execute_many(
        f"INSERT INTO sequences ({_WHOLE_BLOCK}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        map(_encode_block, blocks),
    )


def _encode_block(block: SequenceBlock) -> tuple[object, ...]:
    keys = block.last, block.first, block.rows, block.oldest, block.newest
    columns = _block_checksum(*keys, block.columns), block.columns
    return *keys, *columns, _block_checksum(block.last, block.details), block.details


def _block_checksum(*fields: int | bytes) -> bytes:
    return row_checksum(pack(fields[:-1]), bytes(fields[-1]))


def _decode_block(row: SqlRow) -> SequenceBlock:
    """Return the block of a row, without details if the row has none."""
    *keys, checksum, columns = row[:7]
    details_checksum, details = row[7:] or (b"", b"")
    try:
        is_whole = checksum == _block_checksum(*keys, columns) and (
            not row[7:] or details_checksum == _block_checksum(keys[0], details)
        )
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole:
        raise EXPERIENCE_FORMAT.damaged_row_error()
    last, first, rows, oldest, newest = keys
    return SequenceBlock(
        first=first,
        last=last,
        rows=rows,
        oldest=oldest,
        newest=newest,
        columns=columns,
        details=details,
    )


def _unpack(block: SequenceBlock) -> list[StoredSequence]:
    try:
        return unpack_block(block)
    except FormatError as error:
        raise EXPERIENCE_FORMAT.damaged_row_error() from error


def _read_counter(db: Connection, name: str) -> int:
    row = db.fetch_one("SELECT name, value, checksum FROM counters WHERE name = ?", (name,))
    value: int = _decode(row)[1] if row else 0
    ((last,),) = db.fetch_all("SELECT ifnull(max(last), 0) FROM sequences")
    if not last <= value < 1 << 62:
        raise EXPERIENCE_FORMAT.damaged_row_error()
    return value


def _append_event(db: Connection, event: AuditEvent) -> None:
    fields: list[object] = [getattr(event, name) for name in _EVENT_FIELDS.split(", ")]
    db.execute(
        f"INSERT INTO events ({_EVENT_FIELDS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)",
        _encode(fields),
    )
    db.execute(
        f"DELETE FROM events WHERE number <= (SELECT max(number) FROM events) - {MAX_EVENTS}"
    )


def _read_note(db: Connection, name: str) -> str | None:
    row = db.fetch_one("SELECT name, text, checksum FROM notes WHERE name = ?", (name,))
    text: str | None = _decode(row)[1] if row else None
    return text


def _write_note(db: Connection, name: str, old: str | None, new: str) -> bool:
    if _read_note(db, name) != old:
        return False
    ((notes,),) = db.fetch_all("SELECT count(*) FROM notes")
    if old is None and notes >= MAX_NOTES:
        raise experience_limits.too_many_notes_error()
    db.execute(
        "INSERT OR REPLACE INTO notes (name, text, checksum) VALUES (?, ?, ?)", _encode([name, new])
    )
    return True


def _take(db: Connection, key: str, limits: Sequence[RateLimit], now: int) -> str:
    counts = [(limit, _count_attempts(db, key, limit, now)) for limit in limits]
    for limit, count in counts:
        if count >= limit.most:
            return limit.name
    for limit, count in counts:
        period = experience_limits.number_of_period(limit, now)
        row = _encode([key, limit.name, limit.seconds, period, count + 1])
        db.execute(
            "INSERT INTO rates (key, name, seconds, period, count, checksum)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key, name, seconds, period)"
            " DO UPDATE SET count = excluded.count, checksum = excluded.checksum",
            row,
        )
    db.execute(
        f"DELETE FROM rates WHERE number <= (SELECT max(number) FROM rates) - {MAX_RATE_ROWS}"
    )
    return ""


def _count_attempts(db: Connection, key: str, limit: RateLimit, now: int) -> int:
    period = experience_limits.number_of_period(limit, now)
    row = db.fetch_one(
        "SELECT key, name, seconds, period, count, checksum FROM rates"
        " WHERE key = ? AND name = ? AND seconds = ? AND period = ?",
        (key, limit.name, limit.seconds, period),
    )
    count: int = _decode(row)[4] if row else 0
    return count
