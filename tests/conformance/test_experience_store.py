"""What a store of experience promises: the file of a brain, and a schema of PostgreSQL."""

import os
import signal
import sqlite3
from collections.abc import Callable

import psycopg
import pytest

from brain.errors import BrainError, Conflict, InvalidInput, Locked, StoreError
from brain.experience import store as store_module
from brain.experience.postgres import PostgresDatabase
from brain.experience.store import AuditEvent, RateLimit, SkillSequence, Store
from tests.support.refusals import raises_code

HOURLY = RateLimit("hourly", 3600, 2)
DAILY = RateLimit("daily", 86_400, 3)
BOTH = (HOURLY, DAILY)
HOUR = 3_600_000
NOW = 480_000 * HOUR


@pytest.fixture(params=["file", "postgres"])
def open_store(request, tmp_path, key):
    """Opens the same store again and again, as several agents do."""
    opened: list[Store] = []

    def open_another() -> Store:
        database = None
        if request.param == "postgres":
            url = request.getfixturevalue("postgres").url
            database = PostgresDatabase(url, key * 2, store_module.TABLES)
        opened.append(Store(tmp_path, database))
        return opened[-1]

    yield open_another
    for one in opened:
        one.close()


@pytest.fixture
def store(open_store):
    return open_store()


def make_event(number: int) -> AuditEvent:
    return AuditEvent(number, "gaps", f"name {number}", "why\0 \ud800 ä", "gate", "success")


def in_child(action: Callable[[], object], kill: bool = False) -> int:
    """Call an action in a forked process, which then kills itself if told; return its status."""
    child = os.fork()
    if child == 0:
        try:
            action()
            if kill:
                os.kill(os.getpid(), signal.SIGKILL)
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_new_store_is_empty_and_reading_makes_no_file(store, tmp_path):
    assert list(store.sequences()) == [] and store.next("gaps", NOW) is None
    assert (store.items("gaps"), store.events(), store.fact("a")) == ([], [], {})
    assert store.counts("gaps", BOTH, NOW) == {"hourly": 0, "daily": 0}
    assert list(tmp_path.iterdir()) == []


def test_sequences_come_back_whole_and_in_order_and_a_run_once(store, monkeypatch):
    monkeypatch.setattr(store_module, "_ROWS_PER_READ", 3)
    recorded = [SkillSequence("ä\"'", 9 - n, ("", "日本", "a", "a"), f"{n}", "r") for n in range(7)]
    assert store.record(recorded[:3], once=True)
    assert not store.record(recorded[:1], once=True)
    assert store.record(recorded[3:]) and not store.record([])
    assert list(store.sequences()) == recorded
    assert list(store.sequences(since=7)) == [one for one in recorded if one.at >= 7]


def test_an_item_is_added_once_and_the_oldest_is_next(store):
    assert [store.add("gaps", key, at, {"n": at}) for at, key in enumerate("aab")] == [1, 0, 1]
    assert store.add("patterns", "a", 7, {})
    with store.learning():
        item = store.next("gaps", NOW)
        assert (item.key, item.at, item.data, item.starts) == ("a", 0, {"n": 0}, 1)
        item.finish({"done": True}, make_event(1))
        assert [one.key for one in [store.next("gaps", NOW)] if one] == ["b"]
    assert not store.add("gaps", "a", 9, {})
    assert [one.result for one in store.items("gaps")] == [{"done": True}, None]
    assert (store.waiting("gaps"), store.waiting()) == ([2], [2, 7])


def test_a_step_is_made_once_also_after_a_kill(open_store):
    store = open_store()
    store.add("gaps", "a", 1, {})
    store.close()

    def pay() -> None:
        child = open_store()
        with child.learning():
            child.next("gaps", NOW).once("answer", lambda: b"paid\0")
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(pay) == -signal.SIGKILL
    with store.learning():
        item = store.next("gaps", NOW)
        assert item.starts == 2
        assert item.once("answer", lambda: pytest.fail("it is paid twice")) == b"paid\0"
        item.keep("answer", b"changed")
        item.keep("other")
        item.forget("ans")
        assert (item.find("answer"), item.find("other")) == (None, b"")
        item.finish({})
        with pytest.raises(Conflict, match="is gone"):
            item.keep("late")


