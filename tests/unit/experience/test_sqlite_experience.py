"""The file of experience: guarded, never silently empty, and no loss when it is deleted."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from brain.errors import StoreError
from brain.experience.experience_protocol import (
    AuditEvent,
    ClaimedWork,
    RateLimit,
    SkillSequence,
    WorkItem,
)
from brain.experience.experience_settings import EXPERIENCE_FILE_NAME
from brain.experience.sqlite_experience import SqliteExperience
from tests.support.refusals import raises_code

LIMIT = RateLimit(name="daily", seconds=86_400, most=5)
SEQUENCE = SkillSequence(chat="a chat", at=1000, skills=("search", "write"), run="a run")
ITEM = WorkItem(kind="gaps", key="a gap", at=5, data="{}")
CLAIM = ClaimedWork(item=ITEM, attempt=1, until=1050)
EVENT = AuditEvent(at=1, evolver="gaps", name="n", trigger_reason="t", phase="p", result="failed")


@pytest.fixture
def store(tmp_path):
    opened = SqliteExperience(tmp_path)
    yield opened
    opened.close()


def fill(store: SqliteExperience) -> None:
    store.record_sequences([SEQUENCE] * 300)
    store.add_work(ITEM)
    claim = store.claim_work("gaps", 1000, 50, 3)
    assert claim is not None
    store.keep_progress(claim, "an answer")
    store.add_answer(claim, "another")
    store.append_event(EVENT)
    store.write_note("state", None, "here")
    store.take("key", [LIMIT], 1000)


def read_all(store: SqliteExperience) -> tuple[object, ...]:
    return (
        [one.sequence for one in store.read_sequences()],
        sum(len(batch.numbers) for batch in store.read_batches()),
        store.list_work(),
        (store.count_work(), store.newest_work("gaps"), store.read_answers(CLAIM)),
        store.read_events(),
        store.read_note("state"),
        store.read("key", [LIMIT], 1000),
    )


def close_and_read(folder: Path) -> bytes:
    """Return the file with all it holds, after moving the content of its log into it."""
    db = apsw.Connection(os.fspath(folder / EXPERIENCE_FILE_NAME))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()
    return (folder / EXPERIENCE_FILE_NAME).read_bytes()


def write_file(folder: Path, content: bytes) -> None:
    for suffix in ("-wal", "-shm"):
        (folder / f"{EXPERIENCE_FILE_NAME}{suffix}").unlink(missing_ok=True)
    (folder / EXPERIENCE_FILE_NAME).write_bytes(content)


def change_rows(folder: Path, sql: str) -> None:
    db = apsw.Connection(os.fspath(folder / EXPERIENCE_FILE_NAME))
    db.execute(sql).fetchall()
    assert db.changes() > 0
    db.close()


def test_reading_a_new_store_creates_no_file(store, tmp_path):
    assert read_all(store) == ([], 0, [], (0, None, []), [], None, {"daily": 0})
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_private(store, tmp_path):
    store.append_event(EVENT)
    for file in tmp_path.iterdir():
        assert file.stat().st_mode & 0o077 == 0


def test_a_deleted_file_begins_anew(store, tmp_path):
    fill(store)
    for file in tmp_path.iterdir():
        file.unlink()
    assert store.read_note("state") is None
    fill(store)
    assert len(list(store.read_sequences())) == 300


def test_sequences_recorded_one_by_one_end_in_few_rows(store, tmp_path):
    for _ in range(600):
        store.record_sequences([SEQUENCE])
    db = apsw.Connection(os.fspath(tmp_path / EXPERIENCE_FILE_NAME))
    ((rows,),) = db.execute("SELECT count(*) FROM sequences").fetchall()
    db.close()
    assert rows == 2 + 600 % 256
    assert [one.number for one in store.read_sequences()] == list(range(1, 601))


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("UPDATE sequences SET first = 2", lambda s: list(s.read_batches())),
        ("UPDATE sequences SET newest = newest + 1", lambda s: list(s.read_batches())),
        ("UPDATE sequences SET oldest = 0", lambda s: list(s.read_batches())),
        ("UPDATE sequences SET columns = details", lambda s: list(s.read_batches())),
        ("UPDATE sequences SET columns = zeroblob(9)", lambda s: list(s.read_sequences())),
        ("UPDATE sequences SET details = zeroblob(9)", lambda s: list(s.read_sequences())),
        ("UPDATE sequences SET details_checksum = x''", lambda s: list(s.read_sequences())),
        ("UPDATE counters SET value = 1", lambda s: s.record_sequences([SEQUENCE])),
        ("DELETE FROM counters", lambda s: s.record_sequences([SEQUENCE])),
        ("UPDATE work SET progress = 'x'", lambda s: s.list_work()),
        ("UPDATE answers SET answer = 'x'", lambda s: s.read_answers(CLAIM)),
        ("UPDATE work SET at = 9", lambda s: s.newest_work("gaps")),
        ("UPDATE work SET until = 0", lambda s: s.claim_work("gaps", 9999, 5, 9)),
        ("UPDATE events SET result = 'success'", lambda s: s.read_events()),
        ("UPDATE notes SET text = 'there'", lambda s: s.read_note("state")),
        ("UPDATE rates SET count = 0", lambda s: s.take("key", [LIMIT], 1000)),
    ],
)
def test_a_changed_row_is_an_error(store, tmp_path, sql, read):
    fill(store)
    change_rows(tmp_path, sql)
    with raises_code("bad_store", StoreError) as error:
        read(store)
    assert "delete .brain/evolution.db" in error.value.hint


def test_a_flipped_byte_is_an_error_or_changes_nothing_that_is_read(tmp_path):
    store = SqliteExperience(tmp_path)
    fill(store)
    expected = read_all(store)
    store.close()
    content = close_and_read(tmp_path)
    chance = random.Random(7)
    refused = 0
    for _ in range(150):
        place = chance.randrange(len(content))
        flipped = bytes([content[place] ^ (1 << chance.randrange(8))])
        write_file(tmp_path, content[:place] + flipped + content[place + 1 :])
        damaged = SqliteExperience(tmp_path)
        try:
            assert read_all(damaged) == expected
        except StoreError as error:
            refused += 1
            assert error.hint
        finally:
            damaged.close()
    assert refused > 20


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_cut_file_is_an_error(tmp_path, share):
    store = SqliteExperience(tmp_path)
    fill(store)
    store.close()
    content = close_and_read(tmp_path)
    write_file(tmp_path, content[: int(len(content) * share)])
    for use in (read_all, fill):
        damaged = SqliteExperience(tmp_path)
        with pytest.raises(StoreError):
            use(damaged)
        damaged.close()


def test_a_file_of_another_version_is_refused(store, tmp_path):
    store.append_event(EVENT)
    store.close()
    db = apsw.Connection(os.fspath(tmp_path / EXPERIENCE_FILE_NAME))
    db.execute("PRAGMA user_version=3").fetchall()
    db.close()
    with raises_code("unsupported_version", StoreError):
        store.read_events()


def make_old(folder: Path) -> None:
    """Bring a file to the form of version 1, which had no table of answers."""
    db = apsw.Connection(os.fspath(folder / EXPERIENCE_FILE_NAME))
    db.execute("DROP TABLE answers; PRAGMA user_version=1").fetchall()
    db.close()


def test_a_file_of_the_version_before_keeps_its_queue(store, tmp_path):
    fill(store)
    before = read_all(store)
    store.close()
    make_old(tmp_path)
    other = SqliteExperience(tmp_path)
    assert [read_all(store)[number] for number in (0, 2, 4, 5)] == [
        before[number] for number in (0, 2, 4, 5)
    ]
    again = other.claim_work("gaps", 1050, 50, 3)
    assert again is not None and again.progress == "an answer"
    store.add_answer(again, "another")
    assert other.read_answers(again) == ["another"]
    other.close()


@pytest.mark.parametrize(
    "sql", ["CREATE TABLE odd (a)", "CREATE INDEX odd ON events (at)", "DROP TABLE notes"]
)
def test_a_file_with_other_tables_is_refused(store, tmp_path, sql):
    store.append_event(EVENT)
    store.close()
    db = apsw.Connection(os.fspath(tmp_path / EXPERIENCE_FILE_NAME))
    db.execute(sql).fetchall()
    db.close()
    with raises_code("bad_store", StoreError):
        store.append_event(EVENT)


def test_links_pipes_and_folders_in_its_place_are_refused(tmp_path):
    makers: list[Callable[[Path], object]] = [
        lambda path: path.symlink_to(tmp_path / "elsewhere"),
        os.mkfifo,
        lambda path: path.mkdir(),
    ]
    for number, make in enumerate(makers):
        folder = tmp_path / str(number)
        folder.mkdir()
        make(folder / EXPERIENCE_FILE_NAME)
        for use in (read_all, fill):
            store = SqliteExperience(folder)
            with raises_code("bad_store", StoreError):
                use(store)
    assert not (tmp_path / "elsewhere").exists()
