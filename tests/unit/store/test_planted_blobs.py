"""Rows planted under ids of content that is stored later: every way to store it replaces them."""

from collections.abc import Callable

import pytest

from brain.digest import blob_id
from brain.errors import Conflict
from brain.store import rows as checksums
from brain.store.blobs import CODEC_RAW
from brain.store.rows import ObjectKind
from brain.store.writer import (
    BULK_LOAD_BYTES,
    MIN_COMPRESSED_BATCH_BYTES,
    Store,
    StoreTransaction,
    create_store,
)

SMALL = [b"skill %d: " % number + b"say hello, " * 9 for number in range(30)]
MANY = [b"skill %d: " % number + b"say hello, " * 99 for number in range(400)]

Put = Callable[[Store, list[bytes]], None]


def pairs(contents: list[bytes]) -> list[tuple[bytes, bytes]]:
    return [(blob_id(content), content) for content in contents]


@pytest.fixture
def store(tmp_path):
    made = create_store(tmp_path / ".brain")
    yield made
    made.close()


def put_in_transaction(store: Store, contents: list[bytes]) -> None:
    with store.transaction() as tx:
        tx.put_blobs(pairs(contents))


def put_in_bulk(store: Store, contents: list[bytes]) -> None:
    with store.transaction(BULK_LOAD_BYTES) as tx:
        tx.put_blobs(pairs(contents))


WAYS: dict[str, tuple[Put, list[bytes]]] = {
    "a small batch": (put_in_transaction, SMALL),
    "a compressed batch": (put_in_transaction, MANY),
    "a bulk load": (put_in_bulk, MANY),
    "a bulk load of few": (put_in_bulk, SMALL),
}


def plant(store: Store, id: bytes, codec: int, data: bytes) -> None:
    sql = "INSERT OR REPLACE INTO blobs (id, codec, data) VALUES (?, ?, ?)"
    store._db.execute(sql, (id, codec, data))


@pytest.mark.parametrize("table", ["objects", "blobs"])
def test_a_row_in_the_wrong_table_hides_nothing(store, table):
    id = blob_id(SMALL[0])
    if table == "objects":
        sql = "INSERT INTO objects (id, kind, data, checksum) VALUES (?, 1, X'', X'')"
        store._db.execute(sql, (id,))
        put_in_bulk(store, SMALL)
        assert store.read_blob(id) == SMALL[0]
    else:
        plant(store, id, CODEC_RAW, SMALL[0])
        with store.transaction() as tx:
            tx.put_object(ObjectKind.NODE, id, b"node")
        assert store.read_object(ObjectKind.NODE, id) == b"node"


@pytest.mark.parametrize("number", [1, 5, 2**62, 2**63 - 1])
@pytest.mark.parametrize("checksum", ["valid", "wrong"])
def test_a_planted_dictionary_stops_no_load(store, number, checksum):
    data = b"no dictionary"
    fits = checksums.row_checksum(b"%d" % number, data) if checksum == "valid" else b"wrong"
    store._db.execute_many(
        "INSERT INTO dictionaries (number, data, checksum) VALUES (?, ?, ?)",
        [(number, data, fits), (-number, data, fits)],
    )
    assert sum(map(len, MANY)) >= MIN_COMPRESSED_BATCH_BYTES
    put_in_bulk(store, MANY)
    assert dict(store.read_small_blobs([blob_id(each) for each in MANY])) == dict(pairs(MANY))


@pytest.mark.parametrize("way", WAYS)
def test_redacted_content_is_refused_though_somebody_planted_it(store, way, monkeypatch):
    put, contents = WAYS[way]
    plant(store, blob_id(contents[3]), CODEC_RAW, contents[3])

    def refuse(self: StoreTransaction, blobs: list[bytes]) -> None:
        if blob_id(contents[3]) in blobs:
            raise Conflict("redacted", code="redacted")

    monkeypatch.setattr(StoreTransaction, "_refuse_redacted", refuse)
    with pytest.raises(Conflict):
        put(store, contents)
