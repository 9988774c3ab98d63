"""Children do their work or are missed, and leave nothing behind."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from brain.errors import BrainError, StoreError
from brain.util import process_pool
from brain.util.process_pool import (
    MAX_QUEUED_JOBS,
    JobQueue,
    SendValue,
    processor_count,
    run_in_child,
    run_jobs_in_children,
    share_jobs,
)
from tests.support.processes import child_process_ids
from tests.support.refusals import raises_code

# What the children here do is safe whatever threads the tests before have left.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@pytest.fixture(autouse=True)
def no_child_is_left():
    before = child_process_ids()
    yield
    assert child_process_ids() <= before


def test_values_arrive_as_they_were_sent_and_in_order():
    sent = [(b"\0" * 40, 1 << 40, "é"), [], {"a": -1.5}, b"x" * (1 << 20), None]

    def work(send: SendValue) -> None:
        for value in sent:
            send(value)

    with run_in_child(work) as values:
        assert list(values) == sent
        assert list(values) == []


def test_a_typed_error_of_a_child_is_raised_in_the_parent():
    def work(send: SendValue) -> None:
        send(1)
        raise StoreError("broken", code="io_error", hint="mend it")

    with run_in_child(work) as values:
        assert next(values) == 1
        with pytest.raises(StoreError) as caught:
            next(values)
    assert (caught.value.message, caught.value.code, caught.value.hint) == (
        *("broken", "io_error", "mend it"),
    )


def killed(send: SendValue) -> None:
    send(1)
    os.kill(os.getpid(), signal.SIGKILL)


def gone(send: SendValue) -> None:
    send(1)
    os._exit(0)


def failing(send: SendValue) -> None:
    send(1)
    raise ValueError("a mistake of this program")


def unsendable(send: SendValue) -> None:
    send(1)
    send(object())


@pytest.mark.parametrize("work", [killed, gone, failing, unsendable])
def test_a_child_that_ends_before_its_work_is_done_is_a_typed_error(work):
    with run_in_child(work) as values, raises_code("worker_died", BrainError):
        list(values)


def test_a_child_that_nobody_listens_to_any_more_is_ended():
    def endless(send: SendValue) -> None:
        while True:
            send(b"x" * 4096)

    with pytest.raises(KeyboardInterrupt), run_in_child(endless) as values:
        next(values)
        raise KeyboardInterrupt


def test_the_signals_of_the_parent_are_not_handled_in_a_child():
    def handler(number: int, frame: object) -> None:
        raise AssertionError("handled in a child")

    def work(send: SendValue) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        send(1)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with run_in_child(work) as values:
            assert next(values) == 1
            with pytest.raises(BrainError):
                next(values)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_each_turn_is_taken_once_by_whoever_comes_first():
    turns = JobQueue(MAX_QUEUED_JOBS)

    def work(send: SendValue) -> None:
        send(list(turns))

    with ExitStack() as stack:
        children = [stack.enter_context(run_in_child(work)) for _ in range(3)]
        taken = list(turns)
        for child in children:
            taken += next(child)
    turns.close()
    assert sorted(taken) == list(range(MAX_QUEUED_JOBS))


def test_a_process_of_several_threads_does_not_share_its_work():
    import threading

    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert processor_count() == 1
    finally:
        stop.set()
        thread.join()


def test_jobs_that_no_child_answers_for_are_left_to_the_caller():
    def square(job: int) -> int:
        if job == 3:
            raise ValueError
        return job * job

    assert dict(run_jobs_in_children(3, 9, square)) == {
        job: job * job for job in range(9) if job != 3
    }
    assert dict(run_jobs_in_children(1, 9, square)) == {0: 0, 1: 1, 2: 4}
    assert dict(run_jobs_in_children(0, 9, square)) == {}


def test_answers_nobody_waits_for_any_more_end_the_children():
    before = child_process_ids()
    asked = run_jobs_in_children(2, 100, lambda job: bytes(1 << 20))
    assert next(asked)[1] == bytes(1 << 20)
    assert len(child_process_ids() - before) == 2
    asked.close()
    assert child_process_ids() == before


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("jobs", [0, 1, 9])
def test_shared_jobs_are_answered_in_order_however_many_help(monkeypatch, most, jobs):
    monkeypatch.setattr(process_pool, "processor_count", lambda: most)
    with share_jobs(jobs, lambda job: job * job) as finish:
        assert finish() == [job * job for job in range(jobs)]


def test_what_a_child_took_and_did_not_do_is_done_by_its_parent(monkeypatch):
    monkeypatch.setattr(process_pool, "processor_count", lambda: 2)
    parent = os.getpid()
    begun, ended = os.pipe()

    @contextmanager
    def own() -> Iterator[None]:
        try:
            yield
        finally:
            os.write(ended, b"x")

    def do(job: int) -> int:
        if os.getpid() != parent:
            raise StoreError("it does not open")
        return job

    with share_jobs(5, do, own) as finish:
        assert os.read(begun, 1) == b"x"
        assert finish() == [0, 1, 2, 3, 4]
    for end in (begun, ended):
        os.close(end)
