"""Rows planted under ids of content that is stored later: every way to store it replaces them."""

import io
import random
from collections.abc import Callable

import pytest
from blake3 import blake3
from zstandard import ZstdCompressor

from brain.digest import blob_id
from brain.errors import Conflict
from brain.store import rows as checksums
from brain.store.blobs import CODEC_CHUNK_LIST, CODEC_RAW, CODEC_ZSTD, ChunkList, encode_chunk_list
from brain.store.checks import check_blobs
from brain.store.large_blobs import HashingReader, cut_chunks
from brain.store.rows import LARGE_BLOB_BYTES, ObjectKind
from brain.store.writer import (
    BULK_LOAD_BYTES,
    MAX_SMALL_CHUNKS,
    MIN_COMPRESSED_BATCH_BYTES,
    Store,
    StoreTransaction,
    create_store,
)
from tests.support.old_stores import encode_old_chunk_list

SMALL = [b"skill %d: " % number + b"say hello, " * 9 for number in range(30)]
MANY = [b"skill %d: " % number + b"say hello, " * 99 for number in range(400)]
LARGE = random.Random(5).randbytes(LARGE_BLOB_BYTES).hex().encode()
OTHER = b"something else " * 20

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

PLANTED: dict[str, tuple[int, bytes]] = {
    "garbage": (CODEC_RAW, b"\x00garbage"),
    "nothing": (CODEC_RAW, b""),
    "other content": (CODEC_RAW, OTHER),
    "other content, compressed": (CODEC_ZSTD, ZstdCompressor().compress(OTHER)),
    "a broken frame": (CODEC_ZSTD, b"no frame"),
    "a frame of an unknown dictionary": (CODEC_ZSTD + 7, ZstdCompressor().compress(OTHER)),
    "a broken chunk list": (CODEC_CHUNK_LIST, b"no list"),
    "an unknown codec": (-1, OTHER),
    "a row too long for a small blob": (CODEC_RAW, bytes(2 << 20)),
}


