"""What a field of a store may say, at the bounds, and which rows a store has no place for."""

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from zstandard import ZstdCompressor

from brain.errors import StoreError
from brain.store import checks, connection, database
from brain.store import rows as checksums
from brain.store import rows as field_limits
from brain.store.blobs import MAX_ROW_CONTENT_BYTES, BlobDecoder
from brain.store.rows import PendingWrite
from brain.store.writer import (
    create_store,
    open_store,
    open_store_or_readonly,
    writable,
    writer_lock,
)
from tests.support.refusals import raises_code


@pytest.fixture
def store(tmp_path):
    made = create_store(tmp_path / "s")
    yield made
    made.close()


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("operations", b"\x7f" + bytes(39), ""),
        ("operations", b"\x80" + bytes(39), "its count is too great"),
        ("operations", bytes(39), "it has 39 bytes, not 40"),
        ("epoch", b"\x80" + bytes(7), "its count is too great"),
        ("redactions", b"\x80" + bytes(7), "its count is too great"),
        ("redactions", bytes(9), "it has 9 bytes, not 8"),
        ("meta:let-go", b"\x80" + bytes(7), "its count is too great"),
        ("meta:let-go", b"\x7f" + bytes(7), ""),
        ("meta:brain", b"\xff" * 32, ""),
        ("meta:brain", bytes(31), "it has 31 bytes, not 32"),
        ("meta:" + "n" * 507, b"", ""),
        ("meta:" + "n" * 508, b"", "its name is too long or cannot be shown"),
        ("meta:" + "é" * 254, b"", "its name is too long or cannot be shown"),
        ("meta:\n", b"", "its name is too long or cannot be shown"),
        ("ref:a", b"", "a ref of 0 bytes"),
        ("ref:a", b"x", ""),
        ("ref:a", bytes(32), ""),
        ("ref:a", bytes(33), "a ref of 33 bytes"),
        ("meta:branch", b"b" * 200, ""),
        ("meta:branch", b"b" * 201, "it is not the name of a branch"),
        ("meta:branch", b"\xff", "it is not the name of a branch"),
        ("meta:branch", b"a\n", "it is not the name of a branch"),
    ],
)
def test_a_fact_is_of_its_size(name, value, fault):
    assert field_limits.find_fact_error(name, value) == fault


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (PendingWrite("a", 0, bytes(32), bytes(256)), ""),
        (PendingWrite("a", 2, b"", b""), ""),
        (PendingWrite("a", 3, b"", b""), "its kind is not that of a file"),
        (PendingWrite("a", -1, b"", b""), "its kind is not that of a file"),
        (PendingWrite("a", 0, bytes(31), b""), "its fields have the wrong sizes"),
        (PendingWrite("a", 0, b"", bytes(257)), "its fields have the wrong sizes"),
    ],
)
def test_a_pending_write_is_of_a_kind_and_of_sizes(row, fault):
    assert field_limits.find_pending_error(row) == fault
    assert field_limits.find_pending_error(row._replace(path="../a"))


def test_what_a_mark_misses_is_named():
    head = (5).to_bytes(8, "big")
    describe = connection.describe_lost_operations
    assert describe(head + b"a", head + b"a") == ""
    assert describe(head + b"a", (6).to_bytes(8, "big") + b"b") == ""
    assert describe(head + b"a", head + b"b") == (
        "operation 5 is not the one that was acknowledged"
    )
    assert describe(head, (2).to_bytes(8, "big")) == (
        "operations 3 to 5 were acknowledged and are not in the store"
    )


def change(folder: Path, *statements: str) -> list[str]:
    """Change a store by SQL; return the rows that it then has no place for."""
    with closing(apsw.Connection(str(folder / "store.db"))) as db:
        for sql in statements:
            db.execute(sql).fetchall()
    with closing(open_store(folder)) as store:
        return checks.check_stray_rows(store)


DICTIONARY = "INSERT INTO dictionaries VALUES ({}, x'aa', x'{}')"
SUM_7 = checksums.row_checksum(b"7", b"\xaa").hex()
BOTH = (DICTIONARY.format(7, SUM_7), DICTIONARY.format(-7, SUM_7))
ID = "x'" + "07" * 32 + "'"


