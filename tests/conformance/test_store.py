"""What every store promises."""

import io
import random

import pytest

from brain.digest import blob_id, domain_hash
from brain.errors import BrainError, Conflict, FormatError, NotFound, StoreError
from brain.store import large_blobs
from brain.store.rows import LARGE_BLOB_BYTES, ObjectKind, PendingWrite
from brain.store.writer import Store, create_store
from tests.support.blob_checks import check_all_blobs

BIG = 32 << 20
"""A size to announce that makes the store on disk take its way for large loads."""

digest = domain_hash("a test object")


@pytest.fixture
def store(tmp_path):
    made: Store = create_store(tmp_path / ".brain")
    yield made
    made.close()


def put(store: Store, kind: int, data: bytes) -> bytes:
    id = digest(data)
    with store.transaction() as tx:
        tx.put_object(kind, id, data)
    return id


def code_of(error: pytest.ExceptionInfo[BrainError]) -> str:
    return error.value.code


def test_an_object_comes_back_as_it_was_put(store):
    id = put(store, ObjectKind.NODE, b"a node")
    assert store.read_object(ObjectKind.NODE, id) == b"a node"


def test_an_object_of_another_kind_is_refused(store):
    id = put(store, ObjectKind.NODE, b"a node")
    with pytest.raises(FormatError) as error:
        store.read_object(ObjectKind.SNAPSHOT, id)
    assert code_of(error) == "wrong_type"


def test_a_blob_is_not_taken_for_a_structured_object(store):
    with store.transaction() as tx:
        id = tx.put_blob(b"content")
    with pytest.raises(FormatError) as error:
        store.read_object(ObjectKind.NODE, id)
    assert code_of(error) == "wrong_type"


def test_what_is_absent_is_named_missing(store):
    gone = bytes(32)
    for ask in (
        lambda: store.read_object(ObjectKind.NODE, gone),
        lambda: store.read_blob(gone),
        lambda: store.blob_size(gone),
        lambda: list(store.stream_blob(gone)),
        lambda: list(store.read_small_blobs([gone])),
    ):
        with pytest.raises(NotFound) as error:
            ask()
        assert code_of(error) == "missing_object"


def test_putting_an_object_again_changes_nothing(store):
    put(store, ObjectKind.NODE, b"a node")
    put(store, ObjectKind.NODE, b"a node")
    assert list(store.stream_object_ids()) == [(ObjectKind.NODE, digest(b"a node"))]
    assert store.count_objects() == 1


def test_has_and_missing_know_blobs_and_structured_objects(store):
    node = put(store, ObjectKind.NODE, b"a node")
    with store.transaction() as tx:
        blob = tx.put_blob(b"content")
    assert store.has_object(node)
    assert store.has_object(blob)
    assert not store.has_object(bytes(32))
    assert store.find_missing([node, blob, bytes(32)]) == {bytes(32)}


def test_missing_takes_any_number_of_ids(store):
    contents = [b"content %d" % number for number in range(700)]
    with store.transaction() as tx:
        tx.put_blobs([(blob_id(content), content) for content in contents[:350]])
    ids = [blob_id(content) for content in contents]
    assert store.find_missing(ids) == set(ids[350:])
    assert store.find_missing([]) == set()


def test_structured_objects_stream_in_the_order_of_insertion(store):
    rows = [b"snapshot %d" % number for number in range(20)]
    for row in rows:
        put(store, ObjectKind.SNAPSHOT, row)
        put(store, ObjectKind.NODE, b"node of " + row)
    assert list(store.stream_objects(ObjectKind.SNAPSHOT)) == [(digest(row), row) for row in rows]


def test_parts_stream_all_that_is_structured_in_the_order_of_insertion(store):
    assert store.split_objects(3, 100) == []
    rows = [(1 + number % 3, digest(b"%d" % number), b"%d" % number) for number in range(20)]
    for kind, _, data in rows:
        put(store, kind, data)
    for size, most, count in ((3, 100, 7), (3, 2, 2), (20, 100, 1), (50, 1, 1)):
        parts = store.split_objects(size, most)
        assert len(parts) == count
        assert [row for part in parts for row in store.read_object_range(part)] == rows


def test_what_is_opened_aside_reads_the_same_store(store):
    id = put(store, ObjectKind.NODE, b"a node")
    with store.reopen_for_fork() as reader:
        assert reader.read_object(ObjectKind.NODE, id) == b"a node"
        assert list(reader.read_object_range(reader.split_objects(9, 9)[0])) == [
            (ObjectKind.NODE, id, b"a node")
        ]


