"""Servers that go away: a typed error in bounded time, nothing half written, then on as before."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from brain.errors import InvalidInput, StoreError
from brain.experience import postgres_connection
from brain.experience.experience_protocol import RateLimit, SkillSequence, WorkItem
from brain.experience.sql_experience import SqlExperience
from tests.support.refusals import raises_code

LIMIT = RateLimit(name="daily", seconds=86_400, most=5)
SEQUENCE = SkillSequence(chat="c", at=1000, skills=("a", "b"))
ITEM = WorkItem(kind="gaps", key="a gap", at=5, data="{}")
SECRET = "hunter2-secret"


@pytest.fixture
def shared(postgres, key):
    store = SqlExperience(postgres.url, key)
    yield store
    store.close()


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(StoreError) as error:
        action()
    assert error.value.hint
    return error.value.code


def test_a_killed_postgres_is_an_error_and_the_next_call_after_its_restart_works(postgres, shared):
    shared.record_sequences([SEQUENCE])
    shared.add_work(ITEM)
    claim = shared.claim_work("gaps", 1000, 50, 3)
    assert claim is not None
    postgres.kill()
    try:
        for action in (
            lambda: shared.record_sequences([SEQUENCE]),
            lambda: list(shared.read_sequences()),
            lambda: shared.keep_progress(claim, "lost"),
            lambda: shared.take("key", [LIMIT], 1000),
        ):
            assert code_of(action) == "experience_unavailable"
    finally:
        postgres.start()
    assert [one.number for one in shared.read_sequences()] == [1]
    shared.finish_work(claim, "done")
    assert shared.list_work() == [(ITEM, "done")]


def test_a_postgres_killed_in_the_middle_of_a_write_keeps_nothing_of_it(
    postgres, shared, monkeypatch
):
    shared.record_sequences([SEQUENCE])
    import json

    dumps = json.dumps
    calls = iter(range(10_000))

    def kill_later(*args: object, **named: object) -> str:
        if next(calls) == 2500:  # two statements of the transaction have run
            postgres.kill()
        return dumps(*args, **named)

    monkeypatch.setattr(json, "dumps", kill_later)
    try:
        with pytest.raises(StoreError) as error:
            shared.record_sequences([SEQUENCE] * 3000)
    finally:
        postgres.start()
    assert error.value.code == "experience_unavailable"
    shared.record_sequences([SEQUENCE])
    assert [one.number for one in shared.read_sequences()] == [1, 2]


def test_a_postgres_that_hangs_is_given_up_in_bounded_time(postgres, shared, monkeypatch):
    shared.record_sequences([SEQUENCE])
    monkeypatch.setattr(postgres_connection, "_ANSWER_TIMEOUT_SECONDS", 0.1)
    monkeypatch.setattr(postgres_connection, "CONNECT_TIMEOUT_SECONDS", 1)
    with postgres.frozen():
        assert code_of(lambda: shared.record_sequences([SEQUENCE])) == "experience_unavailable"
    monkeypatch.undo()
    assert [one.number for one in shared.read_sequences()] == [1]


def test_two_claims_that_meet_do_not_wait_for_each_other(postgres, shared):
    from sqlalchemy import select

    from brain.experience.sql_tables import work

    for key in ("one", "two"):
        shared.add_work(WorkItem(kind="gaps", key=key, at=1, data="{}"))
    first = select(work).where(work.c.brain == shared._brain, work.c.key == "one")
    other = SqlExperience(postgres.url, shared._brain)

    def claim_meanwhile(db: object) -> str:
        db.execute(first.with_for_update()).all()  # type: ignore[attr-defined]
        claim = other.claim_work("gaps", 1000, 50, 3)
        assert claim is not None
        return claim.item.key

    assert shared._database.run(claim_meanwhile) == "two"
    other.close()


def test_a_table_of_another_program_is_an_error(postgres):
    from sqlalchemy import text

    store = SqlExperience(postgres.url, "odd")
    store.record_sequences([SEQUENCE])
    for odd in ("[", "[1]", '{"a": 1}', "[]", "null"):
        change = text("UPDATE brain_sequences SET skills = :odd WHERE brain = 'odd'")
        store._database.run(lambda db, c=change, o=odd: db.execute(c, {"odd": o}))
        with raises_code("bad_store", StoreError):
            list(store.read_sequences())
    store.close()


def test_tables_of_another_version_are_refused(postgres):
    from sqlalchemy import text

    store = SqlExperience(postgres.url, "one")
    store.list_work()

    def set_version(version: int) -> None:
        sql = text("UPDATE brain_experience_version SET version = :version")
        store._database.run(lambda db: db.execute(sql, {"version": version}))

    set_version(3)
    try:
        late = SqlExperience(postgres.url, "two")
        assert code_of(late.list_work) == "unsupported_version"
        late.close()
    finally:
        set_version(2)
        store.close()


def test_tables_of_the_version_before_keep_their_queue(tmp_path):
    from sqlalchemy import text

    url = f"sqlite:///{tmp_path}/shared.db"
    store = SqlExperience(url, "one")
    store.add_work(ITEM)
    for sql in (
        "DROP TABLE brain_answers",
        "DROP INDEX brain_work_open",
        "UPDATE brain_experience_version SET version = 1",
    ):
        store._database.run(lambda db, sql=sql: db.execute(text(sql)))  # type: ignore[misc]
    store.close()
    later = SqlExperience(url, "one")
    claim = later.claim_work("gaps", 1000, 50, 3)
    assert claim is not None and claim.item == ITEM
    later.add_answer(claim, "an answer")
    assert later.read_answers(claim) == ["an answer"]
    later.close()


@pytest.mark.parametrize(
    ("url", "make"),
    [
        (
            f"postgresql://u:{SECRET}@127.0.0.1:1/db",
            lambda url: SqlExperience(url, "b").list_work(),
        ),
        (
            f"postgresql+psycopg:///db?host=/nonexistent&password={SECRET}",
            lambda url: SqlExperience(url, "b").list_work(),
        ),
    ],
)
def test_no_password_is_in_an_error(url, make):
    with pytest.raises(StoreError) as error:
        make(url)
    assert error.value.code == "experience_unavailable"
    assert SECRET not in error.value.message + error.value.hint


@pytest.mark.parametrize(
    "url", ["postgresql://[", "mysql://h/db", f"nonsense {SECRET}", "", "postgresql+asyncpg://h/db"]
)
def test_a_url_that_cannot_be_used_is_refused(url):
    with raises_code("bad_experience_url", InvalidInput) as error:
        SqlExperience(url, "b").list_work()
    assert SECRET not in error.value.message + error.value.hint


def test_the_default_store_imports_no_library_of_servers():
    script = (
        "import sys\n"
        "from brain.experience.open_stores import BrainExperience\n"
        "opened = BrainExperience(sys.argv[1], 'b', None)\n"
        "opened.store\n"
        "print(sorted({'sqlalchemy', 'psycopg'} & set(sys.modules)))\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script, "/"], capture_output=True, text=True, check=True
    )
    assert said.stdout == "[]\n"
