"""Children do their part of the work or it is done here, and they leave nothing behind."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest

from brain.errors import StoreError
from brain.util.process_pool import MAX_QUEUED_JOBS, processor_count, share_jobs
from tests.support.processes import child_process_ids

# What the children here do is safe whatever threads the tests before have left.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")

HERE = os.getpid()


@pytest.fixture(autouse=True)
def no_child_is_left():
    before = child_process_ids()
    yield
    assert child_process_ids() <= before


@pytest.mark.parametrize("children", [0, 1, 3])
@pytest.mark.parametrize("jobs", [0, 1, 9, MAX_QUEUED_JOBS])
def test_answers_come_in_order_however_many_help(children, jobs):
    with share_jobs(jobs, lambda job: (job, b"x" * job), children=children) as answers:
        assert list(answers) == [(job, b"x" * job) for job in range(jobs)]


def test_children_work_while_the_block_does_something_else():
    begun, ended = os.pipe()

    def do(job: int) -> int:
        os.write(ended, b"x")
        return os.getpid()

    with share_jobs(1, do, children=1) as answers:
        assert os.read(begun, 1) == b"x"
        assert next(answers) != HERE
    os.close(begun)
    os.close(ended)


def killed() -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def gone() -> int:
    os._exit(0)


def failing() -> int:
    raise ValueError("a mistake of this program")


def refused() -> int:
    raise StoreError("it does not open")


@pytest.mark.parametrize("way", [killed, gone, failing, refused])
def test_what_a_child_took_and_did_not_do_is_done_here(way):
    begun, ended = os.pipe()

    def do(job: int) -> int:
        if os.getpid() == HERE:
            return job
        os.write(ended, b"x")
        return way()

    with share_jobs(5, do, children=1) as answers:
        assert os.read(begun, 1) == b"x"
        assert list(answers) == [0, 1, 2, 3, 4]
    os.close(begun)
    os.close(ended)


def test_the_error_of_a_job_is_raised_as_it_is():
    with (
        pytest.raises(StoreError, match="it does not open"),
        share_jobs(3, lambda job: refused(), children=2) as answers,
    ):
        list(answers)


def test_a_child_that_nobody_waits_for_any_more_is_ended():
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt), share_jobs(3, lambda job: time.sleep(60), children=2):
        raise KeyboardInterrupt
    assert time.monotonic() - start < 30


def test_a_child_opens_what_is_its_own_and_closes_it():
    begun, ended = os.pipe()

    @contextmanager
    def own() -> Iterator[None]:
        os.write(ended, b"o")
        yield
        os.write(ended, b"c")

    with share_jobs(1, lambda job: job, own, children=1) as answers:
        assert os.read(begun, 1) + os.read(begun, 1) == b"oc"
        assert list(answers) == [0]
    os.close(begun)
    os.close(ended)


def test_the_signals_of_the_parent_are_not_handled_in_a_child():
    def handler(number: int, frame: object) -> None:
        raise AssertionError("handled in a child")

    begun, ended = os.pipe()

    def do(job: int) -> int:
        if os.getpid() != HERE:
            os.kill(os.getpid(), signal.SIGINT)
            os.write(ended, b"x")
            os.kill(os.getpid(), signal.SIGTERM)
        return job

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with share_jobs(1, do, nullcontext, 1) as answers:
            assert os.read(begun, 1) == b"x"
            assert list(answers) == [0]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_process_of_several_threads_does_not_share_its_work():
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert processor_count() == 1
    finally:
        stop.set()
        thread.join()