def test_all_objects_are_listed_once(store):
    node = put(store, ObjectKind.NODE, b"a node")
    with store.transaction() as tx:
        blob = tx.put_blob(b"content")
    assert sorted(store.stream_object_ids()) == [(ObjectKind.BLOB, blob), (ObjectKind.NODE, node)]
    assert store.count_objects() == 2


def test_find_returns_the_snapshots_under_a_prefix_and_at_most_two(store):
    ids = [bytes([7, number]) + bytes(30) for number in range(5)]
    with store.transaction() as tx:
        for id in ids:
            tx.put_object(ObjectKind.SNAPSHOT, id, b"s")
        tx.put_object(ObjectKind.NODE, bytes([8]) + bytes(31), b"n")
    assert store.find_snapshots("0701") == [(ObjectKind.SNAPSHOT, ids[1])]
    assert store.find_snapshots(ids[3].hex()) == [(ObjectKind.SNAPSHOT, ids[3])]
    assert store.find_snapshots("070") == [
        (ObjectKind.SNAPSHOT, ids[0]),
        (ObjectKind.SNAPSHOT, ids[1]),
    ]
    assert store.find_snapshots("08") == []


@pytest.mark.parametrize("prefix", ["", "xyz", "0" * 65, "é", "AB", "%", "0701 "])
def test_find_takes_no_prefix_that_is_not_hex(store, prefix):
    put(store, ObjectKind.SNAPSHOT, b"s")
    assert store.find_snapshots(prefix) == []


@pytest.mark.parametrize(
    "size",
    [
        0,
        1,
        63,
        64,
        5000,
        LARGE_BLOB_BYTES - 1,
        LARGE_BLOB_BYTES,
        LARGE_BLOB_BYTES + 1,
        3 * LARGE_BLOB_BYTES,
    ],
)
def test_a_blob_of_any_size_comes_back_under_its_plain_hash(store, size):
    content = bytes(number * 131 % 251 for number in range(size))
    with store.transaction() as tx:
        id = tx.put_blob(content)
    assert id == blob_id(content)
    assert store.read_blob(id) == content
    assert store.blob_size(id) == size
    pieces = list(store.stream_blob(id))
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= LARGE_BLOB_BYTES
    assert check_all_blobs(store).faults == []


def test_reading_all_blobs_again_names_the_small_ones_that_are_picked_out(store):
    contents = [b"%d" % number * 9 for number in range(900)]
    with store.transaction() as tx:
        tx.put_blobs([(blob_id(content), content) for content in contents])
    seen = check_all_blobs(
        store, lambda id, content: content[:1] == b"7" and id == blob_id(content)
    )
    assert sorted(seen.selected) == sorted(blob_id(c) for c in contents if c[:1] == b"7")
    assert (len(seen.sizes), seen.faults) == (900, [])


@pytest.mark.parametrize("announced", [0, BIG])
def test_a_batch_of_blobs_comes_back_whole(store, announced):
    contents = [b"skill %d\n" % number * (number % 90) for number in range(900)]
    pairs = [(blob_id(content), content) for content in contents]
    with store.transaction(announced) as tx:
        tx.put_blobs(pairs[:500])
        tx.put_blobs(pairs[400:])
        assert dict(tx.read_small_blobs([id for id, _ in pairs])) == dict(pairs)
    assert dict(store.read_small_blobs([id for id, _ in pairs])) == dict(pairs)
    assert dict(check_all_blobs(store).sizes) == {id: len(content) for id, content in pairs}