def test_one_process_learns_and_after_a_kill_the_next_goes_on_at_once(open_store):
    first, second = open_store(), open_store()
    with first.learning():
        for other in (first, second):
            with raises_code("learning", Locked), other.learning():
                pass
    first.close(), second.close()

    def die() -> None:
        with open_store().learning():
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(die) == -signal.SIGKILL
    with second.learning():
        pass


def test_an_item_is_counted_once_under_all_limits_or_under_none(store):
    for number in range(4):
        store.add("gaps", f"{number}", 1, {})
    with store.learning():
        for reached in (None, None, HOURLY):
            item = store.next("gaps", NOW)
            assert item.count(BOTH, NOW) == item.count(BOTH, NOW) == reached
            item.finish({})
        assert store.counts("gaps", BOTH, NOW) == {"hourly": 2, "daily": 2}
        item = store.next("gaps", NOW)
        assert item.count(BOTH, NOW + HOUR) is None
    assert store.counts("gaps", BOTH, NOW + HOUR) == {"hourly": 1, "daily": 3}
    assert store.counts("patterns", BOTH, NOW) == {"hourly": 0, "daily": 0}


def test_a_clock_that_is_set_back_frees_no_period_and_delays_no_item(store):
    store.add("gaps", "a", 1, {})
    store.add_count("gaps", HOURLY, NOW, 2)
    store.add_count("gaps", HOURLY, NOW + 5 * HOUR)
    with store.learning():
        item = store.next("gaps", NOW + 5 * HOUR)
        item.wait(NOW + 5 * HOUR, NOW + 6 * HOUR)
        assert store.next("gaps", NOW + 5 * HOUR + 1) is None
        item = store.next("gaps", NOW)
        assert item.starts == 1 and item.count([HOURLY], NOW) == HOURLY


def test_what_belongs_together_is_kept_together_or_not_at_all(store):
    with pytest.raises(ZeroDivisionError), store.transaction():
        store.change("a", lambda old: {"n": 1})
        store.log(make_event(1))
        raise ZeroDivisionError
    assert (store.fact("a"), store.events()) == ({}, [])


def test_facts_are_changed_exactly_by_many_processes(store, open_store):
    store.change("gap/a", lambda old: {"n": 0})
    store.close()

    def count() -> None:
        child = open_store()
        for _ in range(5):
            child.change("gap/a", lambda old: {"n": old["n"] + 1})

    assert [in_child(count) for _ in range(2)] == [0, 0]
    store.change("gap/b", lambda old: {"n": 1})
    assert store.facts("gap/") == {"a": {"n": 10}, "b": {"n": 1}}
    assert store.change("gap/b", lambda old: None) == {"n": 1}
    assert store.change("gap/b", lambda old: {}) == {}
    assert store.facts("gap/b") == {}


def test_old_rows_are_forgotten_beyond_their_limits(store, monkeypatch):
    for limit in ("MAX_EVENTS", "MAX_SEQUENCES", "MAX_WORK"):
        monkeypatch.setattr(store_module, limit, 3)
    store.log(*map(make_event, range(5)))
    store.record([SkillSequence("c", at, ("a",)) for at in range(5)])
    assert [one.at for one in store.events("gaps")] == [2, 3, 4]
    assert [one.name for one in store.events(last=1)] == ["name 4"]
    assert [one.at for one in store.sequences()] == [2, 3, 4]
    for number in range(3):
        store.add("gaps", f"{number}", 1, {})
    with raises_code("bad_experience", InvalidInput):
        store.add("gaps", "3", 1, {})
    with store.learning():
        store.next("gaps", NOW).finish({}, keep_data=True)
    assert store.add("gaps", "3", 1, {}) and len(store.items("gaps")) == 3


