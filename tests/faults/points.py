"""Where a fault can strike: every system call of a command, with what may go wrong in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .tracer import Call

_CHANGES = (
    *("write", "pwrite64", "fdatasync", "fsync", "ftruncate", "fallocate"),
    *("unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2", "link"),
    *("mkdir", "mkdirat", "symlink", "symlinkat", "chmod", "fchmod", "fchown"),
)
"""Calls that change what is on the disk; of `openat`, those that may make a file do too."""

_ERRORS = {
    "write": ("ENOSPC", "EIO", "EINTR"),
    "pwrite64": ("ENOSPC", "EIO", "EINTR"),
    "fdatasync": ("EIO", "ENOSPC", "EINTR"),
    "fsync": ("EIO", "ENOSPC", "EINTR"),
    "ftruncate": ("EIO", "EINTR"),
    "fallocate": ("ENOSPC", "EIO"),
    "openat": ("EACCES", "EMFILE", "EIO", "EINTR", "ENOSPC"),
    "read": ("EIO", "EINTR"),
    "pread64": ("EIO", "EINTR"),
    "unlink": ("EIO", "EACCES"),
    "unlinkat": ("EIO", "EACCES"),
    "rmdir": ("EIO",),
    "rename": ("EIO", "ENOSPC", "EACCES"),
    "renameat": ("EIO", "ENOSPC", "EACCES"),
    "renameat2": ("EIO", "ENOSPC", "EACCES"),
    "mkdir": ("ENOSPC", "EACCES"),
    "mkdirat": ("ENOSPC", "EACCES"),
    "symlinkat": ("ENOSPC",),
    "chmod": ("EIO",),
    "fchmod": ("EIO",),
    "fchown": ("EIO", "EPERM"),
    "flock": ("EINTR", "ENOLCK"),
}
_SHORT = ("write", "pwrite64")
"""Calls that may take less than they are given. The tracer cannot shorten a call, only
leave it out, so nothing is what they take; RLIMIT_FSIZE cuts them in the middle."""

WATCHED = tuple(sorted({*_CHANGES, *_ERRORS}))
"""The calls that are counted."""


class Point(NamedTuple):
    """One fault in the `number`-th `call` of a scenario's command.

    `fault` is `signal=SIGKILL`, `error=E…` or `retval=0`.
    """

    scenario: str
    call: str
    number: int
    fault: str

    @property
    def expression(self) -> str:
        """What strace is told."""
        return f"{self.call}:{self.fault}:when={self.number}"

    def __str__(self) -> str:
        return f"{self.scenario}:{self.expression}"


def parse(text: str) -> Point:
    """Undo `str`."""
    scenario, call, fault, when = text.split(":")
    return Point(scenario, call, int(when.removeprefix("when=")), fault)


def kills(scenario: str, calls: list[Call]) -> Iterator[Point]:
    """Yield a kill before each change; that after the last one is the end of the command."""
    for call in _struck(calls):
        if call.name in _CHANGES or (call.name == "openat" and "O_CREAT" in call.arguments):
            yield Point(scenario, call.name, call.number, "signal=SIGKILL")


def errors(scenario: str, calls: list[Call]) -> Iterator[Point]:
    """Yield each error that each call may end with."""
    for call in _struck(calls):
        for error in _ERRORS.get(call.name, ()):
            if error != "ENOSPC" or call.name != "openat" or "O_CREAT" in call.arguments:
                yield Point(scenario, call.name, call.number, f"error={error}")
        if call.name in _SHORT:
            yield Point(scenario, call.name, call.number, "retval=0")


def _struck(calls: list[Call]) -> list[Call]:
    """Name each call once, though threads count their own."""
    return list({(call.name, call.number): call for call in calls}.values())
