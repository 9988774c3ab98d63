"""The writer's lock beside the store."""

import os
import subprocess
import sys

import pytest

from brain.errors import Locked, StoreError
from brain.store.writer_lock import writer_lock

HOLD = """
import sys
from pathlib import Path
from brain.store.writer_lock import writer_lock
with writer_lock(Path(sys.argv[1]), 5):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_lock_is_exclusive_even_within_one_process(tmp_path):
    with writer_lock(tmp_path, 0), pytest.raises(Locked) as error, writer_lock(tmp_path, 0.01):
        pass
    assert error.value.message == f"the brain is locked by pid {os.getpid()}"
    assert error.value.exit_status == 11
    with writer_lock(tmp_path, 0):
        pass


def test_the_lock_names_its_holder_and_falls_with_it(tmp_path, project):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path],
        env={"PYTHONPATH": str(project)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(Locked) as error, writer_lock(tmp_path, 0):
            pass
        assert error.value.message.endswith(f"pid {holder.pid}")
        holder.kill()
        holder.wait()
        with writer_lock(tmp_path, 5):
            pass


def test_the_lock_is_given_back_when_the_block_fails(tmp_path):
    with pytest.raises(KeyboardInterrupt), writer_lock(tmp_path, 0):
        raise KeyboardInterrupt
    with writer_lock(tmp_path, 0):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    assert (tmp_path / "lock").read_text() == ""


def test_the_lock_file_is_for_its_owner_alone(tmp_path):
    with writer_lock(tmp_path, 0):
        assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "lock").symlink_to(tmp_path / "victim")
    with pytest.raises(StoreError), writer_lock(tmp_path, 0):
        pass
    assert (tmp_path / "victim").read_text() == "precious"


def test_a_folder_that_is_not_there_cannot_be_locked(tmp_path):
    with pytest.raises(StoreError) as error, writer_lock(tmp_path / "none", 0):
        pass
    assert error.value.hint
