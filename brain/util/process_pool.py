"""Run work in forked children of this process.

A child starts in about two milliseconds with everything the parent has in memory, does
its work, sends values back through a pipe, and ends without running anything else. It
must not touch a connection to a database that the parent had open, nor a lock.
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
"""Turns that one queue holds: numbers of two bytes, which any pipe takes at once."""

SendValue = Callable[[Any], None]
"""Sends a value that `marshal` can write: bytes, text, numbers, tuples, lists, dicts."""

_MAX_HELPERS = 4
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_VALUE, _DONE, _FAILED = range(3)
_LENGTH_BYTES = 8


def processor_count() -> int:
    """Return how many processes may share work; 1 where forking is not safe, or no use.

    A lock that another thread holds would be held for ever in a child, so only a
    process of a single thread forks; threads that Python does not know of count too.
    """
    if sys.platform != "linux" or len(os.listdir("/proc/self/task")) > 1:
        return 1
    return len(os.sched_getaffinity(0))


def helper_count() -> int:
    """Return how many children help a parent that itself mostly waits; 0 as for `processors`."""
    count = processor_count()
    return min(count, _MAX_HELPERS) if count > 1 else 0


@contextmanager
def run_in_child(work: Callable[[SendValue], None]) -> Iterator[Iterator[Any]]:
    """Do `work` in a child while the block runs; yield an iterator over what it sends.

    The iterator raises what the child raised if that was a `BrainError`, and
    `BrainError` (`worker_died`) if the child ended in any other way before its
    work was done. A child that is not finished when the block ends is killed.
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
            with suppress(ChildProcessError):  # somebody waits for all children of this process
                os.waitpid(child, 0)


def _fork_child(work: Callable[[SendValue], None], source: int, target: int) -> int:
    """Start a child and return its id; no signal may raise in it what its parent handles."""
    parent = os.getpid()
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    try:
        child = os.fork()
        if not child:
            os.close(source)  # so that writing fails once nobody listens
            _run_child(work, target, parent)
        return child
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)


def _run_child(work: Callable[[SendValue], None], target: int, parent: int) -> NoReturn:
    """Be the child: never return, whatever happens.

    An interrupt from the keyboard goes to the parent too, which then ends the child.
    Garbage stays, since some of it may be the parent's to finish.
    """

    def write(kind: int, value: Any) -> None:
        if os.getppid() != parent:  # nobody is there to read it
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
    """What a child sends, value by value; `finished` once it has said that it is done."""

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
    """The numbers from 0 to `count` - 1, at most MOST_TURNS; each goes to the first who asks.

    Children forked while it is open share it with their parent.
    """

    def __init__(self, count: int) -> None:
        self._source, target = os.pipe()
        os.write(target, array("H", range(count)).tobytes())
        os.close(target)

    def __iter__(self) -> Iterator[int]:
        while job := os.read(self._source, 2):
            yield int.from_bytes(job, sys.byteorder)

    def close(self) -> None:
        """Give the queue back."""
        os.close(self._source)


def run_jobs_in_children(
    children: int, jobs: int, work: Callable[[int], Any]
) -> Generator[tuple[int, Any], None, None]:
    """Have `children` do the jobs below `jobs`, at most MOST_TURNS; yield number and answer.

    They answer in turn, so jobs should be alike. A job without an answer, whatever went
    wrong, is left to the caller, who then meets the error himself.
    """

    def do(send: SendValue) -> None:
        for job in queue:
            send((job, work(job)))

    with closing(JobQueue(jobs)) as queue, ExitStack() as stack:
        running: list[Iterator[tuple[int, Any]]] = []
        with suppress(OSError):  # no more processes
            for _ in range(children):
                running.append(stack.enter_context(run_in_child(do)))
        while running:
            for child in list(running):
                try:
                    answer = next(child)
                except (BrainError, StopIteration):
                    running.remove(child)
                else:
                    yield answer


@contextmanager
def share_jobs(
    jobs: int,
    do: Callable[[int], Any],
    child_context: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Iterator[Callable[[], list[Any]]]:
    """Have children do the jobs below `jobs`, at most MOST_TURNS, while the block runs.

    Yields what does the rest and returns all answers, in the order of the jobs. A child
    works inside `own()`, where it gets what it cannot take over from its parent. What a
    child took and did not do, whatever went wrong, is done by the parent.
    """

    def help_out(send: SendValue) -> None:
        with child_context():
            for job in queue:
                send((job, do(job)))

    with closing(JobQueue(jobs)) as queue, ExitStack() as stack:
        children: list[Iterator[tuple[int, Any]]] = []
        with suppress(OSError):  # no more processes
            for _ in range(min(processor_count(), jobs) - 1):
                children.append(stack.enter_context(run_in_child(help_out)))

        def finish() -> list[Any]:
            done = {job: do(job) for job in queue}
            for child in children:
                with suppress(BrainError):  # it died: its jobs are left
                    done.update(child)
            return [done[job] if job in done else do(job) for job in range(jobs)]

        yield finish
