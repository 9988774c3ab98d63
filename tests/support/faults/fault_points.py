"""Where a fault can strike: every system call of a command, with what may go wrong in it."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.support.cases import read_cases
from tests.support.faults.strace_runner import SystemCall

CASES = read_cases(__file__)

_WRITE_CALLS = (
    *("write", "pwrite64", "fdatasync", "fsync", "ftruncate", "fallocate"),
    *("unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2", "link"),
    *("mkdir", "mkdirat", "symlink", "symlinkat", "chmod", "fchmod", "fchown"),
)
"""Calls that change what is on the disk; of `openat`, those that may make a file do too."""

_ERRORS_BY_CALL = CASES["errors_by_call"]
_SHORT_WRITE_CALLS = ("write", "pwrite64")
"""Calls that may take less than they are given. The tracer cannot shorten a call, only
leave it out, so nothing is what they take; RLIMIT_FSIZE cuts them in the middle."""

WATCHED_CALLS = tuple(sorted({*_WRITE_CALLS, *_ERRORS_BY_CALL}))
"""The calls that are counted."""


class FaultPoint(NamedTuple):
    """One fault in the `number`-th `call` of a scenario's command.

    `fault` is `signal=SIGKILL`, `error=E…` or `retval=0`.
    """

    scenario: str
    call: str
    number: int
    fault: str

    @property
    def strace_expression(self) -> str:
        """What strace is told."""
        return f"{self.call}:{self.fault}:when={self.number}"

    def __str__(self) -> str:
        return f"{self.scenario}:{self.strace_expression}"


def parse_point(text: str) -> FaultPoint:
    """Undo `str`."""
    scenario, call, fault, when = text.split(":")
    return FaultPoint(scenario, call, int(when.removeprefix("when=")), fault)


def kill_points(scenario: str, calls: list[SystemCall]) -> Iterator[FaultPoint]:
    """Yield a kill before each change; that after the last one is the end of the command."""
    for call in _unique_calls(calls):
        if call.name in _WRITE_CALLS or (call.name == "openat" and "O_CREAT" in call.arguments):
            yield FaultPoint(scenario, call.name, call.number, "signal=SIGKILL")


def error_points(scenario: str, calls: list[SystemCall]) -> Iterator[FaultPoint]:
    """Yield each error that each call may end with."""
    for call in _unique_calls(calls):
        for error in _ERRORS_BY_CALL.get(call.name, ()):
            # What may not be read is left out and named, which is no state of before or after.
            is_to_read = call.name == "openat" and "O_CREAT" not in call.arguments
            is_content = is_to_read and "/.brain" not in call.arguments
            if not ((error == "ENOSPC" and is_to_read) or (error == "EACCES" and is_content)):
                yield FaultPoint(scenario, call.name, call.number, f"error={error}")
        if call.name in _SHORT_WRITE_CALLS:
            yield FaultPoint(scenario, call.name, call.number, "retval=0")


def _unique_calls(calls: list[SystemCall]) -> list[SystemCall]:
    """Name each call once, though threads count their own."""
    return list({(call.name, call.number): call for call in calls}.values())