def plant(store: Store, id: bytes, codec: int, data: bytes) -> None:
    sql = "INSERT OR REPLACE INTO blobs (id, codec, data) VALUES (?, ?, ?)"
    store._db.execute(sql, (id, codec, data))


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize("way", WAYS)
def test_content_replaces_a_row_planted_under_its_id(store, way, planted):
    put, contents = WAYS[way]
    for content in contents[::7]:
        plant(store, blob_id(content), *PLANTED[planted])
    put(store, contents)
    assert dict(store.read_small_blobs([blob_id(each) for each in contents])) == dict(
        pairs(contents)
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_valid_list_of_chunks_under_the_id_of_a_small_blob_is_replaced(store, way):
    put, contents = WAYS[way]
    with store.transaction() as tx:
        tx.put_blob(LARGE)
    pieces = store._fetch_chunk_list(blob_id(LARGE)).pieces
    id = blob_id(contents[0])
    plant(store, id, CODEC_CHUNK_LIST, encode_chunk_list(id, pieces))
    put(store, contents)
    assert store.read_blob(id) == contents[0]


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_stored_content_stay_as_they_are(store, way):
    put, contents = WAYS[way]
    put_in_transaction(store, contents[:20])
    rows = store._db.fetch_all("SELECT * FROM blobs ORDER BY number")
    put(store, contents)
    assert store._db.fetch_all("SELECT * FROM blobs ORDER BY number LIMIT 20") == rows
    put(store, contents)
    ((count,),) = store._db.fetch_all("SELECT count(*) FROM blobs")
    assert count == len(contents)


CHUNKS = list(cut_chunks(HashingReader(io.BytesIO(LARGE), len(LARGE), blake3()), len(LARGE)))


OTHER_LIST = [(blob_id(OTHER), len(LARGE))]


@pytest.mark.parametrize("expected", [0, BULK_LOAD_BYTES])
@pytest.mark.parametrize("planted", [*PLANTED, "a list of other chunks", "a list with a prefix"])
def test_a_large_blob_replaces_rows_planted_under_its_id_and_under_its_chunks(
    store, planted, expected
):
    id = blob_id(LARGE)
    if planted == "a list of other chunks":
        plant(store, blob_id(OTHER), CODEC_RAW, OTHER)
        plant(store, id, CODEC_CHUNK_LIST, encode_chunk_list(id, OTHER_LIST))
    elif planted == "a list with a prefix":
        with store.transaction() as tx:
            prefix = tx.put_blob(LARGE[::-1])
        loop = ChunkList(1, prefix, len(LARGE), [])
        plant(store, id, CODEC_CHUNK_LIST, encode_old_chunk_list(id, loop))
    else:
        for each in (id, *map(blob_id, CHUNKS)):
            plant(store, each, *PLANTED[planted])
    with store.transaction(expected) as tx:
        assert tx.put_blob(LARGE) == id
    assert store.read_blob(id) == LARGE
    with check_blobs(store, lambda id, content: False) as results:
        assert not [fault for result in results for fault in result.faults if fault[0] == id]


def test_a_damaged_chunk_is_replaced_when_its_blob_is_stored_again(store):
    with store.transaction() as tx:
        id = tx.put_blob(LARGE)
    plant(store, blob_id(CHUNKS[0]), CODEC_RAW, OTHER)
    with store.transaction() as tx:
        tx.put_blob(LARGE)
    assert store.read_blob(id) == LARGE


def test_content_that_a_file_grew_to_replaces_a_row_planted_under_its_id(store):
    grown = LARGE + b"one more line\n"
    with store.transaction() as tx:
        base = tx.put_blob(LARGE)
    plant(store, blob_id(grown), CODEC_CHUNK_LIST, encode_chunk_list(blob_id(grown), OTHER_LIST))
    with store.transaction() as tx:
        assert tx.put_blob_stream(io.BytesIO(grown), len(grown), base) == blob_id(grown)
    assert store.read_blob(blob_id(grown)) == grown


@pytest.mark.parametrize("damaged", ["the list of its base", "a chunk that is joined again"])
def test_a_file_that_grew_from_a_damaged_blob_is_stored_whole(store, damaged):
    content, base = LARGE, b""
    for _ in range(MAX_SMALL_CHUNKS + 1):
        content += b"one more line\n"
        with store.transaction() as tx:
            base = tx.put_blob_stream(io.BytesIO(content), len(content), base or None)
    row = base if damaged == "the list of its base" else blob_id(b"one more line\n")
    plant(store, row, CODEC_CHUNK_LIST, b"damaged")
    grown = content + b"the last line\n"
    with store.transaction() as tx:
        tx.put_blob_stream(io.BytesIO(grown), len(grown), base)
    assert store.read_blob(blob_id(grown)) == grown


def test_an_intact_list_of_other_chunks_stays(store):
    """Other blobs may have it as their prefix."""
    grown = LARGE + b"one more line\n" * 2000
    with store.transaction() as tx:
        tx.put_blob_stream(io.BytesIO(grown), len(grown), tx.put_blob(LARGE))
    before = store._fetch_chunk_list(blob_id(grown))
    with store.transaction() as tx:
        tx.put_blob(grown)
    assert store._fetch_chunk_list(blob_id(grown)) == before
    assert store.read_blob(blob_id(grown)) == grown


@pytest.mark.parametrize("kind", [ObjectKind.NODE, ObjectKind.BUNDLE, ObjectKind.SNAPSHOT])
@pytest.mark.parametrize("field", ["data", "kind", "checksum"])
def test_an_object_replaces_a_row_planted_under_its_id(store, kind, field):
    id, data = bytes(32), b"an object"
    with store.transaction() as tx:
        tx.put_object(kind, id, data)
    value = 9 if field == "kind" else b"planted"
    store._db.execute(f"UPDATE objects SET {field} = ?", (value,))
    with store.transaction() as tx:
        tx.put_object(kind, id, data)
    assert store.read_object(kind, id) == data


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
