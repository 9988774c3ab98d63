"""User ids for sandboxes that root starts: one for each sandbox that runs.

A user of its own keeps sandboxes apart from each other and from all users, and lets the kernel
count their processes. An id is held by an abstract socket of its number, which the kernel frees
with the process that holds it, so nothing is left to clean up.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from ..errors import SandboxError

FIRST_UID = 60_706
LAST_UID = 61_183
"""A range that systemd leaves unused (its page UIDS-GIDS), and that containers map as well."""


@contextmanager
def reserved_uid() -> Iterator[int]:
    """Hold a user id that no other sandbox of this machine has.

    Raises `SandboxError` (`no_uid`) if all are taken, or the user namespace of this process does
    not have them.
    """
    if not _is_mapped(LAST_UID):
        raise SandboxError(
            f"root of this container has no user ids {FIRST_UID} to {LAST_UID} for sandboxes",
            code="no_uid",
            hint="run skills as a user other than root, or map 65536 user ids into the container",
        )
    count = LAST_UID - FIRST_UID + 1
    start = os.getpid() % count
    for step in range(count):
        uid = FIRST_UID + (start + step) % count
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock:
            if _lock_uid(lock, uid):
                yield uid
                return
    raise SandboxError(
        f"all {count} user ids for sandboxes are in use", code="no_uid", hint="try again later"
    )


@cache
def end_orphans() -> None:
    """End processes of sandboxes whose program was killed, once in the life of this one.

    bubblewrap, ended together with its program while it starts, may leave a child that waits for
    ever. It has become a child of process 1, and nothing holds its user id.
    """
    if os.getpid() == 1:
        return  # its own sandboxes are children of process 1
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            uid = folder.stat().st_uid
            if FIRST_UID <= uid <= LAST_UID and _is_orphan(folder):
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock:
                    if _lock_uid(lock, uid):
                        os.kill(int(folder.name), signal.SIGKILL)


def _is_orphan(folder: Path) -> bool:
    return re.search(r"^PPid:\t1$", (folder / "status").read_text(), re.MULTILINE) is not None


def _lock_uid(lock: socket.socket, uid: int) -> bool:
    try:
        lock.bind(f"\0brain-sandbox-{uid}")
    except OSError:
        return False
    return True


def _is_mapped(uid: int) -> bool:
    """Tell whether the user namespace of this process has a user id."""
    try:
        with open("/proc/self/uid_map") as rows:
            ranges = [[int(number) for number in row.split()] for row in rows]
    except OSError:
        return True  # no kernel with namespaces, or no /proc, of which bubblewrap says more
    return any(first <= uid < first + length for first, _, length in ranges)
