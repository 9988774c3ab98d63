"""Large loads: the worker, its errors, and the way out of and back to the log."""

import threading
from typing import Any

import pytest

from brain.digest import blob_id
from brain.errors import BrainError
from brain.store import large_blobs
from brain.store.reader import open_store_reader
from brain.store.rows import ObjectKind
from brain.store.writer import BULK_LOAD_BYTES, SqliteStore, create_store
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.refusals import raises_code

SKILLS = [
    b"---\nname: skill-%d\ndescription: Say hello in %d ways\n---\n# Steps\n\n- say %d\n"
    % (number, number % 7, number * 31 % 97)
    for number in range(3000)
]


def pairs(contents: list[bytes]) -> list[tuple[bytes, bytes]]:
    return [(blob_id(content), content) for content in contents]


@pytest.fixture
def store(tmp_path):
    made = create_store(tmp_path / ".brain")
    yield made
    made.close()


def journal(store: SqliteStore) -> tuple[object, object]:
    ((mode,),) = store._db.fetch_all("PRAGMA journal_mode")
    ((sync,),) = store._db.fetch_all("PRAGMA synchronous")
    return mode, sync


def test_a_first_load_leaves_the_log_and_comes_back_to_it(store):
    with store.transaction(BULK_LOAD_BYTES) as tx:
        tx.put_blobs(pairs(SKILLS))
        assert tx.has_object(blob_id(SKILLS[0]))
        assert journal(store) == ("delete", 3)
    assert journal(store) == ("wal", 2)
    assert not store.find_missing(map(blob_id, SKILLS))


def test_a_first_load_that_fails_comes_back_to_the_log(store):
    with pytest.raises(KeyboardInterrupt), store.transaction(BULK_LOAD_BYTES) as tx:
        tx.put_blobs(pairs(SKILLS))
        raise KeyboardInterrupt
    assert journal(store) == ("wal", 2)
    assert list(store.stream_object_ids()) == []


def test_a_load_into_a_full_store_stays_in_the_log(store):
    with store.transaction(BULK_LOAD_BYTES) as tx:
        tx.put_blobs(pairs(SKILLS))
    with store.transaction(BULK_LOAD_BYTES) as tx:
        tx.put_blobs(pairs([b"new %d" % number for number in range(50)]))
        assert journal(store) == ("wal", 2)


def test_a_store_that_others_have_open_stays_in_the_log(store, tmp_path):
    reader = open_store_reader(tmp_path / ".brain")
    assert reader.list_refs() == {}
    with store.transaction(BULK_LOAD_BYTES) as tx:
        tx.put_blobs(pairs(SKILLS))
        assert journal(store) == ("wal", 2)
        assert reader.list_refs() == {}
    reader.close()


def test_a_dictionary_is_trained_once_and_makes_skills_smaller(store):
    for part in (SKILLS[:1500], SKILLS[1500:]):
        with store.transaction(BULK_LOAD_BYTES) as tx:
            tx.put_blobs(pairs(part))
    assert store._db.fetch_all("SELECT number FROM dictionaries ORDER BY number") == [(-1,), (1,)]
    ((codecs, size),) = store._db.fetch_all(
        "SELECT count(DISTINCT codec), sum(length(data)) FROM blobs"
    )
    assert codecs == 1
    assert size < sum(map(len, SKILLS)) / 2
    assert dict(store.read_small_blobs([blob_id(s) for s in SKILLS])) == dict(pairs(SKILLS))


def test_the_dictionary_waits_for_a_batch_that_serves(store):
    with store.transaction(BULK_LOAD_BYTES) as tx:
        tx.put_blobs(pairs([b"one line\n" * 30_000]))
        tx.put_blobs(pairs(SKILLS[:50]))
        tx.put_blobs(pairs(SKILLS[50:]))
    rows: dict[int, int] = dict(
        store._db.fetch_all("SELECT codec, count(*) FROM blobs GROUP BY codec")
    )
    assert rows[3] == len(SKILLS) - 50


