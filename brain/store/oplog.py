"""The log of operations: numbered from 1, each id hashed over the one before.

The latest number and id are kept among the facts, so that a log that lost its
end does not pass for a whole one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap

from ..digest import EMPTY, SIZE, domain
from ..errors import NotFound, StoreError
from . import bounds
from .connection import Connection
from .protocol import OperationRow
from .schema import columns

_ROW = columns("number INTEGER, id BLOB, data BLOB")
_DAMAGED = "run `brain verify`, and restore the folder .brain from a copy"
_chain = domain("brain v1 operation")


def link(previous: bytes, data: bytes) -> bytes:
    """Return the id of the operation that follows `previous`, which is b"" for the first."""
    return _chain(previous + data)


def pack_head(number: int, id: bytes) -> bytes:
    """Return number and id of the latest operation as one fact."""
    return number.to_bytes(8, "big") + id


def parse_head(fact: bytes | None) -> tuple[int, bytes]:
    """Undo `pack_head`; (0, b"") for a log without operations."""
    if fact is None:
        return 0, EMPTY
    if len(fact) != 8 + SIZE:
        raise _broken(0)
    return int.from_bytes(fact[:8], "big"), fact[8:]


def read(db: Connection, number: int, head: tuple[int, bytes]) -> OperationRow:
    """Return one operation after checking its link to the one before."""
    if not 1 <= number <= head[0]:
        raise NotFound(f"there is no operation {number}", code="missing_operation")
    rows = db.all(
        f"SELECT {_ROW} FROM operations WHERE number IN (?, ?) ORDER BY number",
        (number - 1, number),
    )
    if len(rows) != min(number, 2) or (number == head[0] and rows[-1][1] != head[1]):
        raise _broken(number)
    row = _row(*rows[-1])
    if row.id != link(rows[0][1] if number > 1 else EMPTY, row.data):
        raise _broken(number)
    return row


def newest_first(db: Connection, head: tuple[int, bytes]) -> Iterator[OperationRow]:
    """Stream the log from `head` to its beginning, checking every link."""
    later: OperationRow | None = None
    rows = db.stream(
        f"SELECT {_ROW} FROM operations WHERE number <= ? ORDER BY number DESC",
        (head[0],),
    )
    for row in starmap(_row, rows):
        if later is None:
            if (row.number, row.id) != head:
                raise _broken(head[0])
        elif row.number != later.number - 1 or later.id != link(row.id, later.data):
            raise _broken(later.number)
        else:
            yield later
        later = row
    if later is None:
        if head[0]:
            raise _broken(head[0])
        return
    if later.number != 1 or later.id != link(EMPTY, later.data):
        raise _broken(later.number)
    yield later


def head_at(db: Connection, number: int, head: tuple[int, bytes]) -> bytes:
    """Return what `pack_head` gave when the log, which ends at `head`, ended at `number`."""
    if number <= 0 or number >= head[0]:
        return pack_head(*head) if head[0] else EMPTY
    row = db.one(f"SELECT {columns('id BLOB')} FROM operations WHERE number = ?", (number,))
    return pack_head(number, row[0] if row else EMPTY)


def strays(db: Connection, head: tuple[int, bytes]) -> int:
    """Return how many rows are not of the log that ends at `head`."""
    ((count,),) = db.all(
        "SELECT count(*) FROM operations WHERE number < 1 OR number > ?", (head[0],)
    )
    return int(count)


def _row(number: int, id: bytes, data: bytes) -> OperationRow:
    if wrong := bounds.of_operation(number, id, data):
        raise StoreError(
            f"operation {number} is damaged: {wrong}", code="corrupt_operation", hint=_DAMAGED
        )
    return OperationRow(number, id, data)


def _broken(number: int) -> StoreError:
    return StoreError(
        f"the operation log is broken at operation {number}",
        code="corrupt_operation",
        hint=_DAMAGED,
    )
