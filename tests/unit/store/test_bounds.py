"""Sizes and numbers by which a store decides, each at its bound."""

import os
import random
import shutil
from types import SimpleNamespace

import pytest
from zstandard import ZstdCompressor

from brain import limits
from brain.digest import blob_id
from brain.errors import InvalidInput, Locked, StoreError
from brain.objects.snapshot import Jump, Snapshot, encode_snapshot
from brain.store import redactions
from brain.store.blobs import ChunkList, decode_chunk_list
from brain.store.checks import check_stray_rows
from brain.store.large_blobs import pack_blobs
from brain.store.writer import Store, create_store, writer_lock
from tests.support.old_stores import encode_old_chunk_list, pack_with_dictionary
from tests.support.refusals import raises_code

ID = blob_id(b"id")


@pytest.fixture
def store(tmp_path):
    made = create_store(tmp_path / "s")
    yield made
    made.close()


def codecs(store: Store) -> list[int]:
    return [codec for (codec,) in store._db.fetch_all("SELECT DISTINCT codec FROM blobs")]


@pytest.mark.parametrize(("size", "codec"), [((256 << 10) - 1, 0), (256 << 10, 2)])
def test_a_batch_of_256_kib_is_compressed(store, size, codec):
    parts = [bytes([number]) * 65_536 for number in range(3)]
    parts.append(b"x" * (size - 3 * 65_536))
    with store.transaction() as tx:
        tx.put_blobs([(blob_id(part), part) for part in parts])
    assert codecs(store) == [codec]
    assert [store.read_blob(blob_id(part)) for part in parts] == parts


@pytest.mark.parametrize(("size", "rows"), [((256 << 10) - 1, 1), (256 << 10, 3)])
def test_a_blob_of_256_kib_is_cut_into_chunks(store, size, rows):
    content = random.Random(1).randbytes(size)
    with store.transaction() as tx:
        id = tx.put_blob(content)
        tx.put_blobs([(id, content)])
    assert (store.count_objects() >= rows) and (store.count_objects() == 1) == (rows == 1)
    assert store.read_blob(id) == content and store.blob_size(id) == size


def test_a_blob_is_read_as_a_whole_up_to_the_limit(store, monkeypatch):
    content = random.Random(1).randbytes(300_000)
    with store.transaction() as tx:
        id = tx.put_blob(content)
    monkeypatch.setattr(limits, "MAX_IN_MEMORY_BYTES", 300_000)
    assert store.read_blob(id) == content
    monkeypatch.setattr(limits, "MAX_IN_MEMORY_BYTES", 299_999)
    with raises_code("too_large", InvalidInput):
        store.read_blob(id)
    assert b"".join(store.stream_blob(id)) == content


def test_a_larger_file_than_a_brain_takes_is_refused(store):
    for size, fits in ((limits.MAX_FILE_BYTES, True), (limits.MAX_FILE_BYTES + 1, False)):
        pieces = [(ID, size - 1_000_000), (ID, 1_000_000)]
        with store.transaction() as tx:
            if fits:
                tx._put_chunk_list(ID, pieces)
                continue
            with raises_code("too_large", InvalidInput):
                tx._put_chunk_list(ID, pieces)


def packed_codecs(contents: list[bytes]) -> list[int]:
    rows = {id: codec for id, codec, _ in pack_blobs([(blob_id(one), one) for one in contents])}
    return [rows[blob_id(one)] for one in contents]


