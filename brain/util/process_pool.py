"""Run work in forked children: the only module that forks.

A child starts in about two milliseconds with the memory of its parent, does its work,
sends values back through a pipe, and exits without running anything else. It must not
use a database connection or a lock of its parent.
"""

from __future__ import annotations

import gc
import marshal
import os
import signal
import sys
from array import array
from collections.abc import Callable, Generator, Iterator
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
    nullcontext,
    suppress,
)
from typing import Any, BinaryIO, NoReturn

from .. import errors
from ..errors import BrainError

MAX_QUEUED_JOBS = 2048
"""Jobs of one queue: numbers of two bytes, which any pipe buffers at once."""

SendValue = Callable[[Any], None]
"""Sends a value to the parent: anything that `marshal` can write."""

_MAX_HELPERS = 4
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_VALUE, _DONE, _FAILED = range(3)
_LENGTH_BYTES = 8


def processor_count() -> int:
    """Return how many processes may share work; 1 where forking is unsafe or useless.

    A lock that another thread holds would stay locked in a child for ever, so only a
    process with a single thread forks; threads of C libraries count too.
    """
    if sys.platform != "linux" or len(os.listdir("/proc/self/task")) > 1:
        return 1
    return len(os.sched_getaffinity(0))


def helper_count() -> int:
    """Return how many children help a parent that mostly waits; 0 where forking is unsafe."""
    count = processor_count()
    return min(count, _MAX_HELPERS) if count > 1 else 0


@contextmanager
def run_in_child(work: Callable[[SendValue], None]) -> Iterator[Iterator[Any]]:
    """Do `work` in a child while the block runs; yield an iterator over the values it sends.

    The iterator raises a `BrainError` of the child again, and `BrainError` (`worker_died`) if
    the child ended in any other way before its work was done. A child that is still at work
    when the block ends is killed.
    """
    source, target = os.pipe()
    with open(source, "rb") as pipe:
        try:
            child = _fork_child(work, source, target)
        finally:
            os.close(target)
        values = _ChildMessages(pipe)
        try:
            yield values
        finally:
            if not values.is_finished:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            with suppress(ChildProcessError):  # another handler already waited for it
                os.waitpid(child, 0)


def _fork_child(work: Callable[[SendValue], None], source: int, target: int) -> int:
    """Start a child and return its process id; the handlers of the parent never run in it."""
    parent = os.getpid()
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    try:
        child = os.fork()
        if not child:
            os.close(source)  # so that writing fails once the parent is gone
            _run_child(work, target, parent)
        return child
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)


def _run_child(work: Callable[[SendValue], None], target: int, parent: int) -> NoReturn:
    """Run the child, and never return.

    The child ignores an interrupt from the keyboard, which also reaches the parent, who kills
    the child. Garbage is not collected, since finalizers may belong to the parent.
    """

    def write(kind: int, value: Any) -> None:
        if os.getppid() != parent:  # the parent is gone
            os._exit(1)
        data = marshal.dumps((kind, value))
        pipe.write(len(data).to_bytes(_LENGTH_BYTES, "little") + data)
        pipe.flush()

    try:
        gc.disable()
        for number in _STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
        with open(target, "wb") as pipe:
            try:
                work(lambda value: write(_VALUE, value))
                write(_DONE, None)
            except BrainError as error:
                write(_FAILED, (type(error).__name__, error.message, error.code, error.hint))
        os._exit(0)
    finally:
        os._exit(1)


class _ChildMessages:
    """Iterates over the values that a child sends; `is_finished` after its last message."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self.is_finished = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.is_finished:
            raise StopIteration
        length = int.from_bytes(self._read(_LENGTH_BYTES), "little")
        kind, value = marshal.loads(self._read(length))
        self.is_finished = kind != _VALUE
        if kind == _FAILED:
            name, message, code, hint = value
            raise getattr(errors, name)(message, code=code, hint=hint)
        if kind == _DONE:
            raise StopIteration
        return value

    def _read(self, size: int) -> bytes:
        data = self._pipe.read(size)
        if len(data) < size:
            raise BrainError(
                "a process that shared the work ended before it was done",
                code="worker_died",
                hint="see whether something kills processes or memory is short, and try again",
            )
        return data


class JobQueue:
    """A queue of the numbers below `count`, shared with children that are forked later.

    Each number goes to one process. `count` is at most MAX_QUEUED_JOBS.
    """

    def __init__(self, count: int) -> None:
        self._source, target = os.pipe()
        os.write(target, array("H", range(count)).tobytes())
        os.close(target)

    def __iter__(self) -> Iterator[int]:
        while job := os.read(self._source, 2):
            yield int.from_bytes(job, sys.byteorder)

    def close(self) -> None:
        """Close the queue."""
        os.close(self._source)


def run_jobs_in_children(
    children: int, jobs: int, work: Callable[[int], Any]
) -> Generator[tuple[int, Any], None, None]:
    """Run the jobs with numbers below `jobs` in children; yield (number, answer).

    The children are read in turn, so jobs should be alike. A job that failed yields nothing:
    the caller repeats it and gets the error. `jobs` is at most MAX_QUEUED_JOBS.
    """

    with closing(JobQueue(jobs)) as queue, ExitStack() as stack:
        running = _start_children(stack, children, queue, work, nullcontext)
        while running:
            for child in list(running):
                try:
                    answer = next(child)
                except (BrainError, StopIteration):
                    running.remove(child)
                else:
                    yield answer


def _start_children(
    stack: ExitStack,
    count: int,
    queue: JobQueue,
    work: Callable[[int], Any],
    child_context: Callable[[], AbstractContextManager[object]],
) -> list[Iterator[tuple[int, Any]]]:
    """Start children, as many as possible up to `count`; return their iterators of (job, answer).

    Each works on jobs of the queue inside `child_context()`.
    """

    def send_answers(send: SendValue) -> None:
        with child_context():
            for job in queue:
                send((job, work(job)))

    children: list[Iterator[tuple[int, Any]]] = []
    with suppress(OSError):  # no more processes
        for _ in range(count):
            children.append(stack.enter_context(run_in_child(send_answers)))
    return children


@contextmanager
def share_jobs(
    jobs: int,
    do: Callable[[int], Any],
    child_context: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Iterator[Callable[[], list[Any]]]:
    """Run the jobs with numbers below `jobs` in children while the block runs.

    Yields a function that runs the remaining jobs here and returns all answers in order. A
    child works inside `child_context()`, which opens what it cannot inherit. The parent
    repeats the jobs that a child failed to do. `jobs` is at most MAX_QUEUED_JOBS.
    """

    with closing(JobQueue(jobs)) as queue, ExitStack() as stack:
        count = min(processor_count(), jobs) - 1
        children = _start_children(stack, count, queue, do, child_context)

        def finish() -> list[Any]:
            answers = {job: do(job) for job in queue}
            for child in children:
                with suppress(BrainError):  # the child failed: its jobs are repeated below
                    answers.update(child)
            return [answers[job] if job in answers else do(job) for job in range(jobs)]

        yield finish
