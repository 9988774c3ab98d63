"""Work to do in `evolution.db`: items, claims with leases, and results.

Each function runs inside the transaction of its caller.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from ..store.connection import Connection
from .experience_limits import MAX_WORK, too_much_work_error, work_lost_error
from .experience_protocol import RESULT_GAVE_UP, ClaimedWork, WorkItem
from .sqlite_tables import EXPERIENCE_FORMAT


@dataclass(slots=True, kw_only=True)
class _WorkRow:
    """A row of the table; `until` is the end of the lease, 0 before the first claim."""

    number: int
    is_done: int = 0
    kind: str
    key: str
    at: int
    attempt: int = 0
    until: int = 0
    result: str = ""
    data: str
    progress: str = ""

    def save(self, db: Connection) -> None:
        row = EXPERIENCE_FORMAT.encode_row(list(dataclasses.astuple(self)))
        db.execute(f"INSERT OR REPLACE INTO work ({_COLUMNS}) VALUES ({_PLACES})", row)

    def item(self) -> WorkItem:
        return WorkItem(kind=self.kind, key=self.key, at=self.at, data=self.data)


_FIELDS = [field.name for field in dataclasses.fields(_WorkRow)]
_COLUMNS = f"{', '.join(_FIELDS)}, checksum"
_PLACES = ", ".join("?" * (len(_FIELDS) + 1))


def add_work(db: Connection, item: WorkItem) -> bool:
    """Add an item, unless one of its kind and key is known."""
    if db.fetch_one("SELECT 1 FROM work WHERE kind = ? AND key = ?", (item.kind, item.key)):
        return False
    ((items, last),) = db.fetch_all("SELECT count(*), ifnull(max(number), 0) FROM work")
    if items >= MAX_WORK:
        done = db.fetch_one("SELECT min(number) FROM work WHERE is_done = 1")
        if done is None or done[0] is None:
            raise too_much_work_error()
        db.execute("DELETE FROM work WHERE number = ?", done)
        _forget_answers(db, done[0])
    new = _WorkRow(number=last + 1, kind=item.kind, key=item.key, at=item.at, data=item.data)
    new.save(db)
    return True


def claim_work(
    db: Connection, kind: str, now: int, lease: int, max_attempts: int
) -> ClaimedWork | None:
    """Claim the oldest item that is free; no item after it is read."""
    last = 0
    next_open = "is_done = 0 AND kind = ? AND number > ? ORDER BY number LIMIT 1"
    while rows := _fetch_rows(db, next_open, (kind, last)):
        row = rows[0]
        last = row.number
        if row.until > now + lease:
            row.until = now + lease  # the clock was set back: its process keeps a whole lease
            row.save(db)
        elif row.until > now:
            continue
        elif row.attempt < max_attempts:
            row.attempt += 1
            row.until = now + lease
            row.save(db)
            return ClaimedWork(
                item=row.item(), attempt=row.attempt, until=row.until, progress=row.progress
            )
        else:
            _finish(db, row, RESULT_GAVE_UP, "")
    return None


def keep_progress(db: Connection, work: ClaimedWork, progress: str) -> None:
    """Keep what the next attempt begins with. Raises `Conflict` (`work_lost`)."""
    row = _fetch_claimed(db, work)
    row.progress = progress
    row.save(db)


def add_answer(db: Connection, work: ClaimedWork, answer: str) -> None:
    """Append an answer to an item. Raises `Conflict` (`work_lost`)."""
    row = EXPERIENCE_FORMAT.encode_row([_fetch_claimed(db, work).number, answer])
    db.execute("INSERT INTO answers (work, answer, checksum) VALUES (?, ?, ?)", row)


def read_answers(db: Connection, work: ClaimedWork) -> list[str]:
    """Return the answers of an item, in the order of adding."""
    rows = db.fetch_all(
        "SELECT work, answer, checksum FROM answers"
        " WHERE work = (SELECT number FROM work WHERE kind = ? AND key = ?) ORDER BY number",
        (work.item.kind, work.item.key),
    )
    return [EXPERIENCE_FORMAT.decode_row(row)[1] for row in rows]


def set_lease_end(db: Connection, work: ClaimedWork, until: int) -> None:
    """Let the lease of an item end at a time. Raises `Conflict` (`work_lost`)."""
    row = _fetch_claimed(db, work)
    row.until = until
    row.save(db)


def finish_work(db: Connection, work: ClaimedWork, result: str, data: str | None) -> None:
    """Mark an item as done. Raises `Conflict` (`work_lost`)."""
    row = _fetch_claimed(db, work)
    _finish(db, row, result, row.data if data is None else data)


def count_work(db: Connection, kind: str) -> int:
    """Return how many items of one kind, or of all, are not done."""
    condition, args = (" AND kind = ?", (kind,)) if kind else ("", ())
    ((count,),) = db.fetch_all(f"SELECT count(*) FROM work WHERE is_done = 0{condition}", args)
    return int(count)


def find_work_time(db: Connection, kind: str, order: str) -> int | None:
    """Return the time of the item that is not done and was added first (ASC) or last (DESC)."""
    rows = _fetch_rows(db, f"is_done = 0 AND kind = ? ORDER BY number {order} LIMIT 1", (kind,))
    return rows[0].at if rows else None


def list_work(db: Connection, kind: str) -> list[tuple[WorkItem, str]]:
    """Return the items of one kind, or of all, with their results, oldest first."""
    condition, args = ("kind = ?", (kind,)) if kind else ("1", ())
    rows = _fetch_rows(db, f"{condition} ORDER BY number", args)
    return [(row.item(), row.result) for row in rows]


def _finish(db: Connection, row: _WorkRow, result: str, data: str) -> None:
    row.is_done = 1
    row.result = result
    row.data = data
    row.progress = ""
    row.save(db)
    _forget_answers(db, row.number)


def _forget_answers(db: Connection, number: int) -> None:
    db.execute("DELETE FROM answers WHERE work = ?", (number,))


def _fetch_claimed(db: Connection, work: ClaimedWork) -> _WorkRow:
    """Return the row of an item that its claim still holds. Raises `Conflict` (`work_lost`)."""
    key = work.item.kind, work.item.key
    for row in _fetch_rows(db, "kind = ? AND key = ?", key):
        if not row.is_done and row.attempt == work.attempt:
            return row
    raise work_lost_error(work)


def _fetch_rows(db: Connection, condition: str, args: Sequence[object]) -> list[_WorkRow]:
    rows = db.fetch_all(f"SELECT {_COLUMNS} FROM work WHERE {condition}", args)
    decoded = map(EXPERIENCE_FORMAT.decode_row, rows)
    return [_WorkRow(**dict(zip(_FIELDS, fields, strict=True))) for fields in decoded]
