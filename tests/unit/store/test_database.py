"""Creating and opening the file: modes, owners, versions, media that cannot be written."""

import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from brain.errors import BrainError, Conflict, StoreError
from brain.store import database
from brain.store.connection import Connection
from brain.store.database import STORE
from brain.store.reader import open_store_reader
from brain.store.writer import create_store, open_store, writer_lock
from tests.support.refusals import raises_code

NOBODY = 65534


@pytest.fixture
def folder(tmp_path):
    store = create_store(tmp_path / ".brain")
    with store.transaction() as tx:
        tx.update_ref("main", None, b"1" * 32)
    store.close()
    return tmp_path / ".brain"


# What the children here do is safe whatever threads the tests before have left.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")

NOISE = [(b"%032d" % number, random.Random(number).randbytes(100_000)) for number in range(80)]
"""Blobs that do not shrink."""


@pytest.fixture
def open_place():
    """A folder that other users can reach, which the folders of tests are not."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    for inside in (place, *place.rglob("*")):
        if inside.is_dir():
            inside.chmod(0o755)
    shutil.rmtree(place)


def checkpoint(folder: Path) -> None:
    """Copy the log into the file and remove it, as closing does by default."""
    with closing(apsw.Connection(str(folder / "store.db"))) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def unprivileged(work: Callable[[], str]) -> str:
    """Run `work` in a child that is not root and return what it says."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setuid(NOBODY)
            said = work()
        except BrainError as error:
            said = error.code
        except BaseException as error:  # noqa: BLE001  a child of a test must not go on
            said = repr(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def give_away(folder: Path) -> None:
    """Let the unprivileged user own a store made by root."""
    if os.geteuid() == 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, NOBODY, NOBODY)


@pytest.mark.parametrize("name", ["store.db-wal", "mark", "lock"])
def test_a_file_of_another_user_beside_the_store_is_not_used(open_place, name):
    folder = open_place / ".brain"
    store = create_store(folder)
    with store.transaction() as tx:
        tx.append_operation(b"one")
    store.close()
    give_away(folder)
    foreign = folder / name
    foreign.touch(0o666)
    foreign.chmod(0o666)
    if os.geteuid() != 0:
        return
    os.chown(foreign, 0, 0)
    assert unprivileged(lambda: written(folder)) == "foreign_owner"