def test_a_batch_may_hold_duplicates_and_blobs_that_turn_out_large(store):
    content = b"0123456789abcdef" * (LARGE_BLOB_BYTES // 8)
    pair = (blob_id(content), content)
    with store.transaction() as tx:
        tx.put_blobs([pair, (blob_id(b"x"), b"x"), pair, (blob_id(b"x"), b"x")])
    assert store.read_blob(pair[0]) == content
    assert list(store.read_small_blobs([pair[0], blob_id(b"x"), blob_id(b"x")])) == [
        (blob_id(b"x"), b"x")
    ]


def test_an_appended_file_comes_back_whole(store):
    content = bytes(number * 7 % 253 for number in range(LARGE_BLOB_BYTES + 10))
    with store.transaction() as tx:
        base = tx.put_blob_stream(io.BytesIO(content), len(content), None)
        grown = tx.put_blob_stream(io.BytesIO(content + b"more"), len(content) + 4, base)
    assert grown == blob_id(content + b"more")
    assert store.read_blob(grown) == content + b"more"
    assert store.read_blob(base) == content


@pytest.mark.parametrize("size", [10, LARGE_BLOB_BYTES + 10])
def test_a_source_that_ends_early_is_refused(store, size):
    with pytest.raises(Conflict) as error, store.transaction() as tx:
        tx.put_blob_stream(io.BytesIO(bytes(size - 1)), size, None)
    assert code_of(error) == "changed_while_reading"


def test_only_the_announced_bytes_of_a_source_are_kept(store):
    with store.transaction() as tx:
        id = tx.put_blob_stream(io.BytesIO(b"abcdef"), 3, None)
    assert store.read_blob(id) == b"abc"


def test_a_ref_moves_only_from_where_it_is(store):
    with store.transaction() as tx:
        tx.update_ref("main", None, b"1" * 32)
        tx.update_ref("main", b"1" * 32, b"2" * 32)
    with pytest.raises(Conflict) as error, store.transaction() as tx:
        tx.update_ref("main", b"1" * 32, b"3" * 32)
    assert code_of(error) == "stale_ref"
    with pytest.raises(Conflict), store.transaction() as tx:
        tx.update_ref("main", None, b"3" * 32)
    with pytest.raises(Conflict), store.transaction() as tx:
        tx.update_ref("other", b"1" * 32, b"3" * 32)
    assert store.list_refs() == {"main": b"2" * 32}


def test_a_ref_can_be_removed(store):
    with store.transaction() as tx:
        tx.update_ref("main", None, b"1" * 32)
    with store.transaction() as tx:
        tx.update_ref("main", b"1" * 32, None)
    assert store.read_ref("main") is None
    assert store.list_refs() == {}


def test_refs_are_sorted_and_apart_from_meta(store):
    with store.transaction() as tx:
        for name in ("b", "ä", "a"):
            tx.update_ref(name, None, b"1" * 32)
        tx.write_meta("a", b"not a ref")
        assert tx.read_meta("a") == b"not a ref"
    assert list(store.list_refs()) == ["a", "b", "ä"]
    assert store.read_meta("a") == b"not a ref"
    assert store.read_meta("b") is None


def test_operations_are_chained_and_come_newest_first(store):
    link = domain_hash("brain v1 operation")
    with store.transaction() as tx:
        first = tx.append_operation(b"one")
        assert tx.operation_count() == 1
    with store.transaction() as tx:
        second = tx.append_operation(b"two")
        third = tx.append_operation(b"three")
    assert first == link(b"one")
    assert second == link(first + b"two")
    assert third == link(second + b"three")
    rows = list(store.stream_operations())
    assert [(row.number, row.id, row.data) for row in rows] == [
        (3, third, b"three"),
        (2, second, b"two"),
        (1, first, b"one"),
    ]
    assert [store.read_operation(number) for number in (3, 2, 1)] == rows
    assert store.operation_count() == 3


def test_an_operation_that_never_was_is_not_found(store):
    assert list(store.stream_operations()) == []
    with store.transaction() as tx:
        tx.append_operation(b"one")
    for number in (-1, 0, 2):
        with pytest.raises(NotFound) as error:
            store.read_operation(number)
        assert code_of(error) == "missing_operation"


def test_pending_files_are_noted_and_replaced(store):
    a, b = PendingWrite("a", 0, b"1" * 32, b""), PendingWrite("b", 2, b"", b"before")
    with store.transaction() as tx:
        tx.add_pending_writes([b, a])
    assert store.list_pending_writes() == [a, b]
    newer = a._replace(blob=b"2" * 32)
    with store.transaction() as tx:
        tx.add_pending_writes(iter([newer]))
    assert store.list_pending_writes() == [newer, b]


def test_settling_forgets_all_pending_files_and_nothing_else(store):
    with store.transaction() as tx:
        tx.update_ref("main", None, b"1" * 32)
        tx.add_pending_writes([PendingWrite(str(number), 0, b"1" * 32, b"") for number in range(9)])
    store.clear_pending_writes()
    assert store.list_pending_writes() == []
    assert store.read_ref("main") == b"1" * 32


def test_a_snapshot_has_one_signature_for_each_key_and_the_last_one_stays(store):
    a, b = b"a" * 32, b"b" * 32
    with store.transaction() as tx:
        tx.put_signature(a, b"2" * 32, b"2" * 64)
        tx.put_signature(b, b"2" * 32, b"o" * 64)
        tx.put_signature(a, b"1" * 32, b"1" * 64)
        tx.put_signature(a, b"2" * 32, b"l" * 64)
        tx.put_signature(a, b"2" * 32, b"2" * 64)
        assert tx.list_signatures(b) == [(b"2" * 32, b"o" * 64)]
    assert store.list_signatures(a) == [(b"1" * 32, b"1" * 64), (b"2" * 32, b"2" * 64)]
    assert store.list_signatures(b"c" * 32) == []
    assert list(store.stream_signatures()) == [
        (a, b"1" * 32, b"1" * 64),
        (a, b"2" * 32, b"2" * 64),
        (b, b"2" * 32, b"o" * 64),
    ]


@pytest.mark.parametrize("announced", [0, BIG])
@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_transaction_that_fails_leaves_nothing(store, failure, announced):
    with store.transaction() as tx:
        tx.update_ref("main", None, b"1" * 32)
        tx.append_operation(b"one")
    before = list(store.stream_object_ids()), store.list_refs(), list(store.stream_operations())
    with pytest.raises(failure), store.transaction(announced) as tx:
        tx.put_object(ObjectKind.NODE, digest(b"n"), b"n")
        tx.put_blobs([(blob_id(b"c" * size), b"c" * size) for size in range(2000)])
        tx.put_blob_stream(io.BytesIO(bytes(LARGE_BLOB_BYTES)), LARGE_BLOB_BYTES, None)
        tx.update_ref("main", b"1" * 32, b"2" * 32)
        tx.write_meta("key", b"value")
        tx.append_operation(b"two")
        tx.put_signature(bytes(32), bytes(32), b"s" * 64)
        tx.add_pending_writes([PendingWrite("a", 0, b"", b"")])
        raise failure
    assert (
        list(store.stream_object_ids()),
        store.list_refs(),
        list(store.stream_operations()),
    ) == before
    assert store.read_meta("key") is None
    assert list(store.stream_signatures()) == []
    assert store.list_pending_writes() == []
    with store.transaction() as tx:
        tx.update_ref("main", b"1" * 32, b"3" * 32)
    assert store.read_ref("main") == b"3" * 32


@pytest.mark.parametrize("announced", [0, BIG])
def test_a_transaction_sees_its_own_writes(store, announced):
    with store.transaction(announced) as tx:
        blob = tx.put_blob(b"content")
        tx.put_object(ObjectKind.BUNDLE, digest(b"b"), b"b")
        tx.update_ref("main", None, digest(b"b"))
        assert tx.read_blob(blob) == b"content"
        assert tx.read_object(ObjectKind.BUNDLE, digest(b"b")) == b"b"
        assert tx.read_ref("main") == digest(b"b")
        assert tx.has_object(blob)


def test_a_transaction_inside_another_is_refused(store):
    with store.transaction() as tx:
        with pytest.raises(StoreError) as error, store.transaction():
            pass
        assert code_of(error) == "transaction_open"
        tx.update_ref("main", None, b"1" * 32)
    assert store.read_ref("main") == b"1" * 32


def test_a_new_store_is_empty_and_sound(store):
    assert list(store.stream_object_ids()) == []
    assert store.list_refs() == {}
    assert store.operation_count() == 0
    assert store.list_pending_writes() == []
    assert store.check_integrity() == []
    assert check_all_blobs(store) == ([], [], [])
    assert store.find_snapshots("00") == []


def test_closing_twice_does_no_harm(store):
    store.close()
    store.close()


def test_each_byte_of_an_append_is_read_once(store, monkeypatch):
    monkeypatch.setattr(large_blobs, "READ_WINDOW_BYTES", 1000)
    content = random.Random(4).randbytes(LARGE_BLOB_BYTES + 5)
    read = []

    class Counted(io.BytesIO):
        def readinto(self, buffer):
            read.append(super().readinto(buffer))
            return read[-1]

    with store.transaction() as tx:
        base = tx.put_blob(content)
        grown = tx.put_blob_stream(Counted(content + b"more"), len(content) + 4, base)
    assert store.read_blob(grown) == content + b"more"
    assert sum(read) == len(content) + 4
