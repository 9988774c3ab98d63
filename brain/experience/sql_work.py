"""Work to do in a shared database: items, claims with leases, and results.

Each function runs inside the transaction of its caller.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from .experience_limits import MAX_WORK, too_much_work_error, work_lost_error
from .experience_protocol import RESULT_GAVE_UP, ClaimedWork, WorkItem
from .sql_tables import answers, work


def add_shared_work(db: Connection, brain: str, item: WorkItem, number: int) -> bool:
    """Add an item with a new number, unless one of its kind and key is known."""
    of_brain = work.c.brain == brain
    known = select(work.c.number).where(of_brain, work.c.kind == item.kind, work.c.key == item.key)
    if db.scalar(known) is not None:
        return False
    items = db.scalar(select(func.count()).select_from(work).where(of_brain)) or 0
    if items >= MAX_WORK:
        done = db.scalar(select(func.min(work.c.number)).where(of_brain, work.c.is_done == 1))
        if done is None:
            raise too_much_work_error()
        db.execute(delete(work).where(of_brain, work.c.number == done))
        _forget_answers(db, brain, done)
    fields = {"kind": item.kind, "key": item.key, "at": item.at, "data": item.data}
    unclaimed = {"is_done": 0, "attempt": 0, "until": 0, "result": "", "progress": ""}
    db.execute(insert(work), {"brain": brain, "number": number, **fields, **unclaimed})
    return True


def claim_shared_work(
    db: Connection, queue: tuple[str, str], now: int, lease: int, max_attempts: int
) -> ClaimedWork | None:
    """Claim the oldest free item of a brain and kind that no other transaction looks at."""
    brain, kind = queue
    is_open = (work.c.brain == brain) & (work.c.kind == kind) & (work.c.is_done == 0)
    # The clock was set back: the process that works on it keeps a whole lease.
    db.execute(update(work).where(is_open, work.c.until > now + lease).values(until=now + lease))
    free = select(work).where(is_open, work.c.until <= now).order_by(work.c.number).limit(1)
    while row := db.execute(free.with_for_update(skip_locked=True)).one_or_none():
        is_it = (work.c.brain == brain) & (work.c.number == row.number)
        if row.attempt >= max_attempts:
            gave_up = {"is_done": 1, "result": RESULT_GAVE_UP, "data": "", "progress": ""}
            db.execute(update(work).where(is_it).values(**gave_up))
            _forget_answers(db, brain, row.number)
            continue
        claimed = {"attempt": row.attempt + 1, "until": now + lease}
        db.execute(update(work).where(is_it).values(**claimed))
        return ClaimedWork(item=_item(row), progress=row.progress, **claimed)
    return None


def update_claimed(db: Connection, brain: str, claimed: ClaimedWork, **values: Any) -> int:
    """Change an item that its claim still holds, and return its number.

    Raises `Conflict` (`work_lost`).
    """
    is_held: list[ColumnElement[bool]] = [
        work.c.brain == brain,
        work.c.kind == claimed.item.kind,
        work.c.key == claimed.item.key,
        work.c.is_done == 0,
        work.c.attempt == claimed.attempt,
    ]
    changed = update(work).where(*is_held).values(**values).returning(work.c.number)
    number = db.execute(changed).scalar_one_or_none()
    if number is None:
        raise work_lost_error(claimed)
    return int(number)


def add_shared_answer(db: Connection, brain: str, claimed: ClaimedWork, answer: str) -> None:
    """Append an answer to an item. Raises `Conflict` (`work_lost`)."""
    number = update_claimed(db, brain, claimed, attempt=claimed.attempt)
    of_item = _answers_of(brain, number)
    last = db.scalar(select(func.max(answers.c.number)).where(of_item)) or 0
    row = {"brain": brain, "work": number, "number": last + 1, "answer": answer}
    db.execute(insert(answers), row)


def read_shared_answers(db: Connection, brain: str, claimed: ClaimedWork) -> list[str]:
    """Return the answers of an item, in the order of adding."""
    item = claimed.item
    is_it = (work.c.brain == brain) & (work.c.kind == item.kind) & (work.c.key == item.key)
    number = db.scalar(select(work.c.number).where(is_it)) or 0
    found = select(answers.c.answer).where(_answers_of(brain, number))
    return list(db.scalars(found.order_by(answers.c.number)))


def finish_shared_work(
    db: Connection, brain: str, claimed: ClaimedWork, result: str, data: str | None
) -> None:
    """Mark an item as done. Raises `Conflict` (`work_lost`)."""
    done = {"is_done": 1, "result": result, "progress": ""}
    if data is not None:
        done["data"] = data
    _forget_answers(db, brain, update_claimed(db, brain, claimed, **done))


def count_shared_work(db: Connection, brain: str, kind: str) -> int:
    """Return how many items of one kind, or of all, are not done."""
    found = select(func.count()).where(work.c.brain == brain, work.c.is_done == 0)
    return db.scalar(found.where(work.c.kind == kind) if kind else found) or 0


def find_shared_work_time(db: Connection, brain: str, kind: str, *, is_oldest: bool) -> int | None:
    """Return the time of the item that is not done and was added first, or last."""
    is_open = (work.c.brain == brain) & (work.c.kind == kind) & (work.c.is_done == 0)
    order = work.c.number.asc() if is_oldest else work.c.number.desc()
    return db.scalar(select(work.c.at).where(is_open).order_by(order).limit(1))


def list_shared_work(db: Connection, brain: str, kind: str) -> list[tuple[WorkItem, str]]:
    """Return the items of one kind, or of all, with their results, oldest first."""
    found = select(work).where(work.c.brain == brain)
    if kind:
        found = found.where(work.c.kind == kind)
    return [(_item(row), row.result) for row in db.execute(found.order_by(work.c.number))]


def _answers_of(brain: str, number: int) -> ColumnElement[bool]:
    return (answers.c.brain == brain) & (answers.c.work == number)


def _forget_answers(db: Connection, brain: str, number: int) -> None:
    db.execute(delete(answers).where(_answers_of(brain, number)))


def _item(row: Row[Any]) -> WorkItem:
    return WorkItem(kind=row.kind, key=row.key, at=row.at, data=row.data)