def written(folder: Path) -> str:
    with writer_lock(folder, 1), closing(open_store(folder)) as store, store.transaction() as tx:
        tx.append_operation(b"two")
    return "written"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_folder_and_files_are_for_their_owner_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        store = create_store(tmp_path / ".brain")
        with store.transaction() as tx:
            tx.update_ref("main", None, b"1" * 32)
    finally:
        os.umask(before)
    folder = tmp_path / ".brain"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {file.name for file in folder.iterdir()} == {"store.db", "store.db-wal", "store.db-shm"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    store.close()


def test_a_store_is_not_created_over_another(folder):
    with raises_code("exists", Conflict):
        create_store(folder)
    store = open_store_reader(folder)
    assert store.read_ref("main") == b"1" * 32
    store.close()


def test_a_folder_that_cannot_be_made_is_an_error_with_a_hint(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as error:
        create_store(tmp_path / "file" / ".brain")
    assert error.value.hint


def test_the_file_says_what_it_is_and_how_it_is_kept(tmp_path):
    folder = tmp_path / "s"
    create_store(folder).close()
    with closing(apsw.Connection(str(folder / "store.db"))) as db:
        for pragma, value in (
            ("application_id", 0x62726E31),
            ("user_version", 4),
            ("journal_mode", "wal"),
        ):
            assert db.execute(f"PRAGMA {pragma}").fetchall() == [(value,)]


def test_a_disposable_file_that_is_damaged_or_of_another_version_is_made_anew(tmp_path):
    path = str(tmp_path / "cache.db")
    cache = STORE._replace(file_name="cache.db", tables=("CREATE TABLE t (x)",), is_disposable=True)
    for format in (cache, cache._replace(version=7), cache):
        with closing(database.open_disposable(path, format)) as db:
            assert db.fetch_all("SELECT x FROM t") == []
            db.execute("INSERT INTO t VALUES (1)")
        with closing(database.open_disposable(path, format)) as db:
            assert db.fetch_all("SELECT x FROM t") == [(1,)]
    Path(path).write_bytes(b"no database")
    with closing(database.open_disposable(path, cache)) as db:
        assert db.fetch_all("SELECT x FROM t") == []


def test_the_connection_is_durable_and_guarded(folder):
    db = Connection(str(folder / "store.db"), apsw.SQLITE_OPEN_READWRITE, STORE, 1)
    for pragma, value in (("synchronous", 2), ("trusted_schema", 0), ("cell_size_check", 1)):
        assert db.fetch_all(f"PRAGMA {pragma}") == [(value,)]
    with pytest.raises(StoreError):
        db.execute("UPDATE sqlite_schema SET sql = ''")
    db.close()


def test_closing_leaves_the_log_for_the_next_one(folder):
    assert (folder / "store.db-wal").stat().st_size > 0
    store = open_store(folder)
    assert store.read_ref("main") == b"1" * 32
    store.close()
    assert (folder / "store.db-wal").stat().st_size > 0


def test_the_log_is_bounded(folder):
    store = open_store(folder)
    for number in range(300):
        with store.transaction() as tx:
            tx.put_blob(b"%d" % number * 5000)
    assert (folder / "store.db-wal").stat().st_size < 4 << 20
    store.close()


def test_a_long_log_is_emptied_at_once(folder):
    store = open_store(folder)
    with store.transaction() as tx:
        tx.put_blobs(NOISE)
    assert (folder / "store.db-wal").stat().st_size == 0
    store.close()


def test_a_long_log_that_a_reader_still_needs_is_left_to_later(folder):
    store, reader = open_store(folder), open_store_reader(folder)
    rows = reader._db.stream_rows("SELECT name FROM facts")
    next(rows)
    with store.transaction() as tx:
        tx.put_blobs(NOISE)
    assert len(list(rows)) == 1
    assert (folder / "store.db-wal").stat().st_size > 0
    assert len(list(reader.stream_object_ids())) == 80
    reader.close()
    store.close()


def test_a_reader_writes_nothing_into_the_file(folder):
    checkpoint(folder)
    before = (folder / "store.db").read_bytes()
    reader = open_store_reader(folder)
    assert reader.list_refs() == {"main": b"1" * 32}
    assert reader.check_integrity() == []
    with raises_code("read_only", StoreError):
        reader._db.execute("DELETE FROM facts")
    reader.close()
    assert (folder / "store.db").read_bytes() == before


def test_a_store_left_outside_the_log_by_a_crash_is_taken_back(folder):
    with closing(apsw.Connection(str(folder / "store.db"))) as db:
        assert db.execute("PRAGMA journal_mode=DELETE").fetchall() == [("delete",)]
    reader = open_store_reader(folder)
    assert reader.read_ref("main") == b"1" * 32
    reader.close()
    store = open_store(folder)
    assert store._db.fetch_all("PRAGMA journal_mode") == [("wal",)]
    store.close()


@pytest.mark.parametrize("version", [1, 2, 3, database.SCHEMA_VERSION + 1])
def test_a_store_of_another_version_is_refused_and_left_as_it_is(folder, version):
    with closing(apsw.Connection(str(folder / "store.db"))) as db:
        db.execute(f"PRAGMA user_version={version}").fetchall()
    checkpoint(folder)
    before = (folder / "store.db").read_bytes()
    for opened in (open_store_reader, open_store):
        with raises_code("unsupported_version", StoreError):
            opened(folder)
    assert (folder / "store.db").read_bytes() == before


@pytest.mark.parametrize(
    "name", ["cards", "skill_log", "skill_paths", "merges", "sheet", "sqlite_stat1"]
)
def test_a_store_holds_nothing_that_is_derived(folder, name):
    assert name not in {sql.split()[2] for sql in database.TABLES}
    with closing(apsw.Connection(str(folder / "store.db"))) as db:
        db.execute("ANALYZE" if name == "sqlite_stat1" else f"CREATE TABLE {name} (x)").fetchall()
    for opened in (open_store_reader, open_store):
        with raises_code("bad_store", StoreError):
            opened(folder)


def test_another_users_store_is_refused(open_place, monkeypatch):
    create_store(open_place / ".brain").close()
    (open_place / ".brain").chmod(0o755)
    (open_place / ".brain" / "store.db").chmod(0o666)
    if os.geteuid() != 0:  # who is not root cannot become somebody else
        monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    assert unprivileged(lambda: str(open_store_reader(open_place / ".brain"))) == "foreign_owner"
    assert unprivileged(lambda: str(open_store(open_place / ".brain"))) == "foreign_owner"


def test_root_may_open_anybodys_store(open_place):
    create_store(open_place / ".brain").close()
    give_away(open_place / ".brain")
    store = open_store(open_place / ".brain")
    with store.transaction() as tx:
        tx.update_ref("main", None, b"by root")
    assert store.list_refs() == {"main": b"by root"}
    store.close()


@pytest.mark.parametrize("log", ["none", "empty"])
def test_a_medium_that_cannot_be_written_is_read_when_the_log_is_empty(open_place, log):
    folder = open_place / ".brain"
    store = create_store(folder)
    with store.transaction() as tx:
        tx.update_ref("main", None, b"seen")
    store.close()
    checkpoint(folder)
    if log == "empty":
        (folder / "store.db-wal").touch()
    give_away(folder)
    folder.chmod(0o500)
    (folder / "store.db").chmod(0o400)
    assert unprivileged(lambda: str(open_store_reader(folder).read_ref("main"))) == "b'seen'"
    assert unprivileged(lambda: str(open_store(folder))) == "read_only"
    assert not (folder / "store.db-shm").exists()


def test_a_log_that_is_not_empty_is_never_ignored(open_place):
    folder = open_place / ".brain"
    store = create_store(folder)
    with store.transaction() as tx:
        tx.update_ref("main", None, b"seen")
    store.close()
    (folder / "store.db-shm").unlink()
    give_away(folder)
    folder.chmod(0o500)
    assert unprivileged(lambda: str(open_store_reader(folder))) == "read_only"


FULL = """
import random, resource, signal, sys
from pathlib import Path
from brain.errors import StoreError
from brain.store.writer import open_store
store = open_store(Path(sys.argv[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (6 << 20, 6 << 20))
try:
    with store.transaction(int(sys.argv[2])) as tx:
        for number in range(4000):
            tx.put_blobs([(b"%032d" % number, random.Random(number).randbytes(9000))])
except StoreError as error:
    print(error.code, error.exit_status)
"""


@pytest.mark.parametrize("announced", [0, 1 << 30])
def test_a_disk_that_takes_no_more_is_a_typed_error_and_leaves_the_old_state(
    folder, project, announced
):
    done = subprocess.run(
        [sys.executable, "-c", FULL, folder, str(announced)],
        env={"PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() in (["io_error", "1"], ["no_space", "1"])
    store = open_store(folder)
    assert store.list_refs() == {"main": b"1" * 32}
    assert list(store.stream_object_ids()) == []
    assert store.check_integrity() == []
    store.close()
