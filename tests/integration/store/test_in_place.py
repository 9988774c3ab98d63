"""A file that is taken away from under an open brain: nothing is acknowledged that is lost."""

import shutil
from pathlib import Path

import pytest

from brain import Brain
from brain.errors import BrainError, StoreError
from brain.store.sqlite_store import BULK_LOAD_BYTES, create_store, open_store
from tests.support.refusals import raises_code


def removed(file: Path) -> None:
    file.unlink()


def replaced(file: Path) -> None:
    shutil.copy(file, file.with_name("copy"))
    file.with_name("copy").replace(file)


def emptied(file: Path) -> None:
    file.unlink()
    file.touch()


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
@pytest.mark.parametrize("take", [removed, replaced, emptied])
def test_no_write_is_acknowledged_after_a_file_of_the_store_is_gone(tmp_path, end, take):
    with Brain.init(tmp_path / "agent", author="tester") as brain:
        brain.skills.upsert("alpha", "Alpha.\n")
        mark = (brain.root / ".brain/mark").read_bytes()
        take(brain.root / f".brain/store.db{end}")
        for _ in range(2):
            with raises_code("store_replaced", StoreError) as caught:
                brain.skills.upsert("beta", "Beta.\n")
            assert "restart this program" in caught.value.hint
        assert not (brain.root / "skills/beta").exists()
        assert (brain.root / ".brain/mark").read_bytes() == mark


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
@pytest.mark.parametrize("size", [0, BULK_LOAD_BYTES])
def test_it_is_noticed_at_the_commit_if_it_happens_within_a_transaction(tmp_path, end, size):
    store = create_store(tmp_path / ".brain")
    with store.transaction() as tx:
        tx.append_operation(b"one")
    if size:  # then there is no log, nor an index of it
        end = ""
    with pytest.raises(BrainError) as caught, store.transaction(size) as tx:
        tx.append_operation(b"two")
        (tmp_path / f".brain/store.db{end}").unlink()
    assert caught.value.code in ("store_replaced", "io_error", "read_only")
    store.close()


def test_before_the_first_write_it_is_noticed_too(tmp_path):
    create_store(tmp_path / ".brain").close()
    first, other = (open_store(tmp_path / ".brain") for _ in range(2))
    with other.transaction() as tx:
        tx.append_operation(b"one")
    late = open_store(tmp_path / ".brain")
    (tmp_path / ".brain/store.db-wal").unlink()
    for store in (late, other):
        with raises_code("store_replaced", StoreError), store.transaction() as tx:
            tx.append_operation(b"two")
        store.close()
    first.close()


def test_large_loads_and_compaction_that_do_without_the_log_are_no_such_thing(tmp_path):
    store = create_store(tmp_path / ".brain")
    for size in (0, BULK_LOAD_BYTES, 0, BULK_LOAD_BYTES, BULK_LOAD_BYTES, 0):
        with store.transaction(size) as tx:
            tx.append_operation(b"one")
        store.compact()
    other = open_store(tmp_path / ".brain")
    for size in (BULK_LOAD_BYTES, 0):
        for one in (store, other):
            with one.transaction(size) as tx:
                tx.append_operation(b"two")
    assert store.operation_count() == other.operation_count() == 10
    store.close()
    other.close()
