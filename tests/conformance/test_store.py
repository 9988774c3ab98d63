"""What every store promises, asked of the one on disk and of its twin in memory alike."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from brain.digest import blob_id, domain
from brain.errors import BrainError, Conflict, FormatError, NotFound, StoreError
from brain.store.memory import MemoryStore
from brain.store.opening import create_store
from brain.store.protocol import LARGE, Kind, Pending, Store
from tests.verdicts import verdicts

BIG = 32 << 20
"""A size to announce that makes the store on disk take its way for large loads."""

digest = domain("a test object")


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else create_store(tmp_path / ".brain")
    yield made
    made.close()


def put(store: Store, kind: int, data: bytes) -> bytes:
    id = digest(data)
    with store.transaction() as tx:
        tx.put(kind, id, data)
    return id


def code_of(error: pytest.ExceptionInfo[BrainError]) -> str:
    return error.value.code


def test_an_object_comes_back_as_it_was_put(store: Store) -> None:
    id = put(store, Kind.NODE, b"a node")
    assert store.get(Kind.NODE, id) == b"a node"


def test_an_object_of_another_kind_is_refused(store: Store) -> None:
    id = put(store, Kind.NODE, b"a node")
    with pytest.raises(FormatError) as error:
        store.get(Kind.SNAPSHOT, id)
    assert code_of(error) == "wrong_type"


def test_a_blob_is_not_taken_for_a_structured_object(store: Store) -> None:
    with store.transaction() as tx:
        id = tx.put_blob(b"content")
    with pytest.raises(FormatError) as error:
        store.get(Kind.NODE, id)
    assert code_of(error) == "wrong_type"


def test_what_is_absent_is_named_missing(store: Store) -> None:
    gone = bytes(32)
    for ask in (
        lambda: store.get(Kind.NODE, gone),
        lambda: store.read_blob(gone),
        lambda: store.blob_size(gone),
        lambda: list(store.stream_blob(gone)),
        lambda: list(store.read_blobs([gone])),
    ):
        with pytest.raises(NotFound) as error:
            ask()
        assert code_of(error) == "missing_object"


def test_putting_an_object_again_changes_nothing(store: Store) -> None:
    put(store, Kind.NODE, b"a node")
    put(store, Kind.NODE, b"a node")
    assert list(store.objects()) == [(Kind.NODE, digest(b"a node"))]
    assert store.count_objects() == 1


def test_has_and_missing_know_blobs_and_structured_objects(store: Store) -> None:
    node = put(store, Kind.NODE, b"a node")
    with store.transaction() as tx:
        blob = tx.put_blob(b"content")
    assert store.has(node)
    assert store.has(blob)
    assert not store.has(bytes(32))
    assert store.missing([node, blob, bytes(32)]) == {bytes(32)}


def test_missing_takes_any_number_of_ids(store: Store) -> None:
    contents = [b"content %d" % number for number in range(700)]
    with store.transaction() as tx:
        tx.put_blobs([(blob_id(content), content) for content in contents[:350]])
    ids = [blob_id(content) for content in contents]
    assert store.missing(ids) == set(ids[350:])
    assert store.missing([]) == set()


def test_structured_objects_stream_in_the_order_of_insertion(store: Store) -> None:
    rows = [b"snapshot %d" % number for number in range(20)]
    for row in rows:
        put(store, Kind.SNAPSHOT, row)
        put(store, Kind.NODE, b"node of " + row)
    assert list(store.structured(Kind.SNAPSHOT)) == [(digest(row), row) for row in rows]


def test_parts_stream_all_that_is_structured_in_the_order_of_insertion(store: Store) -> None:
    assert store.parts(3, 100) == []
    rows = [(1 + number % 3, digest(b"%d" % number), b"%d" % number) for number in range(20)]
    for kind, _, data in rows:
        put(store, kind, data)
    for size, most, count in ((3, 100, 7), (3, 2, 2), (20, 100, 1), (50, 1, 1)):
        parts = store.parts(size, most)
        assert len(parts) == count
        assert [row for part in parts for row in store.part(part)] == rows


def test_what_is_opened_aside_reads_the_same_store(store: Store) -> None:
    id = put(store, Kind.NODE, b"a node")
    with store.aside() as reader:
        assert reader.get(Kind.NODE, id) == b"a node"
        assert list(reader.part(reader.parts(9, 9)[0])) == [(Kind.NODE, id, b"a node")]


def test_all_objects_are_listed_once(store: Store) -> None:
    node = put(store, Kind.NODE, b"a node")
    with store.transaction() as tx:
        blob = tx.put_blob(b"content")
    assert sorted(store.objects()) == [(Kind.BLOB, blob), (Kind.NODE, node)]
    assert store.count_objects() == 2


def test_find_returns_the_snapshots_under_a_prefix_and_at_most_two(store: Store) -> None:
    ids = [bytes([7, number]) + bytes(30) for number in range(5)]
    with store.transaction() as tx:
        for id in ids:
            tx.put(Kind.SNAPSHOT, id, b"s")
        tx.put(Kind.NODE, bytes([8]) + bytes(31), b"n")
    assert store.find("0701") == [(Kind.SNAPSHOT, ids[1])]
    assert store.find(ids[3].hex()) == [(Kind.SNAPSHOT, ids[3])]
    assert store.find("070") == [(Kind.SNAPSHOT, ids[0]), (Kind.SNAPSHOT, ids[1])]
    assert store.find("08") == []


@pytest.mark.parametrize("prefix", ["", "xyz", "0" * 65, "é", "AB", "%", "0701 "])
def test_find_takes_no_prefix_that_is_not_hex(store: Store, prefix: str) -> None:
    put(store, Kind.SNAPSHOT, b"s")
    assert store.find(prefix) == []


@pytest.mark.parametrize("size", [0, 1, 63, 64, 5000, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE])
def test_a_blob_of_any_size_comes_back_under_its_plain_hash(store: Store, size: int) -> None:
    content = bytes(number * 131 % 251 for number in range(size))
    with store.transaction() as tx:
        id = tx.put_blob(content)
    assert id == blob_id(content)
    assert store.read_blob(id) == content
    assert store.blob_size(id) == size
    pieces = list(store.stream_blob(id))
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= LARGE
    assert verdicts(store).faults == []


def test_reading_all_blobs_again_names_the_small_ones_that_are_picked_out(store: Store) -> None:
    contents = [b"%d" % number * 9 for number in range(900)]
    with store.transaction() as tx:
        tx.put_blobs([(blob_id(content), content) for content in contents])
    seen = verdicts(store, lambda id, content: content[:1] == b"7" and id == blob_id(content))
    assert sorted(seen.named) == sorted(blob_id(c) for c in contents if c[:1] == b"7")
    assert (len(seen.sizes), seen.faults) == (900, [])


@pytest.mark.parametrize("announced", [0, BIG])
def test_a_batch_of_blobs_comes_back_whole(store: Store, announced: int) -> None:
    contents = [b"skill %d\n" % number * (number % 90) for number in range(900)]
    pairs = [(blob_id(content), content) for content in contents]
    with store.transaction(announced) as tx:
        tx.put_blobs(pairs[:500])
        tx.put_blobs(pairs[400:])
        assert dict(tx.read_blobs([id for id, _ in pairs])) == dict(pairs)
    assert dict(store.read_blobs([id for id, _ in pairs])) == dict(pairs)
    assert dict(verdicts(store).sizes) == {id: len(content) for id, content in pairs}


def test_a_batch_may_hold_duplicates_and_blobs_that_turn_out_large(store: Store) -> None:
    content = b"0123456789abcdef" * (LARGE // 8)
    pair = (blob_id(content), content)
    with store.transaction() as tx:
        tx.put_blobs([pair, (blob_id(b"x"), b"x"), pair, (blob_id(b"x"), b"x")])
    assert store.read_blob(pair[0]) == content
    assert list(store.read_blobs([pair[0], blob_id(b"x"), blob_id(b"x")])) == [
        (blob_id(b"x"), b"x")
    ]


def test_an_appended_file_comes_back_whole(store: Store) -> None:
    content = bytes(number * 7 % 253 for number in range(LARGE + 10))
    with store.transaction() as tx:
        base = tx.put_stream(io.BytesIO(content), len(content), None)
        grown = tx.put_stream(io.BytesIO(content + b"more"), len(content) + 4, base)
    assert grown == blob_id(content + b"more")
    assert store.read_blob(grown) == content + b"more"
    assert store.read_blob(base) == content


@pytest.mark.parametrize("size", [10, LARGE + 10])
def test_a_source_that_ends_early_is_refused(store: Store, size: int) -> None:
    with pytest.raises(Conflict) as error, store.transaction() as tx:
        tx.put_stream(io.BytesIO(bytes(size - 1)), size, None)
    assert code_of(error) == "changed_while_reading"


def test_only_the_announced_bytes_of_a_source_are_kept(store: Store) -> None:
    with store.transaction() as tx:
        id = tx.put_stream(io.BytesIO(b"abcdef"), 3, None)
    assert store.read_blob(id) == b"abc"


def test_a_ref_moves_only_from_where_it_is(store: Store) -> None:
    with store.transaction() as tx:
        tx.set_ref("main", None, b"1" * 32)
        tx.set_ref("main", b"1" * 32, b"2" * 32)
    with pytest.raises(Conflict) as error, store.transaction() as tx:
        tx.set_ref("main", b"1" * 32, b"3" * 32)
    assert code_of(error) == "stale_ref"
    with pytest.raises(Conflict), store.transaction() as tx:
        tx.set_ref("main", None, b"3" * 32)
    with pytest.raises(Conflict), store.transaction() as tx:
        tx.set_ref("other", b"1" * 32, b"3" * 32)
    assert store.refs() == {"main": b"2" * 32}


def test_a_ref_can_be_removed(store: Store) -> None:
    with store.transaction() as tx:
        tx.set_ref("main", None, b"1" * 32)
    with store.transaction() as tx:
        tx.set_ref("main", b"1" * 32, None)
    assert store.ref("main") is None
    assert store.refs() == {}


def test_refs_are_sorted_and_apart_from_meta(store: Store) -> None:
    with store.transaction() as tx:
        for name in ("b", "ä", "a"):
            tx.set_ref(name, None, b"1" * 32)
        tx.set_meta("a", b"not a ref")
        assert tx.meta("a") == b"not a ref"
    assert list(store.refs()) == ["a", "b", "ä"]
    assert store.meta("a") == b"not a ref"
    assert store.meta("b") is None


def test_operations_are_chained_and_come_newest_first(store: Store) -> None:
    link = domain("brain v1 operation")
    with store.transaction() as tx:
        first = tx.append_operation(b"one")
        assert tx.operation_count() == 1
    with store.transaction() as tx:
        second = tx.append_operation(b"two")
        third = tx.append_operation(b"three")
    assert first == link(b"one")
    assert second == link(first + b"two")
    assert third == link(second + b"three")
    rows = list(store.operations())
    assert [(row.number, row.id, row.data) for row in rows] == [
        (3, third, b"three"),
        (2, second, b"two"),
        (1, first, b"one"),
    ]
    assert [store.operation(number) for number in (3, 2, 1)] == rows
    assert store.operation_count() == 3


def test_an_operation_that_never_was_is_not_found(store: Store) -> None:
    assert list(store.operations()) == []
    with store.transaction() as tx:
        tx.append_operation(b"one")
    for number in (-1, 0, 2):
        with pytest.raises(NotFound) as error:
            store.operation(number)
        assert code_of(error) == "missing_operation"


def test_pending_files_are_noted_replaced_and_cleared(store: Store) -> None:
    a, b = Pending("a", 0, b"1" * 32, b""), Pending("b", 2, b"", b"before")
    with store.transaction() as tx:
        tx.set_pending([b, a])
    assert store.pending() == [a, b]
    newer = a._replace(blob=b"2" * 32)
    with store.transaction() as tx:
        tx.set_pending(iter([newer]))
        tx.clear_pending(["b", "never noted"])
    assert store.pending() == [newer]


def test_settling_forgets_all_pending_files_and_nothing_else(store: Store) -> None:
    with store.transaction() as tx:
        tx.set_ref("main", None, b"1" * 32)
        tx.set_pending([Pending(str(number), 0, b"1" * 32, b"") for number in range(9)])
    store.settle()
    assert store.pending() == []
    assert store.ref("main") == b"1" * 32


def test_a_snapshot_has_one_signature_for_each_key_and_the_last_one_stays(store: Store) -> None:
    a, b = b"a" * 32, b"b" * 32
    with store.transaction() as tx:
        tx.put_signature(a, b"2" * 32, b"2" * 64)
        tx.put_signature(b, b"2" * 32, b"o" * 64)
        tx.put_signature(a, b"1" * 32, b"1" * 64)
        tx.put_signature(a, b"2" * 32, b"l" * 64)
        tx.put_signature(a, b"2" * 32, b"2" * 64)
        assert tx.signatures(b) == [(b"2" * 32, b"o" * 64)]
    assert store.signatures(a) == [(b"1" * 32, b"1" * 64), (b"2" * 32, b"2" * 64)]
    assert store.signatures(b"c" * 32) == []
    assert list(store.all_signatures()) == [
        (a, b"1" * 32, b"1" * 64),
        (a, b"2" * 32, b"2" * 64),
        (b, b"2" * 32, b"o" * 64),
    ]


@pytest.mark.parametrize("announced", [0, BIG])
@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_transaction_that_fails_leaves_nothing(
    store: Store, failure: type[BaseException], announced: int
) -> None:
    with store.transaction() as tx:
        tx.set_ref("main", None, b"1" * 32)
        tx.append_operation(b"one")
    before = list(store.objects()), store.refs(), list(store.operations())
    with pytest.raises(failure), store.transaction(announced) as tx:
        tx.put(Kind.NODE, digest(b"n"), b"n")
        tx.put_blobs([(blob_id(b"c" * size), b"c" * size) for size in range(2000)])
        tx.put_stream(io.BytesIO(bytes(LARGE)), LARGE, None)
        tx.set_ref("main", b"1" * 32, b"2" * 32)
        tx.set_meta("key", b"value")
        tx.append_operation(b"two")
        tx.put_signature(bytes(32), bytes(32), b"s" * 64)
        tx.set_pending([Pending("a", 0, b"", b"")])
        raise failure
    assert (list(store.objects()), store.refs(), list(store.operations())) == before
    assert store.meta("key") is None
    assert list(store.all_signatures()) == []
    assert store.pending() == []
    with store.transaction() as tx:
        tx.set_ref("main", b"1" * 32, b"3" * 32)
    assert store.ref("main") == b"3" * 32


@pytest.mark.parametrize("announced", [0, BIG])
def test_a_transaction_sees_its_own_writes(store: Store, announced: int) -> None:
    with store.transaction(announced) as tx:
        blob = tx.put_blob(b"content")
        tx.put(Kind.BUNDLE, digest(b"b"), b"b")
        tx.set_ref("main", None, digest(b"b"))
        assert tx.read_blob(blob) == b"content"
        assert tx.get(Kind.BUNDLE, digest(b"b")) == b"b"
        assert tx.ref("main") == digest(b"b")
        assert tx.has(blob)


def test_a_transaction_inside_another_is_refused(store: Store) -> None:
    with store.transaction() as tx:
        with pytest.raises(StoreError) as error, store.transaction():
            pass
        assert code_of(error) == "transaction_open"
        tx.set_ref("main", None, b"1" * 32)
    assert store.ref("main") == b"1" * 32


def test_a_new_store_is_empty_and_sound(store: Store) -> None:
    assert list(store.objects()) == []
    assert store.refs() == {}
    assert store.operation_count() == 0
    assert store.pending() == []
    assert store.integrity() == []
    assert verdicts(store) == ([], [], [])
    assert store.find("00") == []


def test_closing_twice_does_no_harm(store: Store) -> None:
    store.close()
    store.close()
