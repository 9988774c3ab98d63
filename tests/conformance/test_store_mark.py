"""What was acknowledged and is gone is noticed: the mark beside the store on disk."""

from pathlib import Path

import pytest

from brain.errors import StoreError
from brain.store.connection import write_mark
from brain.store.writer import create_store, open_store
from tests.support.refusals import raises_code


def filled(folder: Path) -> None:
    store = create_store(folder)
    for number in range(3):
        with store.transaction() as tx:
            tx.put_blob(b"content %d" % number * 100)
            tx.append_operation(b"operation %d" % number)
    store.close()


def test_a_damaged_log_that_loses_operations_is_found_and_not_written_over(tmp_path):
    folder = tmp_path / ".brain"
    filled(folder)
    log = folder / "store.db-wal"
    content = bytearray(log.read_bytes())
    content[-100] ^= 1
    log.write_bytes(content)
    (folder / "store.db-shm").unlink()
    store = open_store(folder)
    assert store.operation_count() == 2
    assert store.check_integrity() == [
        "operations 3 to 3 were acknowledged and are not in the store"
    ]
    with raises_code("lost_operations", StoreError), store.transaction():
        pass
    (folder / "mark").unlink()
    with store.transaction() as tx:
        tx.append_operation(b"going on")
    assert store.check_integrity() == []
    store.close()


@pytest.mark.parametrize("note", [b"", b"x", b"\xff" * 48])
def test_a_mark_that_is_missing_or_damaged_says_nothing(tmp_path, note):
    folder = tmp_path / ".brain"
    filled(folder)
    (folder / "mark").write_bytes(note)
    store = open_store(folder)
    assert store.check_integrity() == []
    with store.transaction() as tx:
        tx.append_operation(b"next")
    store.close()


def test_a_mark_of_no_operation_says_nothing(tmp_path):
    folder = tmp_path / ".brain"
    filled(folder)
    write_mark(str(folder / "store.db"), bytes(8) + b"x" * 32)
    store = open_store(folder)
    assert store.check_integrity() == []
    store.close()


def test_another_operation_of_the_same_number_is_found(tmp_path):
    filled(tmp_path / "a")
    filled(tmp_path / "b")
    store = open_store(tmp_path / "b")
    with store.transaction() as tx:
        tx.append_operation(b"other")
    store.close()
    other = open_store(tmp_path / "a")
    with other.transaction() as tx:
        tx.append_operation(b"fourth")
    other.close()
    (tmp_path / "a/mark").write_bytes((tmp_path / "b/mark").read_bytes())
    other = open_store(tmp_path / "a")
    assert other.check_integrity() == ["operation 4 is not the one that was acknowledged"]
    other.close()


def test_a_log_that_went_another_way_and_is_longer_by_now_is_found(tmp_path):
    filled(tmp_path / "a")
    filled(tmp_path / "b")
    store = open_store(tmp_path / "b")
    for number in range(2):
        with store.transaction() as tx:
            tx.append_operation(b"other %d" % number)
    (tmp_path / "b/mark").write_bytes((tmp_path / "a/mark").read_bytes())
    assert store.check_integrity() == []  # the mark is behind, which a power cut can bring about
    store.close()
    (tmp_path / "c").mkdir()
    other = create_store(tmp_path / "c/.brain")
    for number in range(5):
        with other.transaction() as tx:
            tx.append_operation(b"foreign %d" % number)
    (tmp_path / "c/.brain/mark").write_bytes((tmp_path / "a/mark").read_bytes())
    assert other.check_integrity() == ["operation 3 is not the one that was acknowledged"]
    with raises_code("lost_operations", StoreError), other.transaction():
        pass
    other.close()


def test_a_log_of_another_store_is_not_taken_for_the_own_one(tmp_path):
    filled(tmp_path / "a")
    other = create_store(tmp_path / "b")
    for number in range(9):
        with other.transaction() as tx:
            tx.append_operation(b"foreign %d" % number)
    other.close()
    (tmp_path / "b/store.db-wal").replace(tmp_path / "a/store.db-wal")
    (tmp_path / "a/store.db-shm").unlink()
    store = open_store(tmp_path / "a")
    assert store.check_integrity() == ["operation 3 is not the one that was acknowledged"]
    with pytest.raises(StoreError), store.transaction():
        pass
    store.close()
