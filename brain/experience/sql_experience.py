"""Experience in a database that many agents on several machines share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, select, text, update

from ..errors import InvalidInput, StoreError
from . import experience_limits, sql_work
from .experience_limits import MAX_EVENTS, MAX_NOTES, MAX_SEQUENCES
from .experience_protocol import (
    AuditEvent,
    ClaimedWork,
    RateLimit,
    SequenceBatch,
    SkillSequence,
    StoredSequence,
    WorkItem,
)
from .sequence_blocks import pack_sequences, read_batch
from .sql_database import SqlDatabase
from .sql_tables import counters, events, notes, rates, sequences

_ROWS_PER_STATEMENT = 1000
_ROWS_PER_READ = 4096
_MAX_PERIODS = 1000
"""Periods of one limit whose counts are kept."""
_SEQUENCE_COLUMNS = [
    sequences.c[name] for name in ("number", "at", "chat", "skills", "context_hash", "run")
]
_EVENT_COLUMNS = [events.c[name] for name in AuditEvent.__slots__]


class SqlExperience:
    """The experience and the rates of one brain; implements `ExperienceStore`.

    Threads may share it. `brain` is the id of the brain in hex. Besides what the protocol says,
    methods raise `StoreError` as `SqlDatabase`.
    """

    def __init__(self, url: str, brain: str) -> None:
        self._database = SqlDatabase(url)
        self._brain = brain

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def record_sequences(self, sequences: Sequence[SkillSequence]) -> None:
        """Record sequences in this order, all or none."""
        experience_limits.check_sequences(sequences)
        if sequences:
            self._database.run(lambda db: _record_sequences(db, self._brain, sequences))

    def read_sequences(self, after: int = 0, since: int = 0) -> Iterator[StoredSequence]:
        """Yield the sequences with a greater number, not before `since`."""
        for page in self._read_pages(after, since):
            yield from page

    def read_batches(self, after: int = 0, since: int = 0) -> Iterator[SequenceBatch]:
        """Yield the same sequences in columns, some thousands at a time; no batch is empty."""
        for page in self._read_pages(after, since):
            for block in pack_sequences((one.number, one.sequence) for one in page):
                batch = read_batch(block, after, since)
                if batch is not None:
                    yield batch

    def _read_pages(self, after: int, since: int) -> Iterator[list[StoredSequence]]:
        while True:
            page = select(*_SEQUENCE_COLUMNS).where(
                sequences.c.brain == self._brain,
                sequences.c.number > after,
                sequences.c.at >= since,
            )
            rows = self._fetch_all(page.order_by(sequences.c.number).limit(_ROWS_PER_READ))
            yield _decode_page(rows)
            if len(rows) < _ROWS_PER_READ:
                return
            after = rows[-1].number

    def _fetch_all(self, statement: Select[Any]) -> Sequence[Row[Any]]:
        return self._database.run(lambda db: db.execute(statement).all())

    def add_work(self, item: WorkItem) -> bool:
        """Add an item; return False if one of its kind and key is known, done or not."""
        experience_limits.check_work_item(item)

        def add(db: Connection) -> bool:
            return sql_work.add_shared_work(
                db, self._brain, item, take_numbers(db, self._brain, "work")
            )

        return self._database.run(add)

    def claim_work(self, kind: str, now: int, lease: int, max_attempts: int) -> ClaimedWork | None:
        """Claim the oldest item that is free, or whose lease ended; None if there is none."""
        experience_limits.check_claim(kind, now, lease)
        return self._database.run(
            lambda db: sql_work.claim_shared_work(db, (self._brain, kind), now, lease, max_attempts)
        )

    def keep_progress(self, work: ClaimedWork, progress: str) -> None:
        """Keep what the next attempt begins with. Raises `Conflict` (`work_lost`)."""
        experience_limits.check_progress(progress)
        self._database.run(
            lambda db: sql_work.update_claimed(db, self._brain, work, progress=progress)
        )

    def add_answer(self, work: ClaimedWork, answer: str) -> None:
        """Append an answer of a model to an item. Raises `Conflict` (`work_lost`)."""
        experience_limits.check_stored_answer(answer)
        self._database.run(lambda db: sql_work.add_shared_answer(db, self._brain, work, answer))

    def read_answers(self, work: ClaimedWork) -> list[str]:
        """Return the answers of all attempts at an item, in the order of adding."""
        return self._database.run(lambda db: sql_work.read_shared_answers(db, self._brain, work))

    def renew_work(self, work: ClaimedWork, now: int, lease: int) -> None:
        """Let the lease end `lease` ms from now. Raises `Conflict` (`work_lost`)."""
        experience_limits.check_claim(work.item.kind, now, lease)
        self._set_lease_end(work, now + lease)

    def release_work(self, work: ClaimedWork) -> None:
        """End the lease. Raises `Conflict` (`work_lost`)."""
        self._set_lease_end(work, 0)

    def _set_lease_end(self, work: ClaimedWork, until: int) -> None:
        self._database.run(lambda db: sql_work.update_claimed(db, self._brain, work, until=until))

    def finish_work(self, work: ClaimedWork, result: str, data: str | None = None) -> None:
        """Mark an item as done. Raises `Conflict` (`work_lost`)."""
        experience_limits.check_result(result, data)
        self._database.run(
            lambda db: sql_work.finish_shared_work(db, self._brain, work, result, data)
        )

    def count_work(self, kind: str = "") -> int:
        """Return how many items of a kind, or of all, are not done."""
        return self._database.run(lambda db: sql_work.count_shared_work(db, self._brain, kind))

    def newest_work(self, kind: str) -> int | None:
        """Return the time of the item that was added last and is not done, None for no such."""
        return self._find_work_time(kind, is_oldest=False)

    def oldest_work(self, kind: str) -> int | None:
        """Return the time of the item that was added first and is not done, None for no such."""
        return self._find_work_time(kind, is_oldest=True)

    def _find_work_time(self, kind: str, *, is_oldest: bool) -> int | None:
        return self._database.run(
            lambda db: sql_work.find_shared_work_time(db, self._brain, kind, is_oldest=is_oldest)
        )

    def list_work(self, kind: str = "") -> list[tuple[WorkItem, str]]:
        """Return the items with their results, "" for those not done, oldest first."""
        return self._database.run(lambda db: sql_work.list_shared_work(db, self._brain, kind))

    def append_event(self, event: AuditEvent) -> None:
        """Append an event to the audit; the oldest are forgotten beyond a limit."""
        experience_limits.check_event(event)
        fields = {name: getattr(event, name) for name in AuditEvent.__slots__}

        def append(db: Connection) -> None:
            number = take_numbers(db, self._brain, "events")
            db.execute(insert(events), {"brain": self._brain, "number": number, **fields})
            old = events.c.number <= number - MAX_EVENTS
            db.execute(delete(events).where(events.c.brain == self._brain, old))

        self._database.run(append)

    def read_events(self, evolver: str = "", last: int = 100) -> list[AuditEvent]:
        """Return the last events, of one evolver or of all, oldest first."""
        found = select(*_EVENT_COLUMNS).where(events.c.brain == self._brain)
        if evolver:
            found = found.where(events.c.evolver == evolver)
        rows = self._fetch_all(found.order_by(events.c.number.desc()).limit(max(last, 0)))
        return [AuditEvent(**row._mapping) for row in rows[::-1]]

    def read_note(self, name: str) -> str | None:
        """Return a small text by name; None without it."""
        return self._database.run(lambda db: _read_note(db, self._brain, name))

    def write_note(self, name: str, old: str | None, new: str) -> bool:
        """Replace a note if it is still `old`; tell whether it was."""
        experience_limits.check_note(name, new)
        return self._database.run(lambda db: _write_note(db, (self._brain, name), old, new))

    def take(self, key: str, limits: Sequence[RateLimit], now: int) -> str:
        """Count an attempt under all limits, or return the name of the one that is reached."""
        experience_limits.check_limits(key, limits, now)
        return self._database.run(lambda db: _take(db, (self._brain, key), limits, now))

    def read(self, key: str, limits: Sequence[RateLimit], now: int) -> dict[str, int]:
        """Return how many attempts count at present, by the name of the limit."""
        experience_limits.check_limits(key, limits, now)
        return self._database.run(
            lambda db: {
                limit.name: _count_attempts(db, (self._brain, key), limit, now) for limit in limits
            }
        )


def take_numbers(db: Connection, brain: str, counter: str, count: int = 1) -> int:
    """Return the last of `count` new numbers; until its end, no other transaction gets any."""
    _lock_brain(db, brain)
    column = counters.c[counter]
    raised = update(counters).where(counters.c.brain == brain).values({column: column + count})
    return int(db.execute(raised.returning(column)).scalar_one())


def _lock_brain(db: Connection, brain: str) -> None:
    """Let no other transaction write numbered rows or rates of this brain until the end."""
    locked = select(counters.c.brain).where(counters.c.brain == brain).with_for_update()
    if db.scalar(locked) is None:
        db.execute(
            text(
                "INSERT INTO brain_experience (brain, sequences, work, events)"
                " VALUES (:brain, 0, 0, 0) ON CONFLICT DO NOTHING"
            ),
            {"brain": brain},
        )
        db.scalar(locked)


def _record_sequences(db: Connection, brain: str, recorded: Sequence[SkillSequence]) -> None:
    end = take_numbers(db, brain, "sequences", len(recorded))
    first = end - len(recorded) + 1
    for start in range(0, len(recorded), _ROWS_PER_STATEMENT):
        part = recorded[start : start + _ROWS_PER_STATEMENT]
        db.execute(
            insert(sequences),
            [
                {
                    "brain": brain,
                    "number": number,
                    "at": one.at,
                    "chat": one.chat,
                    "skills": json.dumps(one.skills, ensure_ascii=False),
                    "context_hash": one.context_hash,
                    "run": one.run,
                }
                for number, one in enumerate(part, first + start)
            ],
        )
    old = sequences.c.number <= end - MAX_SEQUENCES
    db.execute(delete(sequences).where(sequences.c.brain == brain, old))


def _decode_page(rows: Sequence[Sequence[Any]]) -> list[StoredSequence]:
    """Return the sequences of rows. Raises `StoreError` (`bad_store`) if one was changed."""
    page = []
    for number, at, chat, skills, context_hash, run in rows:
        try:
            names = json.loads(skills)
        except (ValueError, RecursionError) as error:
            raise _damaged_row_error(number) from error
        if type(names) is not list or not all(isinstance(name, str) for name in names):
            raise _damaged_row_error(number)
        sequence = SkillSequence(
            chat=chat, at=at, skills=tuple(names), context_hash=context_hash, run=run
        )
        page.append(StoredSequence(number=number, sequence=sequence))
    try:
        experience_limits.check_sequences([one.sequence for one in page])
    except InvalidInput as error:
        raise _damaged_row_error(page[0].number) from error
    return page


def _damaged_row_error(number: int) -> StoreError:
    return StoreError(
        f"a row of the table brain_sequences is damaged, at number {number} or soon after it",
        hint="another program wrote it: delete the row",
    )


def _read_note(db: Connection, brain: str, name: str) -> str | None:
    return db.scalar(select(notes.c.text).where(notes.c.brain == brain, notes.c.name == name))


def _write_note(db: Connection, key: tuple[str, str], old: str | None, new: str) -> bool:
    brain, name = key
    _lock_brain(db, brain)
    if _read_note(db, brain, name) != old:
        return False
    if old is not None:
        is_it = (notes.c.brain == brain) & (notes.c.name == name)
        db.execute(update(notes).where(is_it).values(text=new))
        return True
    names = db.scalars(select(notes.c.name).where(notes.c.brain == brain).limit(MAX_NOTES)).all()
    if len(names) >= MAX_NOTES:
        raise experience_limits.too_many_notes_error()
    db.execute(insert(notes), {"brain": brain, "name": name, "text": new})
    return True


def _take(db: Connection, key: tuple[str, str], limits: Sequence[RateLimit], now: int) -> str:
    _lock_brain(db, key[0])
    counts = [(limit, _count_attempts(db, key, limit, now)) for limit in limits]
    for limit, count in counts:
        if count >= limit.most:
            return limit.name
    for limit, count in counts:
        where = _rate_key(key, limit, now)
        if count:
            is_it = [rates.c[name] == value for name, value in where.items()]
            db.execute(update(rates).where(*is_it).values(count=count + 1))
            continue
        db.execute(insert(rates), {**where, "count": 1})
        where["period"] -= _MAX_PERIODS
        old = [rates.c[name] == where[name] for name in ("brain", "key", "name", "seconds")]
        db.execute(delete(rates).where(*old, rates.c.period <= where["period"]))
    return ""


def _rate_key(key: tuple[str, str], limit: RateLimit, now: int) -> dict[str, Any]:
    return {
        "brain": key[0],
        "key": key[1],
        "name": limit.name,
        "seconds": limit.seconds,
        "period": experience_limits.number_of_period(limit, now),
    }


def _count_attempts(db: Connection, key: tuple[str, str], limit: RateLimit, now: int) -> int:
    is_it = [rates.c[name] == value for name, value in _rate_key(key, limit, now).items()]
    return db.scalar(select(rates.c.count).where(*is_it)) or 0
