"""What an attempt imports inside the sandbox: system calls, and how it reports.

It runs inside and imports nothing of the project. A report is a line on standard output:
`began` before all else, `refused ERROR` for what failed as it should, `seen VALUE` for what is
allowed and shown to the test, which looks for secrets in it, `reached WHAT` for a way out, and
`ended` at the end.
"""

import ctypes
import errno
import json
import mmap
import os
import signal
import socket
import sys
import threading
import time

__all__ = [
    "absent", "call", "count_until_refused", "ctypes", "errno", "fork", "host", "mmap", "os",
    "program", "reached", "reached_if", "refuse", "seen", "signal", "socket", "start_threads",
    "sys", "threading", "time", "write_file",
]  # fmt: skip

host = json.loads(sys.argv[1])
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_REFUSALS = (OSError, MemoryError, RuntimeError, ValueError, EOFError)


def _report(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode(errors="replace"))


def seen(value):
    """Show a value that may be seen if no secret is in it."""
    _report("seen", repr(value)[:20_000])


def reached(what):
    """Say that there was a way out."""
    _report("reached", what)


def reached_if(condition, what=""):
    """Say that there was a way out if a condition holds, and otherwise that there was none."""
    if condition:
        reached(what)
    else:
        _report("refused", what)


def start_threads(target, count):
    """Start up to `count` threads, fewer if memory for their stacks comes to its end."""
    for _ in range(count):
        try:
            threading.Thread(target=target, daemon=True).start()
        except RuntimeError:
            return


def refuse(action, *arguments):
    """Do what the sandbox must refuse."""
    try:
        value = action(*arguments)
    except _REFUSALS as error:
        _report("refused", type(error).__name__, error)
    else:
        reached(repr(value)[:1000])


def call(name, *arguments):
    """Make a system call by its name; raise `OSError` if it fails."""
    number = host["calls"].get(name, -1)
    if number < 0:
        raise OSError(errno.ENOSYS, "not on this machine")
    passed = [one.encode() + b"\0" if isinstance(one, str) else one for one in arguments]
    passed = [
        ctypes.c_long(one) if isinstance(one, int) else ctypes.cast(one, ctypes.c_void_p)
        for one in passed
    ]
    ctypes.set_errno(0)
    value = _libc.syscall(ctypes.c_long(number), *passed)
    if value < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value


def absent(name, *arguments):
    """Make a system call that the kernel must not even look at."""
    try:
        value = call(name, *(arguments or (0, 0, 0, 0, 0, 0)))
    except OSError as error:
        reached_if(error.errno not in (errno.ENOSYS, errno.EACCES), f"{name}: {error}")
    else:
        reached(f"{name} returned {value}")


def count_until_refused(action, most):
    """Do something again and again, which must be refused before `most` times."""
    for number in range(most):
        try:
            action(number)
        except _REFUSALS as error:
            _report("refused", "after", number, error)
            return number
    reached(f"{most} times")
    return most


def fork(action):
    """Do something in another process, and return its exit status."""
    pid = os.fork()
    if pid == 0:
        try:
            action()
        finally:
            os._exit(0)
    return os.waitpid(pid, 0)[1]


def program(*arguments):
    """Run a program, and fail as `OSError` unless it ends with status 0."""
    pid = os.posix_spawn(arguments[0], arguments, {})
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        raise OSError(0, f"{arguments[0]} ended with status {status}")
    return status


def write_file(path, content=b"x", flags=os.O_WRONLY | os.O_CREAT):
    """Write a file by its path."""
    descriptor = os.open(path, flags, 0o644)
    try:
        return os.write(descriptor, content)
    finally:
        os.close(descriptor)


_report("began")
