"""The table `operations`: a log numbered from 1, in which each id hashes the one before.

The latest number and id are a fact, so that the loss of the latest rows is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap

from ..digest import DIGEST_SIZE, NO_DIGEST, domain_hash
from ..errors import NotFound, StoreError
from . import field_limits
from .connection import Connection
from .protocol import OperationRow
from .schema import typed_columns

_OPERATION_COLUMNS = typed_columns("number INTEGER, id BLOB, data BLOB")
_DAMAGED_HINT = "run `brain verify`, and restore the folder .brain from a copy"
_hash_operation = domain_hash("brain v1 operation")


def chain_operation_id(previous: bytes, data: bytes) -> bytes:
    """Return the id of the operation that follows `previous`, which is b"" for the first."""
    return _hash_operation(previous + data)


def encode_log_head(number: int, id: bytes) -> bytes:
    """Return the fact for the number and id of the latest operation."""
    return number.to_bytes(8, "big") + id


def decode_log_head(fact: bytes | None) -> tuple[int, bytes]:
    """Undo `encode_log_head`; (0, b"") for a log without operations."""
    if fact is None:
        return 0, NO_DIGEST
    if len(fact) != 8 + DIGEST_SIZE:
        raise _broken_log_error(0)
    return int.from_bytes(fact[:8], "big"), fact[8:]


def read_logged_operation(db: Connection, number: int, head: tuple[int, bytes]) -> OperationRow:
    """Return one operation after checking its link to the one before."""
    if not 1 <= number <= head[0]:
        raise NotFound(
            f"there is no operation {number}",
            code="missing_operation",
            hint="`brain op log` lists the operations",
        )
    rows = db.fetch_all(
        f"SELECT {_OPERATION_COLUMNS} FROM operations WHERE number IN (?, ?) ORDER BY number",
        (number - 1, number),
    )
    if len(rows) != min(number, 2) or (number == head[0] and rows[-1][1] != head[1]):
        raise _broken_log_error(number)
    row = _check_row(*rows[-1])
    if row.id != chain_operation_id(rows[0][1] if number > 1 else NO_DIGEST, row.data):
        raise _broken_log_error(number)
    return row


def stream_log(db: Connection, head: tuple[int, bytes]) -> Iterator[OperationRow]:
    """Stream the log from `head` to its beginning, checking every link."""
    later: OperationRow | None = None
    rows = db.stream_rows(
        f"SELECT {_OPERATION_COLUMNS} FROM operations WHERE number <= ? ORDER BY number DESC",
        (head[0],),
    )
    for row in starmap(_check_row, rows):
        if later is None:
            if (row.number, row.id) != head:
                raise _broken_log_error(head[0])
        elif row.number != later.number - 1 or later.id != chain_operation_id(row.id, later.data):
            raise _broken_log_error(later.number)
        else:
            yield later
        later = row
    if later is None:
        if head[0]:
            raise _broken_log_error(head[0])
        return
    if later.number != 1 or later.id != chain_operation_id(NO_DIGEST, later.data):
        raise _broken_log_error(later.number)
    yield later


def log_head_at(db: Connection, number: int, head: tuple[int, bytes]) -> bytes:
    """Return the encoded head of the log when it ended at `number`; it now ends at `head`."""
    if number <= 0 or number >= head[0]:
        return encode_log_head(*head) if head[0] else NO_DIGEST
    row = db.fetch_one(
        f"SELECT {typed_columns('id BLOB')} FROM operations WHERE number = ?", (number,)
    )
    return encode_log_head(number, row[0] if row else NO_DIGEST)


def count_stray_operations(db: Connection, head: tuple[int, bytes]) -> int:
    """Return the number of rows beyond the log that ends at `head`."""
    ((count,),) = db.fetch_all(
        "SELECT count(*) FROM operations WHERE number < 1 OR number > ?", (head[0],)
    )
    return int(count)


def _check_row(number: int, id: bytes, data: bytes) -> OperationRow:
    if fault := field_limits.find_operation_error(number, id, data):
        raise StoreError(
            f"operation {number} is damaged: {fault}", code="corrupt_operation", hint=_DAMAGED_HINT
        )
    return OperationRow(number, id, data)


def _broken_log_error(number: int) -> StoreError:
    return StoreError(
        f"the operation log is broken at operation {number}",
        code="corrupt_operation",
        hint=_DAMAGED_HINT,
    )
