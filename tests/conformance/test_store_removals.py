"""What every store promises of what is taken out of it."""

import io
import random
from itertools import pairwise

import pytest

from brain.digest import blob_id, domain_hash
from brain.errors import BrainError, Conflict, NotFound, StoreError
from brain.objects import snapshot as snapshots
from brain.objects.snapshot import Jump, Snapshot
from brain.store.reader import open_store_reader
from brain.store.rows import LARGE_BLOB_BYTES, ObjectKind, PendingWrite
from brain.store.writer import Store, StoreTransaction, create_store
from tests.support.blob_checks import check_all_blobs
from tests.support.old_stores import nest_chunk_list

BULK = 32 << 20

digest = domain_hash("a test object")
SNAPSHOT = digest(b"a snapshot")


@pytest.fixture
def store(tmp_path):
    made: Store = create_store(tmp_path / ".brain")
    yield made
    made.close()


def none(others: set[bytes]) -> set[bytes]:
    return set()


def saying(tx: StoreTransaction, blob: bytes, ref: str | None = "heads/main") -> bytes:
    """Keep a snapshot that says it redacted a blob, and let a ref lead to it; return its id."""
    done = ("redact", "a.md", blob, "a name")
    above = digest(blob)
    made = Snapshot(1, above, above, (above,), 1, Jump(1, above), "me", 0, done, "", b"")
    data = snapshots.encode_snapshot(made)
    here = snapshots.snapshot_id(data)
    tx.put_object(ObjectKind.SNAPSHOT, here, data)
    if ref:
        tx.update_ref(ref, tx.read_ref(ref), here)
    return here


def redacted(store: Store, content: bytes) -> bytes:
    with store.transaction() as tx:
        blob = tx.put_blob(content)
    with store.transaction() as tx:
        tx.redact_blob(blob, saying(tx, blob), none)
    return blob


def code_of(error: pytest.ExceptionInfo[BrainError]) -> str:
    return error.value.code


def test_a_redacted_blob_is_gone_and_known(store):
    blob = redacted(store, b"a secret")
    assert not store.has_object(blob)
    said = store.read_ref("heads/main")
    assert store.find_redactions([blob, SNAPSHOT]) == {blob: said} == store.list_redaction_rows()
    for ask in (
        lambda: store.read_blob(blob),
        lambda: store.blob_size(blob),
        lambda: list(store.stream_blob(blob)),
        lambda: list(store.read_small_blobs([blob])),
    ):
        with pytest.raises(NotFound) as error:
            ask()
        assert code_of(error) == "redacted"


@pytest.mark.parametrize("size", [20, LARGE_BLOB_BYTES + 1])
@pytest.mark.parametrize("expected", [0, BULK])
def test_redacted_content_is_refused_whichever_way_it_comes(store, size, expected):
    content = bytes(number % 251 for number in range(size))
    blob = redacted(store, content)
    ways = [
        lambda tx: tx.put_blob(content),
        lambda tx: tx.put_blobs([(blob, content)]),
        lambda tx: tx.put_blob_stream(io.BytesIO(content), size, None),
    ]
    for put in ways:
        with pytest.raises(Conflict) as error, store.transaction(expected) as tx:
            put(tx)
        assert code_of(error) == "redacted"
    assert not store.has_object(blob)


def test_a_file_to_be_written_may_not_be_a_redacted_one(store):
    blob = redacted(store, b"a secret")
    with pytest.raises(NotFound) as error, store.transaction() as tx:
        tx.add_pending_writes([PendingWrite("a", 0, blob, b""), PendingWrite("b", 0, b"", b"")])
    assert code_of(error) == "redacted"
    assert store.list_pending_writes() == []


def test_a_blob_that_is_not_here_can_be_refused_from_the_start(store):
    blob = blob_id(b"a secret")
    with store.transaction() as tx:
        tx.redact_blob(blob, saying(tx, blob), none)
    with pytest.raises(Conflict), store.transaction() as tx:
        tx.put_blob(b"a secret")


def _unknown(tx: StoreTransaction, blob: bytes) -> bytes:
    return SNAPSHOT


def _of_another(tx: StoreTransaction, blob: bytes) -> bytes:
    return saying(tx, blob_id(b"something else"))


def _without_ref(tx: StoreTransaction, blob: bytes) -> bytes:
    return saying(tx, blob, None)