def test_what_is_learned_while_a_batch_waits_for_the_worker_is_not_used_for_it(store, monkeypatch):
    late = threading.Event()
    pack = large_blobs._compress_batch

    def waiting(*arguments: Any) -> Any:
        assert late.wait(TIMEOUT_SECONDS)
        return pack(*arguments)

    with store.transaction(BULK_LOAD_BYTES) as tx:
        monkeypatch.setattr(large_blobs, "_compress_batch", waiting)
        tx.put_blobs(pairs([b"one line\n" * 5000]))
        tx.put_blobs(pairs(SKILLS[:50]))
        tx.put_blobs(pairs(SKILLS[50:]))
        late.set()
    rows: dict[int, int] = dict(
        store._db.fetch_all("SELECT codec, count(*) FROM blobs GROUP BY codec")
    )
    assert rows == {0: 50, 2: 1, 3: len(SKILLS) - 50}


def test_a_batch_with_nothing_in_common_needs_no_dictionary(store):
    contents = [b"%d" % number for number in range(1000)]
    with store.transaction(BULK_LOAD_BYTES) as tx:
        tx.put_blobs(pairs(contents))
    assert store._db.fetch_all("SELECT number FROM dictionaries") == []
    assert len(list(store.read_small_blobs([blob_id(content) for content in contents]))) == 1000


def test_an_error_of_the_worker_reaches_the_caller_and_undoes_all(store):
    with raises_code("bad_store", BrainError), store.transaction(BULK_LOAD_BYTES) as tx:
        store._connection.execute("DROP TABLE signatures")
        tx.put_signature(bytes(32), bytes(32), b"signature")
        tx.put_object(ObjectKind.NODE, bytes(32), b"n")
    assert store.list_signatures(bytes(32)) == []
    assert list(store.stream_object_ids()) == []
    assert journal(store) == ("wal", 2)


def test_an_error_of_the_worker_at_the_very_end_is_not_lost(store):
    with pytest.raises(BrainError), store.transaction(BULK_LOAD_BYTES) as tx:
        store._connection.execute("DROP TABLE signatures")
        tx.put_signature(bytes(32), bytes(32), b"signature")
    assert store.list_signatures(bytes(32)) == []


def test_no_thread_outlives_its_load(store):
    before = threading.active_count()
    with store.transaction(BULK_LOAD_BYTES) as tx:
        tx.put_blobs(pairs(SKILLS))
    with pytest.raises(ValueError, match="stop"), store.transaction(BULK_LOAD_BYTES) as tx:
        tx.put_blobs(pairs(SKILLS))
        raise ValueError("stop")
    assert threading.active_count() == before


def test_a_long_batch_of_a_small_transaction_is_packed_too(store):
    with store.transaction() as tx:
        tx.put_blobs(pairs(SKILLS[:10]))
        tx.put_blobs(pairs([skill * 40 for skill in SKILLS[:100]]))
    rows: dict[int, int] = dict(
        store._db.fetch_all("SELECT codec, count(*) FROM blobs GROUP BY codec")
    )
    assert rows == {0: 10, 2: 100}


def test_blobs_packed_by_others_share_the_dictionary_of_the_samples(store):
    with store.transaction(BULK_LOAD_BYTES) as tx:
        packing = tx.get_packing(SKILLS[:300])
        assert packing is not None
        packing.insert(packing.pack(pairs(SKILLS[:2000])))
        tx.put_blobs(pairs(SKILLS[1000:]))
    assert store._db.fetch_all("SELECT DISTINCT codec FROM blobs") == [(3,)]
    assert dict(store.read_small_blobs([blob_id(s) for s in SKILLS])) == dict(pairs(SKILLS))


def test_a_small_load_is_not_packed_by_others(store):
    with store.transaction() as tx:
        assert tx.get_packing(SKILLS[:300]) is None