def test_a_file_that_is_deleted_meanwhile_begins_anew_and_the_item_is_gone(tmp_path):
    store = Store(tmp_path)
    store.add("gaps", "a", 1, {})
    with store.learning():
        item = store.next("gaps", NOW)
        for file in tmp_path.glob("evolution.db*"):
            file.unlink()
        with pytest.raises(Conflict, match="is gone"):
            item.finish({})
    assert store.add("gaps", "a", 1, {})


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_of_an_older_release_is_set_aside(tmp_path, version):
    Store(tmp_path).add("gaps", "a", 1, {})
    with sqlite3.connect(tmp_path / "evolution.db") as db:
        db.execute(f"PRAGMA user_version = {version}")
    db.close()
    store = Store(tmp_path)
    assert store.items("gaps") == []
    assert store.add("gaps", "b", 1, {}) and [one.key for one in store.items("gaps")] == ["b"]
    assert (tmp_path / "evolution.db.old").exists()


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda data: b"", "bad_store"),
        (lambda data: b"no database" * 100, "bad_store"),
        (lambda data: data[:-5000], "bad_store"),
        (lambda data: data[:60] + (99).to_bytes(4, "big") + data[64:], "unsupported_version"),
    ],
    ids=["empty", "foreign", "cut", "newer"],
)
def test_a_damaged_file_is_refused_by_name_until_it_is_deleted(tmp_path, damage, code):
    file = tmp_path / "evolution.db"
    store = Store(tmp_path)
    store.add("gaps", "a", 1, {})
    store.close()
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    for log in tmp_path.glob("evolution.db-*"):
        log.unlink()
    file.write_bytes(damage(file.read_bytes()))
    for use in (lambda: store.items("gaps"), lambda: store.add("gaps", "b", 1, {})):
        with pytest.raises(BrainError) as refused:
            use()
        assert (type(refused.value), refused.value.code) == (StoreError, code)
        assert "delete .brain/evolution.db" in refused.value.hint
    file.unlink()
    assert store.add("gaps", "b", 1, {})


@pytest.fixture
def shared(postgres, key):
    store = Store("", PostgresDatabase(postgres.url, key * 2, store_module.TABLES))
    store.record([SkillSequence("c", 1, ("a",))])
    yield store
    store.close()


def test_after_a_restart_of_the_server_the_next_call_connects_anew(postgres, shared):
    postgres.kill()
    try:
        with raises_code("experience_unavailable", StoreError):
            shared.items("gaps")
    finally:
        postgres.start()
    assert len(list(shared.sequences())) == 1


def test_who_learns_while_the_server_is_killed_writes_nothing_more(postgres, shared, monkeypatch):
    shared.add("gaps", "a", 1, {})
    with pytest.raises(StoreError) as lost, shared.learning():
        item = shared.next("gaps", NOW)
        postgres.kill()
        postgres.start()
        for _ in range(2):
            with raises_code("experience_unavailable", StoreError):
                item.keep("late")
        item.confirm()
    assert lost.value.code == "experience_unavailable"
    with shared.learning():
        assert shared.next("gaps", NOW).find("late") is None


def test_a_server_killed_in_the_middle_of_a_transaction_leaves_nothing_of_it(postgres, shared):
    try:
        with raises_code("experience_unavailable", StoreError), shared.transaction():
            shared.log(make_event(1))
            postgres.kill()
            shared.log(make_event(2))
    finally:
        postgres.start()
    assert shared.events() == []


def test_a_server_that_hangs_is_given_up_in_bounded_time(postgres, shared, monkeypatch):
    monkeypatch.setattr("brain.experience.postgres._SERVER_SECONDS", -0.9)
    with postgres.frozen(), raises_code("experience_unavailable", StoreError):
        shared.log(make_event(1))
    monkeypatch.undo()
    assert shared.events() == []


def test_tables_of_another_release_and_a_user_who_may_not_are_refused(postgres, shared):
    shared._write("UPDATE facts SET value = '99' WHERE name = 'version'")
    shared.close()
    with raises_code("unsupported_version", StoreError):
        shared.items("gaps")
    with psycopg.connect(postgres.url.replace("+psycopg", ""), autocommit=True) as db:
        db.execute("CREATE ROLE nobody LOGIN")
    url = postgres.url.replace("user=brain", "user=nobody")
    store = Store("", PostgresDatabase(url, "cd" * 32, store_module.TABLES))
    with raises_code("bad_store", StoreError):
        store.items("gaps")
