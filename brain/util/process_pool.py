"""Run work in forked children: the only module that forks.

A child starts in about two milliseconds with the memory of its parent, does its work, sends
answers back through a pipe, and exits without running anything else: `concurrent.futures` starts
threads in the parent, takes 40 ms to import, and cannot run what is not pickled. A child must not
use a database connection or a lock of its parent.
"""

from __future__ import annotations

import gc
import marshal
import os
import signal
import sys
from array import array
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from typing import Any, BinaryIO, NoReturn

MAX_QUEUED_JOBS = 2048
"""Jobs that are shared: numbers of two bytes, which any pipe buffers at once."""

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LENGTH_BYTES = 8


def processor_count() -> int:
    """Return how many processes may share work; 1 where forking is unsafe or useless.

    A lock that another thread holds would stay locked in a child for ever, so only a
    process with a single thread forks; threads of C libraries count too.
    """
    if sys.platform != "linux" or len(os.listdir("/proc/self/task")) > 1:
        return 1
    return len(os.sched_getaffinity(0))


@contextmanager
def share_jobs(
    jobs: int,
    do: Callable[[int], Any],
    child_context: Callable[[], AbstractContextManager[object]] = nullcontext,
    children: int | None = None,
) -> Iterator[Iterator[Any]]:
    """Run the jobs with numbers below `jobs` in children while the block runs.

    Yields an iterator over the answers in order: what `marshal` can write. It takes its share of
    the jobs here, and repeats those that a child failed to do, so that their errors are raised
    here. A child works inside `child_context()`, which opens what it cannot inherit, and is
    killed if it still works when the block ends. `jobs` is at most MAX_QUEUED_JOBS; `children` is
    one for each other processor, if None.
    """
    queue, target = os.pipe()
    os.write(target, array("H", range(jobs)).tobytes())
    os.close(target)

    def take() -> Iterator[int]:
        while job := os.read(queue, 2):
            yield int.from_bytes(job, sys.byteorder)

    def work() -> Iterator[bytes]:
        with child_context():
            # Sent when all are done: until then nobody reads, and the pipe would fill up.
            yield from [marshal.dumps((job, marshal.dumps(do(job)))) for job in take()]

    def answers() -> Iterator[Any]:
        waiting: dict[int, bytes] = {}  # packed, which takes a fraction of the memory
        next_job = 0
        for source in (((job, marshal.dumps(do(job))) for job in take()), *pipes):
            for job, packed in source:
                waiting[job] = packed
                while next_job in waiting:
                    yield marshal.loads(waiting.pop(next_job))
                    next_job += 1
        for job in range(next_job, jobs):  # a child took it, and failed
            yield marshal.loads(waiting.pop(job)) if job in waiting else do(job)

    with ExitStack() as stack:
        stack.callback(os.close, queue)
        pipes: list[Iterator[Any]] = []
        with suppress(OSError):  # no more processes
            for _ in range(min(processor_count(), jobs) - 1 if children is None else children):
                pipes.append(stack.enter_context(_run_child(work)))
        yield answers()


@contextmanager
def _run_child(work: Callable[[], Iterator[bytes]]) -> Iterator[Iterator[Any]]:
    """Do `work` in a child; yield an iterator over the values it sends until it ends."""
    source, target = os.pipe()
    with open(source, "rb") as pipe:
        parent = os.getpid()
        # The handlers of the parent never run in the child.
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
        try:
            child = os.fork()
            if not child:
                os.close(source)  # so that writing fails once the parent is gone
                _be_child(work, target, parent)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
            os.close(target)
        try:
            yield _read_values(pipe)
        finally:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            with suppress(ChildProcessError):  # another handler already waited for it
                os.waitpid(child, 0)


def _read_values(pipe: BinaryIO) -> Iterator[Any]:
    while len(length := pipe.read(_LENGTH_BYTES)) == _LENGTH_BYTES:
        data = pipe.read(int.from_bytes(length, "little"))
        if len(data) == int.from_bytes(length, "little"):
            yield marshal.loads(data)


def _be_child(work: Callable[[], Iterator[bytes]], target: int, parent: int) -> NoReturn:
    """Send what `work` yields, and never return."""
    try:
        gc.disable()  # finalizers may belong to the parent
        for number in _STOP_SIGNALS:
            # An interrupt from the keyboard also reaches the parent, who kills the child.
            signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
        with open(target, "wb") as pipe:
            for data in work():
                if os.getppid() != parent:  # it is gone
                    os._exit(1)
                pipe.write(len(data).to_bytes(_LENGTH_BYTES, "little") + data)
        os._exit(0)
    finally:
        os._exit(1)
