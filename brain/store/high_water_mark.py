"""The high-water mark: the last acknowledged operation, kept in a file beside the store.

SQLite silently drops the end of a damaged log, and with it acknowledged commits. So each
commit notes its latest operation in the file `mark`; a store behind its mark has lost
something. The mark is not synced: a power cut may leave it behind the store, never ahead.
"""

from __future__ import annotations

import os
from contextlib import suppress

from blake3 import blake3

from ..errors import StoreError
from .connection import copy_owner, open_regular_file

MARK_FILE_NAME = "mark"
_CHECKSUM_BYTES = 8


def write_mark(store: str, head: bytes) -> None:
    """Record the encoded `head` of the operation log of the file `store`.

    The operation is durable already, so errors are ignored.
    """
    path = _mark_path(store)
    with suppress(OSError, StoreError):  # the next transaction raises a `StoreError` again
        is_new = not os.path.lexists(path)
        handle = open_regular_file(path, os.O_WRONLY | os.O_CREAT)
        try:
            if is_new:
                os.fchmod(handle, 0o600)
                copy_owner(handle, os.path.dirname(path))
            os.pwrite(handle, head + _mark_checksum(head), 0)
        finally:
            os.close(handle)


def read_mark(store: str) -> bytes:
    """Return the head that was recorded last, b"" if the mark is missing or damaged.

    Raises `StoreError` as `open_regular_file`.
    """
    try:
        handle = open_regular_file(_mark_path(store), os.O_RDONLY)
    except OSError:
        return b""
    try:
        note = os.read(handle, 256)
    finally:
        os.close(handle)
    head, check = note[:-_CHECKSUM_BYTES], note[-_CHECKSUM_BYTES:]
    return head if check == _mark_checksum(head) else b""


def marked_operation_number(marked_head: bytes) -> int:
    """Return the number of the marked operation; 0 if there is none."""
    return int.from_bytes(marked_head[:8], "big")


def describe_lost_operations(marked_head: bytes, head: bytes) -> str:
    """Describe the operations that are lost if the log ends at `head`; "" if none are."""
    last, here = int.from_bytes(marked_head[:8], "big"), int.from_bytes(head[:8], "big")
    if last > here:
        return f"operations {here + 1} to {last} were acknowledged and are not in the store"
    if last == here and marked_head != head:
        return f"operation {last} is not the one that was acknowledged"
    return ""


def check_operations_not_lost(marked_head: bytes, head: bytes) -> None:
    """Raise `StoreError` (`lost_operations`) if acknowledged operations are lost."""
    if marked_head and (message := describe_lost_operations(marked_head, head)):
        raise StoreError(
            message,
            code="lost_operations",
            hint="restore the folder .brain from a copy;"
            " to continue without them, delete .brain/mark",
        )


def _mark_path(store: str) -> str:
    return os.path.join(os.path.dirname(store), MARK_FILE_NAME)


def _mark_checksum(head: bytes) -> bytes:
    return blake3(head).digest(_CHECKSUM_BYTES)