def test_what_shrinks_by_a_sixteenth_is_compressed():
    chance = random.Random(1)
    noise = chance.randbytes(3200)
    contents = [
        noise[: length - zeros] + bytes(zeros)
        for length in range(1600, 3200, 16)
        for zeros in range(length // 16, length // 16 + 30)
    ]
    shares = [(len(ZstdCompressor(level=3).compress(one)), len(one)) for one in contents]
    assert {0, 1} <= {length // 16 * 15 - size for size, length in shares}
    expected = [2 if 16 * size < 15 * length else 0 for size, length in shares]
    assert packed_codecs(contents) == expected
    assert packed_codecs([b"a" * 63, b"a" * 64]) == [0, 2] and pack_blobs([]) == []


@pytest.mark.parametrize("depth", [0, 1, 32])
def test_prefixes_nest_32_deep(depth):
    chunk_list = ChunkList(depth, ID if depth else b"", 9 if depth else 0, [(ID, 7)])
    assert decode_chunk_list(ID, encode_old_chunk_list(ID, chunk_list)) == chunk_list
    with pytest.raises(ValueError, match="a wrong length or depth"):
        decode_chunk_list(ID, encode_old_chunk_list(ID, ChunkList(33, ID, 9, [(ID, 7)])))


@pytest.mark.parametrize(("more", "fits"), [(0, False), (1, True)])
def test_a_store_is_rewritten_where_there_is_room_for_two(store, tmp_path, more, fits, monkeypatch):
    free = 2 * os.stat(tmp_path / "s/store.db").st_size + more
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    assert store.compact() is fits


@pytest.mark.parametrize("code", ["no_space", "io_error"])
def test_a_full_disk_leaves_old_pages_and_any_other_error_is_raised(store, code, monkeypatch):
    execute = store._db.execute

    def fail(sql: str) -> None:
        if sql == "VACUUM":
            raise StoreError("it fails", code=code)
        execute(sql)

    monkeypatch.setattr(store._db, "execute", fail)
    if code == "no_space":
        assert store.compact() is False
    else:
        with pytest.raises(StoreError, match="it fails"):
            store.compact()


def test_after_a_redaction_no_dictionary_holds_pieces_of_blobs(store):
    chance = random.Random(2)
    words = [chance.randbytes(9).hex().encode() for _ in range(80)]
    contents = [b" ".join(chance.choices(words, k=40)) for _ in range(300)]
    ids = [blob_id(one) for one in contents]
    with store.transaction() as tx:
        tx.put_blobs(list(zip(ids, contents, strict=True)))
    pack_with_dictionary(store, contents)
    db = store._db
    assert codecs(store) == [3] and store.read_blob(ids[0]) == contents[0]
    with store.transaction() as tx:
        tx.redact_blob(ids.pop(), ID, lambda free: set())
        contents.pop()
    assert codecs(store) == [2]
    rows = db.fetch_all("SELECT number, length(data) > 0 FROM dictionaries ORDER BY number")
    assert rows == [(-1, 0), (1, 0)]
    assert dict(store.read_small_blobs(ids)) == dict(zip(ids, contents, strict=True))
    assert check_stray_rows(store) == []


def test_a_redaction_is_described_by_its_snapshot():
    done = ("redact", "a", ID, "it leaked")
    author = "a" * 81
    made = Snapshot(
        1, ID, ID, (ID,), 1, Jump(1, ID), author, 1_700_000_000_999, done, "", b""
    )  # fmt: skip
    short = ID.hex()[:12]
    text = f"was redacted by {'a' * 80}… on 2023-11-14, snapshot {short}: it leaked"
    error = redactions.redacted_content_error(ID, ID, encode_snapshot(made))
    assert error.message == f"the content of blob {ID.hex()} {text}"
    other = made._replace(author="", operation=("snapshot",))
    conflict = redactions.redacted_conflict_error(ID, ID, encode_snapshot(other))
    assert conflict.message.endswith(
        f"was redacted on 2023-11-14, snapshot {short}, and is not stored again"
    )
    bare = redactions.redacted_content_error(ID, ID, None)
    assert bare.message.endswith(f" was redacted by snapshot {short}")
    assert {error.code, conflict.code, bare.code} == {"redacted"}


def test_the_lock_tells_whether_its_last_holder_died(tmp_path):
    for content, died in (("", False), ("1", True)):
        (tmp_path / "lock").write_text(content)
        with writer_lock(tmp_path, 0) as found:
            assert found is died
    for content, by in (("7\n8\n", " by pid 7"), ("x\n", ""), ("", "")):
        with writer_lock(tmp_path, 0):
            (tmp_path / "lock").write_text(content)
            with pytest.raises(Locked) as error, writer_lock(tmp_path, 0, "the log"):
                pass
        assert error.value.message == f"the log is locked{by}"
    for mode, after in ((0o000, 0o600), (0o400, 0o600), (0o666, 0o666)):
        (tmp_path / "lock").chmod(mode)
        with writer_lock(tmp_path, 0):
            assert (tmp_path / "lock").stat().st_mode & 0o777 == after
