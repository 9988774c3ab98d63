"""The connection to the database, its lock and what it caches."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from brain.errors import BrainError, Locked, StoreError
from brain.search import full_text
from brain.search.full_text import FullTextIndex
from brain.store.connection import Connection, translate_engine_error
from brain.store.database import STORE
from brain.store.reader import open_store_reader
from brain.store.writer import BULK_LOAD_BYTES, create_store, open_store, writer_lock
from tests.support.refusals import raises_code
from tests.support.store_tampering import execute_in_store, set_fact


@contextmanager
def scratch(folder: Path) -> Iterator[Connection]:
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    db = Connection(str(folder / "t.db"), flags, STORE, 5)
    yield db
    db.close()


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        (apsw.BusyError, "locked", 11),
        (apsw.LockedError, "locked", 11),
        (apsw.FullError, "no_space", 1),
        (apsw.ReadOnlyError, "read_only", 1),
        (apsw.CantOpenError, "cannot_open", 1),
        (apsw.NotADBError, "bad_store", 1),
        (apsw.CorruptError, "bad_store", 1),
        (apsw.IOError, "io_error", 1),
        (apsw.NoMemError, "no_memory", 1),
        (apsw.ConnectionClosedError, "closed", 1),
    ],
)
def test_every_engine_error_has_a_code_and_a_hint(error, code, status):
    found = translate_engine_error(error("what the engine said"), STORE)
    assert isinstance(found, BrainError)
    assert (found.code, found.exit_status) == (code, status)
    assert found.hint


def test_misuse_by_this_program_is_not_disguised():
    error = apsw.BindingsError("wrong number of bindings")
    assert translate_engine_error(error, STORE) is error


def test_text_that_is_not_utf8_is_damage(tmp_path):
    with scratch(tmp_path) as db, raises_code("bad_store", StoreError):
        db.fetch_all("SELECT CAST(x'ff' AS TEXT)")


def test_a_statement_that_would_wait_is_given_up_at_once(tmp_path):
    with scratch(tmp_path) as first, scratch(tmp_path) as second:
        first.execute("BEGIN IMMEDIATE")
        assert second.fetch_without_waiting("BEGIN IMMEDIATE") == []
        first.roll_back()
        first.roll_back()
        assert not first.in_transaction


def test_nothing_is_written_after_the_engine_rolled_back_by_itself(tmp_path):
    with scratch(tmp_path) as db:
        db.execute("CREATE TABLE t (x INTEGER PRIMARY KEY)")
        db.begin()
        db.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(StoreError):
            db.execute("INSERT OR ROLLBACK INTO t VALUES (1)")
        attempts: list[Callable[[], None]] = [
            lambda: db.execute("INSERT INTO t VALUES (2)"),
            lambda: db.execute_many("INSERT INTO t VALUES (?)", [(3,)]),
            db.commit,
        ]
        for attempt in attempts:
            with raises_code("transaction_lost", StoreError):
                attempt()
        db.roll_back()
        assert db.fetch_all("SELECT x FROM t") == []
        db.execute("INSERT INTO t VALUES (4)")


HOLD = """
import sys
from pathlib import Path
from brain.store.writer import writer_lock
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


@pytest.fixture
def store(tmp_path):
    made = create_store(tmp_path / ".brain")
    yield made


@pytest.mark.parametrize("expected", [0, BULK_LOAD_BYTES])
def test_own_commits_are_seen_at_once(store, expected):
    for value in (b"one", b"two"):
        before = store.read_meta("branch")
        with store.transaction(expected) as tx:
            tx.write_meta("branch", value)
            assert tx.read_meta("branch") == value
            assert store.read_meta("branch") == before
        assert store.read_meta("branch") == value


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


ROWS = [("a", ("parsing", "of dates")), ("b", ("walking", "parsers, dates")), ("c", ("x", "y"))]
WEIGHTS = (2.0, 1.0)


def fill(index: FullTextIndex, state: bytes = b"one") -> FullTextIndex:
    with index.transaction():
        index.update(state, (), ROWS)
    return index


def open_in_file(folder: Path) -> FullTextIndex:
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    return FullTextIndex(Connection(str(folder / "w"), flags, STORE, 5), WEIGHTS)


@pytest.fixture(params=["memory", "file"])
def index(request, tmp_path):
    in_file = request.param == "file"
    made = open_in_file(tmp_path) if in_file else full_text.open_memory_full_text(WEIGHTS)
    yield fill(made)


def keys(index: FullTextIndex, *words: str, limit: int = -1) -> list[str]:
    return [key for key, _ in index.search(words, limit)]


def test_keys_are_found_by_the_stems_of_their_words(index):
    assert index.stem_words("Parsing the élan") == ["pars", "the", "elan"]
    assert keys(index, "parse") == ["a"]
    assert index.count_documents(["date", "walk", "nothing"]) == {"date": 2, "walk": 1}
    assert index.count_keys() == 3 and index.list_keys() == ["a", "b", "c"]


def test_a_text_counts_by_its_weight():
    made = full_text.open_memory_full_text((1.0, 5.0))
    with made.transaction():
        made.update(b"", (), [("a", ("dates", "no")), ("b", ("no", "dates"))])
    assert keys(made, "dates") == ["b", "a"]


def test_what_is_taken_out_is_gone_and_what_comes_under_its_key_is_there(index):
    with index.transaction():
        index.update(b"two", ["a", "b", "never"], [("a", ("whales", ""))])
    assert keys(index, "dates") == [] and keys(index, "whales") == ["a"]
    assert index.state == b"two" and index.list_keys() == ["a", "c"]


def test_a_change_that_is_broken_off_changes_nothing(index):
    with pytest.raises(RuntimeError), index.transaction():
        index.update(b"two", ["a"], [("d", ("whales", ""))])
        raise RuntimeError
    assert index.state == b"one" and keys(index, "parse") == ["a"]


def test_no_words_find_nothing_and_a_negative_limit_takes_all(index):
    assert keys(index) == []
    assert len(keys(index, "dates", "y")) == 3 and len(keys(index, "dates", "y", limit=2)) == 2
