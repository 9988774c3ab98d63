"""Find processes of sandboxes on the host, by a limit that only they have."""

import os
import select
import time
from contextlib import ExitStack, suppress
from pathlib import Path


def odd_memory_limit(mebibytes: int) -> int:
    """Return a limit of memory that no sandbox of another process of this machine has."""
    return (mebibytes << 20) + 4096 * (os.getpid() % 100_003)


def processes_with_memory_limit(limit: int) -> list[int]:
    """Return processes that have `limit` as address space, or are about to set it."""
    option, row = f"--as={limit}".encode(), str(limit).encode()
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if not entry.name.isdigit():
                continue
            limits = (entry / "limits").read_bytes().split(b"Max address space", 1)[-1]
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if option in words or row in limits.split(b"\n", 1)[0].split():
                found.append(int(entry.name))
    return found


def processes_left(limit: int, seconds: float) -> list[int]:
    """Wait until no process has the limit, and return those that do not end in time."""
    deadline = time.monotonic() + seconds
    while found := processes_with_memory_limit(limit):
        left = deadline - time.monotonic()
        if left < 0:
            return found
        with ExitStack() as stack:
            ended = select.poll()
            try:
                for pid in found:
                    descriptor = os.pidfd_open(pid)
                    stack.callback(os.close, descriptor)
                    ended.register(descriptor, select.POLLIN)
            except OSError:
                continue  # one has ended since, and nothing would wake the poll for it
            ended.poll(left * 1000)
    return []