@pytest.mark.parametrize(
    ("statements", "faults"),
    [
        ((), []),
        (BOTH, []),
        (BOTH[:1], ["dictionary 7 is not stored twice"]),
        (
            (BOTH[0], DICTIONARY.format(-7, "00" * 8)),
            [
                "a copy of dictionary 7 does not fit its checksum",
                "dictionary 7 is not stored twice",
            ],
        ),
        (("INSERT INTO dictionaries VALUES (7, x'', x'')",), []),
        (
            (DICTIONARY.format(7, ""), DICTIONARY.format(-7, "")),
            ["a copy of dictionary 7 does not fit its checksum"] * 2,
        ),
        ((f"INSERT INTO blobs VALUES (1, {ID}, 0, x'')",), []),
        ((f"INSERT INTO blobs VALUES (1, {ID}, 2, x'')",), []),
        (
            (f"INSERT INTO blobs VALUES (1, {ID}, -1, x'')",),
            ["the codec -1 of some blobs is unknown"],
        ),
        (
            (f"INSERT INTO blobs VALUES (1, {ID}, 3, x'')",),
            ["dictionary 1, which some blobs need, is missing"],
        ),
        ((*BOTH, f"INSERT INTO blobs VALUES (1, {ID}, 9, x'')"), []),
        (
            ("INSERT INTO blobs VALUES (1, x'07', 0, x'')",),
            ["1 ids in the table blobs are not of 32 bytes"],
        ),
        (
            ("INSERT INTO objects VALUES (1, x'07', 1, x'', x'')",),
            ["1 ids in the table objects are not of 32 bytes"],
        ),
        (
            (f"INSERT INTO operations VALUES (1, {ID}, x''), (0, {ID}, x'')",),
            ["2 rows of the operation log are beyond its end or before its beginning"],
        ),
        (
            (f"INSERT INTO redactions VALUES ({ID}, {ID}, x'')",),
            ["1 blobs were redacted, but the facts count fewer"],
        ),
    ],
)
def test_rows_that_a_store_has_no_place_for_are_named(store, tmp_path, statements, faults):
    store.close()
    assert change(tmp_path / "s", *statements) == faults


def test_a_dictionary_has_a_limit_and_a_fact_a_known_name(store, tmp_path):
    for size, fault in (
        ((1 << 20), []),
        ((1 << 20) + 1, [f"dictionary 7 has {(1 << 20) + 1} bytes"]),
    ):
        sum = checksums.row_checksum(b"7", bytes(size)).hex()
        rows = ", ".join(f"({number}, zeroblob({size}), x'{sum}')" for number in (7, -7))
        found = change(
            tmp_path / "s", "DELETE FROM dictionaries", f"INSERT INTO dictionaries VALUES {rows}"
        )
        assert found == 2 * fault
    store._db.execute("DELETE FROM dictionaries")
    names = ["ref:a", "meta:b", "traces", "odd"]
    with store.transaction() as tx:
        for name in names:
            tx._facts_now[name] = b"x"  # type: ignore[attr-defined]
    assert checks.check_stray_rows(store) == ["there is no fact called odd"]


