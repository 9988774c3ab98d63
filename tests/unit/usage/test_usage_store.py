"""The file of uses: counted once each, by many at once, and never silently empty."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest

from brain.errors import StoreError
from brain.experience import usage
from brain.experience.usage import MAX_FAILURE_CHARS, SkillUse, UsageStore
from tests.support.experience_steps import write_old_usage
from tests.support.refusals import raises_code

PATH = "skills/news/SKILL.md"
OLD_ROWS = (
    (PATH, "1", b"", 9, 4, 3, 2, 2, 40, 30, 40, "no news", 5, 50),
    (PATH, "2", b"p" * 32, 1, 1, 0, 0, 0, 0, 0, 0, "", 60, 60),
)

COUNT = """
import sys
import time
from brain.experience.usage import UsageStore
from brain.experience.usage import SkillUse
store = UsageStore(sys.argv[1])
for number in range(int(sys.argv[2])):
    store.record_use(SkillUse(path="skills/news/SKILL.md", version="1", outcome="success", at=1))
    print(number + 1, flush=True)
"""


def make_use(
    outcome: str = "success", at: int = 1000, path: str = PATH, version: str = "1"
) -> SkillUse:
    return SkillUse(path=path, version=version, outcome=outcome, at=at)


@pytest.fixture
def store(tmp_path):
    opened = UsageStore(tmp_path)
    yield opened
    opened.close()


def test_reading_before_the_first_use_creates_no_file(store, tmp_path):
    assert store.list_usage() == []
    assert store.read_usage(PATH) == []
    assert list(tmp_path.iterdir()) == []


def test_a_use_is_counted_with_its_outcome_time_and_duration(store):
    store.record_use(SkillUse(path=PATH, version="1", outcome="success", at=2000, took=40))
    store.record_use(
        SkillUse(path=PATH, version="1", outcome="failure", at=3000, took=90, failure="no news")
    )
    counts = store.record_use(SkillUse(path=PATH, version="1", outcome="unknown", at=1000))
    assert store.read_usage(PATH) == [counts]
    assert (counts.uses, counts.successes, counts.failures) == (3, 1, 1)
    assert (counts.timed, counts.took_total, counts.took_max) == (2, 130, 90)
    assert (counts.failed_at, counts.failure) == (3000, "no news")
    assert (counts.first_use, counts.last_use) == (1000, 3000)
    assert counts.mean == 65


def test_failures_in_a_row_begin_anew_after_a_success(store):
    outcomes = ["failure", "failure", "success", "failure", "unknown", "failure"]
    rows = [store.record_use(make_use(outcome)).consecutive_failures for outcome in outcomes]
    assert rows == [1, 2, 0, 1, 1, 2]


def test_versions_and_programs_of_one_skill_are_counted_apart(store):
    store.record_use(make_use("failure"))
    store.record_use(make_use("success", version="2"))
    store.record_use(
        SkillUse(path=PATH, version="2", program=b"p" * 32, outcome="failure", at=1000)
    )
    store.record_use(make_use("success", path="skills/other/SKILL.md"))
    found = [(row.version, row.program, row.failures) for row in store.read_usage(PATH)]
    assert found == [("1", b"", 1), ("2", b"", 0), ("2", b"p" * 32, 1)]


def test_the_text_of_a_failure_is_one_short_line(store):
    use = SkillUse(
        path=PATH, version="1", outcome="failure", at=1, failure="a\n\x1b[2J" + "b" * 900
    )
    failure = store.record_use(use).failure
    assert len(failure) == MAX_FAILURE_CHARS
    assert failure.startswith("a \\x1b[2Jb")


def test_a_run_is_counted_once(store):
    assert store.record_run("run-1", [make_use(), make_use(version="2")])
    assert not store.record_run("run-1", [make_use()])
    assert store.record_run("run-2", [make_use()])
    assert [row.uses for row in store.read_usage(PATH)] == [2, 1]


def test_the_oldest_runs_are_forgotten(store, monkeypatch):
    monkeypatch.setattr(usage, "MAX_RUNS", 2)
    for run in ("a", "b", "c"):
        store.record_run(run, [])
    assert not store.record_run("b", [])
    assert store.record_run("a", [])


def test_the_version_that_was_unused_for_longest_makes_room(store, monkeypatch):
    monkeypatch.setattr(usage, "MAX_ROWS", 3)
    for version, at in (("1", 10), ("2", 20), ("3", 30), ("1", 40), ("4", 50), ("5", 60)):
        store.record_use(make_use(at=at, version=version))
    assert sorted(row.version for row in store.list_usage()) == ["1", "4", "5"]


def test_the_log_of_a_deleted_file_is_not_taken_into_a_new_one(tmp_path):
    first = UsageStore(tmp_path)
    first.record_use(make_use())
    first.close()
    assert (tmp_path / "evolution.db-wal").stat().st_size
    (tmp_path / "evolution.db").unlink()
    assert UsageStore(tmp_path).record_use(make_use()).uses == 1


@pytest.mark.parametrize("version", [1, 2])
def test_what_earlier_releases_counted_is_read_and_counted_on(tmp_path, monkeypatch, version):
    store, old = UsageStore(tmp_path), tmp_path / "usage.db"
    write_old_usage(tmp_path, version, *OLD_ROWS)
    content = old.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
        (first, second) = store.list_usage()
    assert store.read_usage(PATH) == [first, second] and old.exists()
    assert (first.uses, first.successes, first.failures, first.timed) == (9, 4, 3, 2)
    assert (first.failure, first.first_use, first.last_use, first.mean) == ("no news", 5, 50, 20)
    assert first.trials == ((4, 3) if version == 1 else (1, 1))
    assert (second.version, second.program, second.uses) == ("2", b"p" * 32, 1)
    for more in (1, 2):
        assert store.record_use(make_use()).uses == 9 + more
        assert not store.record_run("a run", [make_use()])
        assert not list(tmp_path.glob("usage.db*"))
        old.write_bytes(content)  # as if a process was killed before it deleted the file
    assert [counts.uses for counts in store.list_usage()] == [11, 1]


@pytest.mark.parametrize("damage", [b"", b"no database" * 999, None], ids=["empty", "other", "cut"])
def test_a_damaged_file_of_earlier_releases_is_an_error_and_stays_as_it_is(tmp_path, damage):
    store, old = UsageStore(tmp_path), tmp_path / "usage.db"
    write_old_usage(tmp_path, 2, *OLD_ROWS)
    damaged = old.read_bytes()[:-2000] if damage is None else damage
    old.write_bytes(damaged)
    for action in (store.list_usage, lambda: store.record_use(make_use())):
        with raises_code("bad_store", StoreError) as error:
            action()
        assert "delete .brain/usage.db" in error.value.hint
    assert old.read_bytes() == damaged


def test_a_row_that_is_no_count_is_an_error(store, tmp_path):
    store.record_use(make_use())
    with apsw.Connection(os.fspath(tmp_path / "evolution.db")) as db:
        db.execute("UPDATE uses SET counts = 'x'").fetchall()
    with raises_code("bad_store", StoreError):
        store.read_usage(PATH)


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_bytes(b"precious")
    (tmp_path / "evolution.db").symlink_to(tmp_path / "elsewhere")
    with raises_code("bad_store", StoreError):
        UsageStore(tmp_path).record_use(make_use())
    assert (tmp_path / "elsewhere").read_bytes() == b"precious"


def test_threads_and_stores_count_together(tmp_path):
    stores = [UsageStore(tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: stores[n % 4].record_use(make_use(at=n)), range(200)))
    assert [row.uses for row in stores[0].read_usage(PATH)] == [200]


def test_processes_count_together(tmp_path, project):
    command = [sys.executable, "-c", COUNT, os.fspath(tmp_path), "40"]
    env = {"PYTHONPATH": str(project)}
    counting = [subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [process.wait() for process in counting] == [0, 0, 0]
    assert [row.uses for row in UsageStore(tmp_path).read_usage(PATH)] == [120]


def test_opening_waits_for_another_process_that_writes_before_there_is_a_log(
    tmp_path, store, monkeypatch
):
    store.record_use(make_use())
    store.close()
    other = apsw.Connection(os.fspath(tmp_path / "evolution.db"))
    other.execute("PRAGMA journal_mode=DELETE").fetchall()
    other.execute("BEGIN IMMEDIATE").fetchall()
    monkeypatch.setattr(time, "sleep", lambda _: other.close())
    store.record_use(make_use())
    assert [row.uses for row in store.read_usage(PATH)] == [2]


def test_a_killed_writer_loses_no_use_that_it_had_counted(tmp_path, project):
    counting = subprocess.Popen(
        [sys.executable, "-c", COUNT, os.fspath(tmp_path), "100000"],
        env={"PYTHONPATH": str(project)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert counting.stdout is not None
    for _ in range(50):
        counting.stdout.readline()
    counting.send_signal(signal.SIGKILL)
    counted = counting.stdout.read().splitlines()
    counting.wait()
    counting.stdout.close()
    shown = 50 + len(counted)
    (row,) = UsageStore(tmp_path).read_usage(PATH)
    assert shown <= row.uses <= shown + 1


def test_a_folder_without_write_access_can_be_read(store, tmp_path, monkeypatch):
    store.record_use(make_use())
    store.close()
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # also as root
        assert [row.uses for row in store.read_usage(PATH)] == [1]
        with raises_code("read_only", StoreError):
            store.record_use(make_use())
        store.close()
        db = apsw.Connection(os.fspath(tmp_path / "evolution.db"))
        db.execute("DROP TABLE uses; DROP TABLE counted_runs; PRAGMA user_version = 3").fetchall()
        db.close()
        assert store.list_usage() == []
        store.close()
    assert store.record_use(make_use()).uses == 1
