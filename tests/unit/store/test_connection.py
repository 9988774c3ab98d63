"""Engine errors become typed ones, with a code, an exit status and a hint."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from brain.errors import BrainError, Locked, StoreError
from brain.store.connection import Connection, translate_engine_error
from tests.support.refusals import raises_code


@contextmanager
def scratch(folder: Path) -> Iterator[Connection]:
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    db = Connection(str(folder / "t.db"), flags, timeout=5, name="t.db")
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
    found = translate_engine_error(error("what the engine said"), "store.db")
    assert isinstance(found, BrainError)
    assert (found.code, found.exit_status) == (code, status)
    assert found.hint


def test_misuse_by_this_program_is_not_disguised():
    error = apsw.BindingsError("wrong number of bindings")
    assert translate_engine_error(error, "store.db") is error


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
            with raises_code("rolled_back", StoreError):
                attempt()
        db.roll_back()
        assert db.fetch_all("SELECT x FROM t") == []
        db.execute("INSERT INTO t VALUES (4)")


def test_keys_are_looked_up_in_any_number(tmp_path):
    with scratch(tmp_path) as db:
        db.execute("CREATE TABLE t (x INTEGER PRIMARY KEY)")
        db.begin()
        db.execute_many("INSERT INTO t VALUES (?)", [(number,) for number in range(2000)])
        db.commit()
        for count in (0, 1, 16, 17, 256, 257, 1999):
            rows = db.fetch_by_keys("SELECT x FROM t WHERE x IN ({keys})", list(range(count)))
            assert [x for (x,) in rows] == list(range(count))


def test_a_locked_error_is_what_a_busy_engine_becomes(tmp_path):
    flags = apsw.SQLITE_OPEN_READWRITE
    with scratch(tmp_path) as first:
        first.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Locked):
            Connection(str(tmp_path / "t.db"), flags, timeout=0, name="t.db").execute(
                "BEGIN IMMEDIATE"
            )
