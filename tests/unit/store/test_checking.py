"""All blobs are read again with the same verdicts, however many processes share the work."""

import os
import random
import signal
from pathlib import Path

import pytest

from brain.digest import blob_id
from brain.errors import BrainError, StoreError
from brain.store import store_database
from brain.store.checks import MIN_RANGES_TO_FORK, MIN_ROWS_PER_RANGE, check_small_blobs
from brain.store.connection import Connection
from brain.store.rows import LARGE_BLOB_BYTES
from brain.store.writer import create_store
from tests.support.refusals import raises_code

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
def db(folder):
    made = store_database.open_store_database(folder)
    yield made
    made.close()


def nothing(blob: bytes, content: bytes) -> bool:
    return False


def checked(db: Connection, folder: Path, processes: int) -> tuple[list[object], list[bytes]]:
    large: list[bytes] = []
    with check_small_blobs(
        db, lambda: store_database.open_store_database_readonly(folder), large, processes, nothing
    ) as parts:
        return list(parts), large


def test_one_process_and_several_say_the_same_of_a_sound_store(db, folder):
    alone = checked(db, folder, 1)
    assert alone[1] == [blob_id(BIG)]
    assert len(alone[0]) >= MIN_RANGES_TO_FORK
    assert checked(db, folder, 2) == checked(db, folder, 4) == alone


@pytest.mark.parametrize("seed", range(8))
def test_one_process_and_several_say_the_same_of_a_damaged_store(db, folder, seed):
    rng = random.Random(seed)
    for sql in rng.choices(DAMAGES, k=rng.randint(1, 12)):
        where = rng.randint(1, len(SKILLS))
        how = rng.choice((f"number = {where}", f"number BETWEEN {where} AND {where + 90}"))
        db.execute(sql.replace("UPDATE", "UPDATE OR IGNORE") + f" WHERE {how}")
    alone = checked(db, folder, 1)
    assert checked(db, folder, 2) == alone
    assert checked(db, folder, 3) == alone


def test_what_is_looked_for_is_named_whoever_reads_it(db, folder):
    wanted = {blob_id(skill) for skill in SKILLS[::7]}
    for processes in (1, 3):
        large: list[bytes] = []
        with check_small_blobs(
            db,
            lambda: store_database.open_store_database_readonly(folder),
            large,
            processes,
            lambda blob, content: blob in wanted and blob_id(content) == blob,
        ) as parts:
            assert {blob for part in parts for blob in part.selected} == wanted


def test_few_blobs_are_not_worth_a_child(tmp_path):
    store = create_store(tmp_path / "few")
    with store.transaction() as tx:
        for number in range(MIN_ROWS_PER_RANGE * (MIN_RANGES_TO_FORK - 1)):
            tx.put_blob(b"%d" % number)

    def never() -> Connection:
        raise AssertionError("a child was made")

    with check_small_blobs(store._db, never, [], 4, nothing) as parts:
        assert sum(len(part.sizes) for part in parts) == MIN_ROWS_PER_RANGE * (
            MIN_RANGES_TO_FORK - 1
        )
    store.close()


def test_a_child_that_is_killed_is_an_error_and_never_a_pass(db):
    def killed() -> Connection:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    with (
        check_small_blobs(db, killed, [], 2, nothing) as parts,
        raises_code("worker_died", BrainError),
    ):
        list(parts)


def test_what_a_child_cannot_open_is_told_as_it_is(db):
    def locked_out() -> Connection:
        raise StoreError("the store cannot be opened", code="cannot_open")

    with (
        check_small_blobs(db, locked_out, [], 2, nothing) as parts,
        raises_code("cannot_open", StoreError),
    ):
        list(parts)
