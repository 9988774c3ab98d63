"""All blobs are read again with the same verdicts, however many processes share the work."""

import os
import random
import signal

import pytest

from brain.digest import blob_id
from brain.errors import StoreError
from brain.store.checks import MIN_RANGES_TO_FORK, MIN_ROWS_PER_RANGE, check_blobs
from brain.store.rows import LARGE_BLOB_BYTES
from brain.store.writer import Store, create_store, open_store

# What the children here do is safe whatever threads the tests before have left.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")

SKILLS = [b"skill %d\n" % number * (number % 60) for number in range(900)]
BIG = random.Random(3).randbytes(LARGE_BLOB_BYTES + 1)
DAMAGES = (
    *("UPDATE blobs SET data = x'28b52ffd'", "UPDATE blobs SET codec = 99"),
    *("UPDATE blobs SET data = CAST(data || x'00' AS BLOB)", "UPDATE blobs SET codec = 0"),
    *("UPDATE blobs SET id = CAST(x'07' || substr(id, 2) AS BLOB)", "UPDATE blobs SET codec = 1"),
    *("UPDATE blobs SET id = x''", "DELETE FROM blobs", "UPDATE blobs SET number = -number"),
)


@pytest.fixture
def folder(tmp_path):
    store = create_store(tmp_path / "s")
    with store.transaction(1 << 30) as tx:
        tx.put_blobs([(blob_id(content), content) for content in SKILLS])
    with store.transaction() as tx:
        tx.put_blob(BIG)
    store.close()
    return tmp_path / "s"


@pytest.fixture
def store(folder):
    made = open_store(folder)
    yield made
    made.close()


def nothing(blob: bytes, content: bytes) -> bool:
    return False


def checked(store: Store, processes: int) -> list[object]:
    with check_blobs(store, nothing, processes=processes) as parts:
        return list(parts)


def test_one_process_and_several_say_the_same_of_a_sound_store(store):
    alone = checked(store, 1)
    assert [sizes for sizes, _, _ in alone][-1] == [(blob_id(BIG), len(BIG))]
    assert len(alone) >= MIN_RANGES_TO_FORK
    assert checked(store, 2) == checked(store, 4) == alone


@pytest.mark.parametrize("seed", range(8))
def test_one_process_and_several_say_the_same_of_a_damaged_store(store, seed):
    rng = random.Random(seed)
    for sql in rng.choices(DAMAGES, k=rng.randint(1, 12)):
        where = rng.randint(1, len(SKILLS))
        how = rng.choice((f"number = {where}", f"number BETWEEN {where} AND {where + 90}"))
        store._db.execute(sql.replace("UPDATE", "UPDATE OR IGNORE") + f" WHERE {how}")
    alone = checked(store, 1)
    assert checked(store, 2) == alone
    assert checked(store, 3) == alone


def test_what_is_looked_for_is_named_whoever_reads_it(store):
    wanted = {blob_id(skill) for skill in SKILLS[::7]}
    for processes in (1, 3):
        with check_blobs(
            store,
            lambda blob, content: blob in wanted and blob_id(content) == blob,
            processes=processes,
        ) as parts:
            assert {blob for part in parts for blob in part.selected} == wanted


def test_few_blobs_are_not_worth_a_child(tmp_path, monkeypatch):
    store = create_store(tmp_path / "few")
    with store.transaction() as tx:
        for number in range(MIN_ROWS_PER_RANGE * (MIN_RANGES_TO_FORK - 1)):
            tx.put_blob(b"%d" % number)

    def never() -> Store:
        raise AssertionError("a child was made")

    monkeypatch.setattr(store, "reopen_for_fork", never)
    with check_blobs(store, nothing, processes=4) as parts:
        assert sum(len(part.sizes) for part in parts) == MIN_ROWS_PER_RANGE * (
            MIN_RANGES_TO_FORK - 1
        )
    store.close()


@pytest.mark.parametrize("child", ["killed", "locked out"])
def test_what_a_child_had_to_do_and_did_not_is_done_here(store, monkeypatch, child):
    alone = checked(store, 1)

    def fail() -> Store:
        if child == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise StoreError("the store cannot be opened", code="cannot_open")

    monkeypatch.setattr(store, "reopen_for_fork", fail)
    assert checked(store, 3) == alone