def test_a_refused_file_is_closed_again(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_bytes(b"x")
    os.close(connection.open_regular_file(file, os.O_RDONLY))
    os.link(file, tmp_path / "other")
    with raises_code("bad_store", StoreError, match="has another name elsewhere"):
        connection.open_regular_file(file, os.O_RDONLY)
    targets = [os.readlink(fd) for fd in Path("/proc/self/fd").iterdir() if os.path.lexists(fd)]
    assert str(file) not in targets
    (tmp_path / "other").unlink()
    for user, fits in ((0, True), (file.stat().st_uid, True), (file.stat().st_uid + 1, False)):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        if fits:
            os.close(connection.open_regular_file(file, os.O_RDONLY))
            continue
        with raises_code("foreign_owner", StoreError):
            connection.open_regular_file(file, os.O_RDONLY)


def test_a_store_that_is_refused_or_not_made_leaves_nothing_open(store, tmp_path, monkeypatch):
    store._db.execute("PRAGMA user_version=99")
    store.close()
    for readonly in (False, True):
        with raises_code("unsupported_version", StoreError, match="version 99.*reads version 4"):
            database.open_store_database(tmp_path / "s", readonly=readonly)
    targets = [os.readlink(fd) for fd in Path("/proc/self/fd").iterdir() if os.path.lexists(fd)]
    assert not [target for target in targets if target.startswith(str(tmp_path))]
    monkeypatch.setattr(database, "STORE", database.STORE._replace(tables=("no SQL",)))
    with pytest.raises(StoreError):
        create_store(tmp_path / "new")
    assert not (tmp_path / "new/store.db").exists()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_large_load_is_one_of_32_mib(store):
    modes = []
    for size in ((32 << 20) - 1, 32 << 20):
        with store.transaction(size):
            modes += store._db.fetch_all("PRAGMA journal_mode")
    assert modes == [("wal",), ("delete",)]


def test_a_row_unpacks_to_a_mebibyte_and_no_more(store):
    decoder = BlobDecoder(store._db)
    pack = ZstdCompressor().compress
    whole = bytes(1 << 20)
    assert len(whole) == MAX_ROW_CONTENT_BYTES
    assert decoder.decode(b"i" * 32, 2, pack(whole)) == whole
    for codec, data, why in (
        (2, pack(whole + b"\0"), "it claims an impossible size"),
        (2, pack(whole)[:-1], "it cannot be decompressed"),
        (1, b"", "its codec 1 is unknown"),
        (-1, b"", "its codec -1 is unknown"),
        (3, b"", "its codec 3 is unknown"),
    ):
        with raises_code("corrupt_object", StoreError, match=why):
            decoder.decode(b"i" * 32, codec, data)


@pytest.mark.parametrize(("user", "changed"), [(0, 2), (1234, 0)])
def test_files_that_root_makes_are_given_to_the_owner_of_the_folder(
    tmp_path, user, changed, monkeypatch
):
    owners: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "fchown", lambda handle, user, group: owners.append((user, group)))
    monkeypatch.setattr(connection, "check_regular_file", lambda path, found: None)
    head = bytes(7) + b"\1"
    for _ in range(2):  # a mark that is there keeps its owner
        connection.write_mark(str(tmp_path / "store.db"), head)
    with writer_lock(tmp_path, 0):
        pass
    folder = tmp_path.stat()
    assert owners == [(folder.st_uid, folder.st_gid)] * changed
    assert connection.read_mark(str(tmp_path / "store.db")) == head
    assert stat.S_IMODE((tmp_path / "mark").stat().st_mode) == 0o600


def test_a_store_that_cannot_be_written_is_opened_for_reading_alone(store, tmp_path, monkeypatch):
    with store.transaction() as tx:
        blob = tx.put_blob(b"content")
    with closing(open_store_or_readonly(tmp_path / "s")) as opened:
        assert writable(opened) is opened
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with closing(open_store_or_readonly(tmp_path / "s")) as readable:
        assert readable.read_blob(blob) == b"content"
        with raises_code("read_only", StoreError):
            writable(readable)
    monkeypatch.undo()
    store._db.execute("PRAGMA user_version=99")
    with raises_code("unsupported_version", StoreError):
        open_store_or_readonly(tmp_path / "s")


def test_rows_that_another_process_adds_during_the_search_are_not_stray(tmp_path, monkeypatch):
    create_store(tmp_path / ".brain").close()
    with (
        closing(open_store(tmp_path / ".brain")) as store,
        closing(open_store(tmp_path / ".brain")) as other,
    ):
        find = checks._find_stray_rows

        def add_and_find(*args: Any) -> Iterator[str]:
            with other.transaction() as tx:
                tx.append_operation(b"data")
            return find(*args)

        monkeypatch.setattr(checks, "_find_stray_rows", add_and_find)
        assert checks.check_stray_rows(store) == []
        assert (store.operation_count(), other.operation_count()) == (1, 1)
