"""The facts of a store are read again only after it changed, and then at once."""

import pytest

from brain.errors import StoreError
from brain.store import ref_table
from brain.store.readonly_store import open_store_reader
from brain.store.sqlite_store import BULK_LOAD_BYTES, create_store, open_store
from tests.support.refusals import raises_code
from tests.support.store_tampering import execute_in_store, set_fact


@pytest.fixture
def store(tmp_path):
    made = create_store(tmp_path / ".brain")
    yield made
    made.close()


@pytest.fixture
def loads(monkeypatch):
    """Return a list that grows each time the facts are read."""
    load, counted = ref_table.load_facts, list[int]()

    def counting(*args: object) -> dict[str, bytes]:
        counted.append(1)
        return load(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(ref_table, "load_facts", counting)
    return counted


def test_facts_are_read_once_while_nothing_changes(store, loads):
    for _ in range(5):
        assert store.read_meta("branch") is None and store.removal_epoch() == 0
        assert store.list_refs() == {}
    assert len(loads) == 1


@pytest.mark.parametrize("expected", [0, BULK_LOAD_BYTES])
def test_own_commits_are_seen_at_once(store, expected):
    for value in (b"one", b"two"):
        before = store.read_meta("branch")
        with store.transaction(expected) as tx:
            tx.write_meta("branch", value)
            assert tx.read_meta("branch") == value
            assert store.read_meta("branch") == before
        assert store.read_meta("branch") == value


def test_what_was_rolled_back_is_not_kept(store):
    db = store._db
    assert store.read_meta("branch") is None
    db.begin()
    ref_table.save_facts(db, {}, {f"{ref_table.META_PREFIX}branch": b"never"})
    assert store.read_meta("branch") == b"never"
    db.roll_back()
    assert store.read_meta("branch") is None


def test_a_commit_that_fails_leaves_no_facts(store, monkeypatch):
    def fail() -> None:
        assert store.read_meta("branch") == b"never"
        raise StoreError("no space left")

    assert store.read_meta("branch") is None
    monkeypatch.setattr(store._db, "commit", fail)
    with pytest.raises(StoreError), store.transaction() as tx:
        tx.write_meta("branch", b"never")
    assert store.read_meta("branch") is None


@pytest.mark.parametrize("expected", [0, BULK_LOAD_BYTES])
@pytest.mark.parametrize("open_reader", [open_store, open_store_reader])
def test_commits_of_other_connections_are_seen_at_once(store, tmp_path, open_reader, expected):
    reader = open_reader(tmp_path / ".brain")
    for value in (b"one", b"two"):
        with store.transaction(expected) as tx:
            tx.write_meta("branch", value)
            tx.update_ref("heads/main", None if value == b"one" else b"one", value)
        assert reader.read_meta("branch") == value
        assert reader.list_refs() == {"heads/main": value}
    reader.close()


def test_a_commit_while_this_connection_reads_is_seen_when_it_reads_again(store, tmp_path):
    other = open_store(tmp_path / ".brain")
    rows = store._db.stream_rows("SELECT name FROM facts UNION ALL SELECT name FROM facts")
    next(rows)
    assert store.read_meta("branch") is None
    with other.transaction() as tx:
        tx.write_meta("branch", b"new")
    assert store.read_meta("branch") is None
    rows.close()  # type: ignore[attr-defined]
    assert store.read_meta("branch") == b"new"
    other.close()


def test_facts_that_are_damaged_meanwhile_are_refused_each_time(store, tmp_path):
    assert store.list_refs() == {}
    execute_in_store(tmp_path, ("INSERT INTO facts VALUES ('ref:heads/main', X'00')", ()))
    for _ in range(2):
        with raises_code("corrupt_ref", StoreError):
            store.list_refs()
    execute_in_store(tmp_path, ("DELETE FROM facts WHERE name = 'ref:heads/main'", ()))
    assert store.list_refs() == {}
    set_fact(tmp_path, "epoch", (7).to_bytes(8, "big"))
    assert store.removal_epoch() == 7
