"""Large loads: their errors, and the way out of and back to the log."""

import pytest

from brain.digest import blob_id
from brain.errors import BrainError
from brain.store.reader import open_store_reader
from brain.store.rows import ObjectKind
from brain.store.writer import BULK_LOAD_BYTES, Store, create_store
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


def journal(store: Store) -> tuple[object, object]:
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


def test_an_error_reaches_the_caller_and_undoes_all(store):
    with raises_code("bad_store", BrainError), store.transaction(BULK_LOAD_BYTES) as tx:
        store._db.execute("DROP TABLE signatures")
        tx.put_signature(bytes(32), bytes(32), b"signature")
        tx.put_object(ObjectKind.NODE, bytes(32), b"n")
    assert store.list_signatures(bytes(32)) == []
    assert list(store.stream_object_ids()) == []
    assert journal(store) == ("wal", 2)


def test_a_long_batch_of_a_small_transaction_is_packed_too(store):
    with store.transaction() as tx:
        tx.put_blobs(pairs(SKILLS[:10]))
        tx.put_blobs(pairs([skill * 40 for skill in SKILLS[:100]]))
    rows: dict[int, int] = dict(
        store._db.fetch_all("SELECT codec, count(*) FROM blobs GROUP BY codec")
    )
    assert rows == {0: 10, 2: 100}