def _under_its_id(tx: StoreTransaction, blob: bytes) -> bytes:
    tx.put_object(
        ObjectKind.SNAPSHOT, SNAPSHOT, tx.read_object(ObjectKind.SNAPSHOT, saying(tx, blob))
    )
    tx.update_ref("heads/main", tx.read_ref("heads/main"), SNAPSHOT)
    return SNAPSHOT


@pytest.mark.parametrize("planted", [_unknown, _of_another, _without_ref, _under_its_id])
def test_a_redaction_that_no_snapshot_of_a_ref_says_counts_for_nothing(store, planted):
    blob = blob_id(b"a file")
    with store.transaction() as tx:
        tx.redact_blob(blob, planted(tx, blob), none)
    assert store.find_redactions([blob]) == {}
    assert list(store.list_redaction_rows()) == [blob]
    with pytest.raises(NotFound) as error:
        store.read_blob(blob)
    assert code_of(error) == "missing_object"
    with store.transaction() as tx:
        tx.put_blob(b"a file")
        tx.add_pending_writes([PendingWrite("a", 0, blob, b"")])
    assert store.read_blob(blob) == b"a file"


def test_a_redaction_counts_in_the_transaction_that_records_it(store):
    blob = blob_id(b"a secret")
    with store.transaction() as tx:
        here = saying(tx, blob, None)
        tx.redact_blob(blob, here, none)
        assert tx.find_redactions([blob]) == {blob: here}
        with pytest.raises(Conflict):
            tx.put_blob(b"a secret")


def test_a_redaction_that_is_rolled_back_destroys_nothing(store):
    with store.transaction() as tx:
        blob = tx.put_blob(b"a secret")
    with pytest.raises(ZeroDivisionError), store.transaction() as tx:
        tx.redact_blob(blob, SNAPSHOT, none)
        raise ZeroDivisionError
    assert store.read_blob(blob) == b"a secret"
    assert store.removal_epoch() == 0


def grown(store: Store, times: int) -> list[tuple[bytes, bytes]]:
    """Keep a large blob and what it grows to; return ids and contents."""
    content = b"".join(b"%d\n" % number for number in range(60_000))
    found: list[tuple[bytes, bytes]] = []
    for step in range(times):
        content += b"step %d\n" % step
        with store.transaction() as tx:
            base = found[-1][0] if found else None
            found.append((tx.put_blob_stream(io.BytesIO(content), len(content), base), content))
    return found


@pytest.mark.parametrize("gone", [0, 40, 70, 139])
def test_what_grew_from_a_redacted_blob_reads_as_before(store, gone):
    blobs = grown(store, 140)
    with store.transaction() as tx:
        tx.redact_blob(blobs[gone][0], SNAPSHOT, none)
    for number, (blob, content) in enumerate(blobs):
        if number != gone:
            assert store.read_blob(blob) == content
    assert check_all_blobs(store).faults == []


@pytest.mark.parametrize("nested", [0, 20, 80])
@pytest.mark.parametrize("redacted_step", [0, 20, 21, 40, 51, 52, 79])
def test_redacting_a_version_of_a_log_of_noise_harms_no_other(tmp_path, redacted_step, nested):
    """Steps of 33 kB are chunks of their own; older releases nested the lists of them."""
    store = create_store(tmp_path / ".brain")
    content = random.Random(1).randbytes(LARGE_BLOB_BYTES)
    versions = [(_put_stream(store, content, None), len(content))]
    for step in range(1, 80):
        content += random.Random(step).randbytes(33_000)
        versions.append((_put_stream(store, content, versions[-1][0]), len(content)))
    for (below, _), (id, _) in list(pairwise(versions))[nested : nested + 32]:
        nest_chunk_list(store, id, below)
    erased, _ = versions.pop(redacted_step)
    with store.transaction() as tx:
        tx.redact_blob(erased, SNAPSHOT, none)
    assert not store.has_object(erased)
    for id, size in versions:
        assert store.read_blob(id) == content[:size]
    assert check_all_blobs(store).faults == []
    store.close()


def _put_stream(store: Store, content: bytes, base: bytes | None) -> bytes:
    with store.transaction() as tx:
        return tx.put_blob_stream(io.BytesIO(content), len(content), base)


def test_chunks_go_with_the_last_blob_that_needs_them(store):
    blobs = grown(store, 3)
    kept = []
    for blob, _ in blobs:
        with store.transaction() as tx:
            tx.redact_blob(blob, SNAPSHOT, none)
        kept.append(store.count_objects())
    assert kept[-1] == 0


