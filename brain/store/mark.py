"""The high-water mark: which operation was acknowledged last, kept beside the store.

SQLite drops the end of a damaged log without a word, and with it what was
acknowledged. So each commit notes its latest operation in the file `mark`, and a
store that stands below its mark is known to have lost something. The note is not
synchronised: a power cut may leave it behind the store, never ahead of it.
"""

from __future__ import annotations

import os
from contextlib import suppress

from blake3 import blake3

from ..errors import StoreError
from .plainfile import open_plain

NAME = "mark"
_CHECK = 8


def write(store: str, head: bytes) -> None:
    """Note that the operation log of the file `store` stands at `head`, as `oplog.pack_head`.

    What is noted is durable already, so a note that cannot be written is left out.
    """
    path = _beside(store)
    with suppress(OSError, StoreError):  # of the latter the next transaction tells
        fresh = not os.path.lexists(path)
        handle = open_plain(path, os.O_WRONLY | os.O_CREAT)
        try:
            if fresh:
                _own(handle, os.path.dirname(path))
            os.pwrite(handle, head + _sum(head), 0)
        finally:
            os.close(handle)


def read(store: str) -> bytes:
    """Return the head that was noted last, b"" if there is no note or a damaged one.

    Raises `StoreError` as `open_plain`.
    """
    try:
        handle = open_plain(_beside(store), os.O_RDONLY)
    except OSError:
        return b""
    try:
        note = os.read(handle, 256)
    finally:
        os.close(handle)
    head, check = note[:-_CHECK], note[-_CHECK:]
    return head if check == _sum(head) else b""


def number(noted: bytes) -> int:
    """Return the number of the operation that was noted; 0 if none was."""
    return int.from_bytes(noted[:8], "big")


def lost(noted: bytes, head: bytes) -> str:
    """Say what is lost if the log stands at `head`; "" if it is at or beyond what was `noted`."""
    last, here = int.from_bytes(noted[:8], "big"), int.from_bytes(head[:8], "big")
    if last > here:
        return f"operations {here + 1} to {last} were acknowledged and are not in the store"
    if last == here and noted != head:
        return f"operation {last} is not the one that was acknowledged"
    return ""


def refuse_loss(noted: bytes, head: bytes) -> None:
    """Raise `StoreError` (`lost_operations`) if something is lost."""
    if noted and (message := lost(noted, head)):
        raise StoreError(
            message,
            code="lost_operations",
            hint="bring the folder .brain back from a copy;"
            " to go on without them, delete .brain/mark",
        )


def _own(handle: int, folder: str) -> None:
    """Give a new note the rights and the owner of the store, whoever runs this."""
    os.fchmod(handle, 0o600)
    if os.geteuid() == 0:
        owner = os.stat(folder)
        os.fchown(handle, owner.st_uid, owner.st_gid)


def _beside(store: str) -> str:
    return os.path.join(os.path.dirname(store), NAME)


def _sum(head: bytes) -> bytes:
    return blake3(head).digest(_CHECK)
