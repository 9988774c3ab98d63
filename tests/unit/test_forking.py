"""Children do their work or are missed, and leave nothing behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from brain import forking
from brain.errors import BrainError, StoreError
from brain.forking import MOST_TURNS, Send, Turns, answers, forked, processors, shared
from tests.family import children

# What the children here do is safe whatever threads the tests before have left.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before


def test_values_arrive_as_they_were_sent_and_in_order() -> None:
    sent = [(b"\0" * 40, 1 << 40, "é"), [], {"a": -1.5}, b"x" * (1 << 20), None]

    def work(send: Send) -> None:
        for value in sent:
            send(value)

    with forked(work) as values:
        assert list(values) == sent
        assert list(values) == []


def test_a_typed_error_of_a_child_is_raised_in_the_parent() -> None:
    def work(send: Send) -> None:
        send(1)
        raise StoreError("broken", code="io_error", hint="mend it")

    with forked(work) as values:
        assert next(values) == 1
        with pytest.raises(StoreError) as caught:
            next(values)
    assert (caught.value.message, caught.value.code, caught.value.hint) == (
        *("broken", "io_error", "mend it"),
    )


def killed(send: Send) -> None:
    send(1)
    os.kill(os.getpid(), signal.SIGKILL)


def gone(send: Send) -> None:
    send(1)
    os._exit(0)


def failing(send: Send) -> None:
    send(1)
    raise ValueError("a mistake of this program")


def unsendable(send: Send) -> None:
    send(1)
    send(object())


@pytest.mark.parametrize("work", [killed, gone, failing, unsendable])
def test_a_child_that_ends_before_its_work_is_done_is_a_typed_error(
    work: Callable[[Send], None],
) -> None:
    with forked(work) as values, pytest.raises(BrainError) as caught:
        list(values)
    assert caught.value.code == "worker_died"


def test_a_child_that_nobody_listens_to_any_more_is_ended() -> None:
    def endless(send: Send) -> None:
        while True:
            send(b"x" * 4096)

    with pytest.raises(KeyboardInterrupt), forked(endless) as values:
        next(values)
        raise KeyboardInterrupt


def test_the_signals_of_the_parent_are_not_handled_in_a_child() -> None:
    def handler(number: int, frame: object) -> None:
        raise AssertionError("handled in a child")

    def work(send: Send) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        send(1)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with forked(work) as values:
            assert next(values) == 1
            with pytest.raises(BrainError):
                next(values)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_each_turn_is_taken_once_by_whoever_comes_first() -> None:
    turns = Turns(MOST_TURNS)

    def work(send: Send) -> None:
        send(list(turns))

    with ExitStack() as stack:
        children = [stack.enter_context(forked(work)) for _ in range(3)]
        taken = list(turns)
        for child in children:
            taken += next(child)
    turns.close()
    assert sorted(taken) == list(range(MOST_TURNS))


def test_a_process_of_several_threads_does_not_share_its_work() -> None:
    import threading

    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert processors() == 1
    finally:
        stop.set()
        thread.join()


def test_jobs_that_no_child_answers_for_are_left_to_the_caller() -> None:
    def square(job: int) -> int:
        if job == 3:
            raise ValueError
        return job * job

    assert dict(answers(3, 9, square)) == {job: job * job for job in range(9) if job != 3}
    assert dict(answers(1, 9, square)) == {0: 0, 1: 1, 2: 4}
    assert dict(answers(0, 9, square)) == {}


def test_answers_nobody_waits_for_any_more_end_the_children() -> None:
    before = children()
    asked = answers(2, 100, lambda job: bytes(1 << 20))
    assert next(asked)[1] == bytes(1 << 20)
    assert len(children() - before) == 2
    asked.close()
    assert children() == before


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("jobs", [0, 1, 9])
def test_shared_jobs_are_answered_in_order_however_many_help(
    monkeypatch: pytest.MonkeyPatch, most: int, jobs: int
) -> None:
    monkeypatch.setattr(forking, "processors", lambda: most)
    with shared(jobs, lambda job: job * job) as finish:
        assert finish() == [job * job for job in range(jobs)]


def test_what_a_child_took_and_did_not_do_is_done_by_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forking, "processors", lambda: 2)
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

    with shared(5, do, own) as finish:
        assert os.read(begun, 1) == b"x"
        assert finish() == [0, 1, 2, 3, 4]
    for end in (begun, ended):
        os.close(end)
