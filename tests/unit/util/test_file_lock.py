"""Advisory file locks."""

import errno
import fcntl
import os
import threading
import time
from typing import Any

import pytest

from brain.util import files
from brain.util.files import (
    LONGEST_WAIT_SECONDS,
    SHORTEST_WAIT_SECONDS,
    LockTimeout,
    lock_file,
    next_lock_wait,
)


def test_a_second_lock_on_the_same_file_times_out(tmp_path):
    with lock_file(tmp_path / "lock"):
        with pytest.raises(LockTimeout), lock_file(tmp_path / "lock", 0):
            pass
        with pytest.raises(LockTimeout), lock_file(tmp_path / "lock", 0.02):
            pass
    with lock_file(tmp_path / "lock", 0):
        pass


def test_a_folder_can_be_locked(tmp_path):
    with lock_file(tmp_path), pytest.raises(LockTimeout), lock_file(tmp_path, 0):
        pass


def test_a_new_lock_file_is_for_its_owner_alone_and_stays(tmp_path):
    with lock_file(tmp_path / "lock"):
        pass
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError), lock_file(tmp_path / "lock"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_descriptor_that_was_passed_in_is_unlocked_and_stays_open(tmp_path):
    handle = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    try:
        with lock_file(handle, 0) as locked:
            assert locked == handle
        with lock_file(tmp_path / "lock", 0):
            pass
        os.fstat(handle)
    finally:
        os.close(handle)


def test_a_waiter_gets_the_lock_when_it_is_released(tmp_path):
    with lock_file(tmp_path / "lock"):
        release = threading.Event()
    held = threading.Event()

    def hold() -> None:
        with lock_file(tmp_path / "lock"):
            held.set()
            release.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    threading.Timer(0.05, release.set).start()
    with lock_file(tmp_path / "lock", 10):
        assert release.is_set()
    holder.join()


def test_a_file_system_without_locks_is_refused_or_ignored(tmp_path, monkeypatch):
    def unsupported(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.raises(OSError), lock_file(tmp_path / "lock", 0):
        pass
    entered = False
    with lock_file(tmp_path / "lock", 0, on_unsupported="ignore"):
        entered = True
    assert entered


def test_a_wait_with_a_limit_ends_in_time(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    def sleep(seconds: float) -> Any:
        clock[0] += seconds

    monkeypatch.setattr(files.time, "sleep", sleep)  # type: ignore[attr-defined]
    with lock_file(tmp_path / "lock"):
        with pytest.raises(LockTimeout), lock_file(tmp_path / "lock", 3):
            pass
        assert clock[0] == pytest.approx(3)


def test_who_waits_longer_tries_more_often_than_who_came_later():
    waits = [next_lock_wait(LONGEST_WAIT_SECONDS, waited) for waited in (0.0, 0.5, 2.0, 8.0)]
    assert waits == sorted(waits, reverse=True) and waits[0] == LONGEST_WAIT_SECONDS
    assert next_lock_wait(LONGEST_WAIT_SECONDS, 1e6) == SHORTEST_WAIT_SECONDS
    assert next_lock_wait(0.001, 0.0) == 0.002