def test_a_chunk_that_is_a_file_of_its_own_stays(tmp_path):
    store = create_store(tmp_path / ".brain")
    ((blob, content),) = grown(store, 1)
    (first, *_) = [id for _, id in store.stream_object_ids() if id != blob]
    with store.transaction() as tx:
        tx.redact_blob(blob, SNAPSHOT, lambda others: others & {first})
    assert store.read_blob(first) in content
    assert store.count_objects() == 1
    store.close()


def test_sweeping_keeps_what_is_kept_and_its_parts(store):
    blobs = grown(store, 100)
    with store.transaction() as tx:
        for name in (b"a", b"b"):
            tx.put_object(ObjectKind.NODE, digest(name), name)
            tx.put_object(ObjectKind.SNAPSHOT, digest(b"s" + name), name)
            tx.put_signature(digest(b"s" + name), bytes(32), bytes(64))
            tx.put_blob(name * 9)
    kept = {digest(b"a"), digest(b"sa"), blob_id(b"a" * 9), blobs[-1][0]}
    with store.transaction() as tx:
        assert tx.sweep_objects(kept, 1 << 30) > 3
    with store.transaction() as tx:
        assert tx.sweep_objects(kept, 1 << 30) == 0
    assert store.read_blob(blobs[-1][0]) == blobs[-1][1]
    assert store.find_missing(kept) == set()
    assert [row[0] for row in store.stream_signatures()] == [digest(b"sa")]
    assert not store.has_object(blob_id(b"b" * 9))
    assert store.removal_epoch() == 2


def test_signatures_go_with_the_snapshot_that_they_sign(store):
    with store.transaction() as tx:
        for name in (b"kept", b"gone"):
            tx.put_object(ObjectKind.SNAPSHOT, digest(name), name)
            tx.put_signature(digest(name), bytes(32), bytes(64))
    with store.transaction() as tx:
        assert tx.sweep_objects({digest(b"kept")}, 10) == 1
    assert [row[0] for row in store.stream_signatures()] == [digest(b"kept")]


def test_a_sweep_of_a_few_at_a_time_ends_where_one_of_all_does(store):
    with store.transaction() as tx:
        ids = [tx.put_blob(b"%d" % number) for number in range(20)]
    removed = []
    while not removed or removed[-1] == 7:
        with store.transaction() as tx:
            removed.append(tx.sweep_objects(set(ids[:3]), 7))
    assert removed == [7, 7, 3]
    assert {id for _, id in store.stream_object_ids()} == set(ids[:3])


def test_a_sweep_refuses_a_store_that_lacks_a_chunk(tmp_path):
    store = create_store(tmp_path / ".brain")
    ((blob, _),) = grown(store, 1)
    store._db.execute("DELETE FROM blobs WHERE codec != 1 AND number = 2")
    count = store.count_objects()
    with pytest.raises(StoreError) as error, store.transaction() as tx:
        tx.sweep_objects({blob}, 1 << 30)
    assert code_of(error) == "incomplete"
    assert store.count_objects() == count
    store.close()


def test_space_is_given_back_unless_a_reader_holds_on_to_what_was(tmp_path):
    store = create_store(tmp_path / ".brain")
    with store.transaction() as tx:
        ids = [tx.put_blob(bytes([number]) * 50_000) for number in range(40)]
    with store.transaction() as tx:
        tx.sweep_objects(set(ids[:1]), 1 << 30)
    before = store.size_on_disk()
    store._db.execute("PRAGMA busy_timeout=0")
    reader = open_store_reader(tmp_path / ".brain")
    held = reader.stream_object_ids()
    next(held)
    assert not store.compact()
    list(held)
    reader.close()
    assert store.compact()
    assert store.size_on_disk() < before - 1_000_000
    assert store.read_blob(ids[0]) == bytes(50_000)
    store.close()


def test_a_redaction_whose_note_is_damaged_is_told(tmp_path):
    store = create_store(tmp_path / ".brain")
    blob = redacted(store, b"a secret")
    store._db.execute("UPDATE redactions SET snapshot = ?", (bytes(32),))
    with pytest.raises(StoreError) as error:
        store.find_redactions([blob])
    assert code_of(error) == "corrupt_redaction"
    store.close()
