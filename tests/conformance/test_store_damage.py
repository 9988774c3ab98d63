"""Damaged and hostile store files: found or harmless, never believed."""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import apsw
import pytest

from brain.digest import blob_id, domain_hash
from brain.errors import BrainError, NotFound, StoreError
from brain.store.database import SCHEMA_VERSION
from brain.store.reader import StoreReader, open_store_reader
from brain.store.rows import LARGE_BLOB_BYTES, ObjectKind, PendingWrite
from brain.store.writer import create_store, open_store
from tests.support.blob_checks import check_all_blobs
from tests.support.cases import read_cases
from tests.support.old_stores import pack_with_dictionary
from tests.support.refusals import raises_code

CASES = read_cases(__file__)

digest = domain_hash("a test object")
NODES = [b"node %d" % number * 20 for number in range(40)]
SNAPSHOTS = [b"snapshot %d" % number * 9 for number in range(20)]
SMALL = [b"skill %d\n" % number * 12 for number in range(300)]
BIG = random.Random(5).randbytes(LARGE_BLOB_BYTES + 5000)


def fill(folder: Path) -> None:
    """Make a store that holds something of everything, its log copied into the file."""
    store = create_store(folder)
    with store.transaction(1 << 30) as tx:
        tx.put_blobs([(blob_id(content), content) for content in SMALL])
    pack_with_dictionary(store, SMALL)
    with store.transaction() as tx:
        tx.put_blob(BIG)
        for data in NODES:
            tx.put_object(ObjectKind.NODE, digest(data), data)
        for data in SNAPSHOTS:
            tx.put_object(ObjectKind.SNAPSHOT, digest(data), data)
        for name in ("main", "dev", "old"):
            tx.update_ref(name, None, digest(name.encode()))
        tx.write_meta("brain", digest(b"brain"))
        for number in range(12):
            tx.append_operation(b"operation %d" % number)
        for number in range(30):
            tx.put_signature(digest(SNAPSHOTS[number // 3]), digest(b"%d" % number), bytes(64))
        tx.add_pending_writes(
            [PendingWrite(f"p{n}", 0, blob_id(SMALL[n]), b"before") for n in range(5)]
        )
    store.close()
    with closing(apsw.Connection(str(folder / "store.db"))) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / ".brain"
    fill(folder)
    return (folder / "store.db").read_bytes()


@pytest.fixture
def folder(tmp_path, whole):
    made = tmp_path / ".brain"
    made.mkdir(mode=0o700)
    (made / "store.db").write_bytes(whole)
    return made


@pytest.fixture
def alter(folder):
    """Change the store behind its back."""

    def run(*statements: str) -> None:
        with closing(apsw.Connection(str(folder / "store.db"))) as db:
            db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
            for sql in statements:
                db.execute(sql).fetchall()
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    return run


def got(kind: int, data: bytes, store: StoreReader) -> bytes:
    return store.read_object(kind, digest(data))


def read(content: bytes, store: StoreReader) -> bytes:
    return store.read_blob(blob_id(content))


def questions() -> Iterator[tuple[str, Callable[[StoreReader], object]]]:
    """Yield every question whose answer must be right or refused."""
    for data in NODES[::4]:
        yield "node", partial(got, ObjectKind.NODE, data)
    for data in SNAPSHOTS[::4]:
        yield "snapshot", partial(got, ObjectKind.SNAPSHOT, data)
    for content in (*SMALL[::30], BIG):
        yield "blob", partial(read, content)
    yield "size", lambda store: store.blob_size(blob_id(BIG))
    yield "blobs", lambda store: sorted(store.read_small_blobs([blob_id(c) for c in SMALL]))
    yield "stream", lambda store: b"".join(store.stream_blob(blob_id(BIG)))
    yield "ref", lambda store: store.read_ref("main")
    yield "refs", lambda store: store.list_refs()
    yield "meta", lambda store: store.read_meta("brain")
    yield "no meta", lambda store: store.read_meta("none")
    yield "operations", lambda store: list(store.stream_operations())
    yield "operation", lambda store: store.read_operation(7)
    yield "count", lambda store: store.operation_count()
    yield "all signatures", lambda store: list(store.stream_signatures())


QUESTIONS = list(questions())


def truth(whole: bytes, folder: Path) -> list[object]:
    folder.mkdir(mode=0o700)
    (folder / "store.db").write_bytes(whole)
    store = open_store_reader(folder)
    answers = [ask(store) for _, ask in QUESTIONS]
    assert answers[0] == NODES[0]
    store.close()
    return answers


def differences(folder: Path, expected: list[object]) -> list[str]:
    """Return what a store answers silently wrong; typed errors are right answers."""
    try:
        store = open_store_reader(folder)
    except BrainError:
        return []
    wrong = []
    for (name, ask), right in zip(QUESTIONS, expected, strict=True):
        try:
            if ask(store) != right:
                wrong.append(name)
        except BrainError:
            continue
    wrong += believed(store)
    store.close()
    return wrong


def believed(store: StoreReader) -> list[str]:
    """Return which rows are wrong among those that may vanish but not change."""
    wrong = []
    try:
        noted = {PendingWrite(f"p{n}", 0, blob_id(SMALL[n]), b"before") for n in range(5)}
        wrong += ["pending"] if set(store.list_pending_writes()) - noted else []
    except BrainError:
        pass
    return wrong + lost_signatures(store)


def signed(snapshot: bytes) -> set[tuple[bytes, bytes]]:
    """Return the signatures that `fill` gave a snapshot."""
    numbers = range(30)
    return {
        (digest(b"%d" % n), bytes(64)) for n in numbers if digest(SNAPSHOTS[n // 3]) == snapshot
    }


def lost_signatures(store: StoreReader) -> list[str]:
    """Return where a signature is another one, or is lost although all of them are listed.

    Damage may hide one from whoever looks for those of a snapshot; reading all finds it.
    """
    lost, changed = False, False
    for data in SNAPSHOTS[:10]:
        try:
            found, right = set(store.list_signatures(digest(data))), signed(digest(data))
        except BrainError:
            continue
        lost, changed = lost or bool(right - found), changed or bool(found - right)
    if not lost and not changed:
        return []
    try:
        list(store.stream_signatures())
    except BrainError:
        return ["signatures"] if changed else []
    return ["signatures"]


def test_no_flipped_bit_gives_a_wrong_answer(folder, whole, tmp_path):
    expected = truth(whole, tmp_path / "truth")
    rng = random.Random(20)
    file = folder / "store.db"
    with file.open("r+b", buffering=0) as handle:
        for _ in range(250):
            place, bit = rng.randrange(len(whole)), 1 << rng.randrange(8)
            os.pwrite(handle.fileno(), bytes([whole[place] ^ bit]), place)
            assert differences(folder, expected) == [], f"byte {place} ^ {bit}"
            os.pwrite(handle.fileno(), whole[place : place + 1], place)


@pytest.mark.parametrize("size", [0, 1, 99, 100, 4096, 8192, 50_000])
def test_a_file_cut_short_is_refused_or_answers_rightly(folder, whole, tmp_path, size):
    expected = truth(whole, tmp_path / "truth")
    os.truncate(folder / "store.db", size)
    assert differences(folder, expected) == []


@pytest.mark.parametrize("sql", CASES["test_a_foreign_schema_is_refused"])
def test_a_foreign_schema_is_refused(alter, folder, sql):
    alter(sql)
    for opened in (open_store_reader, open_store):
        with raises_code("bad_store", StoreError):
            opened(folder)


def test_a_schema_edited_in_place_is_refused(alter, folder):
    alter(
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'codec INTEGER NOT NULL', "
        "'codec INTEGER NOT NULL DEFAULT 7') WHERE name = 'blobs'",
    )
    with raises_code("bad_store", StoreError):
        open_store_reader(folder)


@pytest.mark.parametrize("version", [*range(SCHEMA_VERSION), SCHEMA_VERSION + 1, -1])
def test_a_store_of_another_release_is_refused_with_a_hint(alter, folder, version):
    alter(f"PRAGMA user_version = {version}")
    for opened in (open_store_reader, open_store):
        with raises_code("unsupported_version", StoreError) as error:
            opened(folder)
        assert error.value.hint


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100, bytes(9000)])
def test_a_file_that_is_no_store_is_refused(folder, content):
    (folder / "store.db").write_bytes(content)
    for opened in (open_store_reader, open_store):
        with raises_code("bad_store", StoreError):
            opened(folder)


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_what_is_not_a_regular_file_is_refused(folder, kind):
    file = folder / "store.db"
    moved = file.rename(folder / "moved.db")
    if kind == "link":
        file.symlink_to(moved)
    elif kind == "folder":
        file.mkdir()
    else:
        os.mkfifo(file)
    with raises_code("bad_store", StoreError):
        open_store_reader(folder)


def test_a_missing_store_is_not_found(tmp_path):
    for opened in (open_store_reader, open_store):
        with raises_code("no_store", NotFound):
            opened(tmp_path)


@pytest.mark.parametrize(("sql", "asked", "code"), CASES["test_altered_rows_are_found"])
def test_altered_rows_are_found(alter, folder, sql, asked, code):
    alter(sql)
    store = open_store_reader(folder)
    with raises_code(code, BrainError):
        for name, ask in QUESTIONS:
            if name == asked:
                ask(store)
    store.close()


def test_an_altered_signature_is_found_by_its_snapshot(alter, folder):
    alter("UPDATE signatures SET signature = key")
    store = open_store_reader(folder)
    with raises_code("corrupt_signature", StoreError):
        store.list_signatures(digest(SNAPSHOTS[3]))
    store.close()


def test_an_altered_pending_note_is_found(alter, folder):
    alter("UPDATE pending SET path = '/etc/passwd' WHERE path = 'p1'")
    store = open_store_reader(folder)
    with raises_code("corrupt_pending", StoreError):
        store.list_pending_writes()
    store.close()


@pytest.mark.parametrize("sign", ["<", ">"])
def test_one_damaged_copy_of_the_dictionary_does_no_harm(alter, folder, sign):
    alter(f"UPDATE dictionaries SET data = x'00' WHERE number {sign} 0")
    store = open_store(folder)
    assert store._db.fetch_all("SELECT DISTINCT codec FROM blobs WHERE codec > 2") == [(3,)]
    assert len(list(store.read_small_blobs([blob_id(content) for content in SMALL]))) == len(SMALL)
    store.close()


def test_the_deep_check_names_each_damaged_blob_and_no_other(alter, folder):
    bad = [blob_id(SMALL[3]), blob_id(SMALL[150])]
    alter(*[f"UPDATE blobs SET data = x'28b52ffd' WHERE id = x'{id.hex()}'" for id in bad])
    store = open_store_reader(folder)
    assert [id for id, _ in check_all_blobs(store).faults] == bad
    store.close()


def test_the_deep_check_names_a_large_blob_whose_chunk_is_gone(alter, folder):
    store = open_store_reader(folder)
    _, (chunk, _), *_ = store._fetch_chunk_list(blob_id(BIG)).pieces
    store.close()
    alter(f"DELETE FROM blobs WHERE id = x'{chunk.hex()}'")
    store = open_store_reader(folder)
    assert [id for id, _ in check_all_blobs(store).faults] == [blob_id(BIG)]
    store.close()


def test_a_frame_that_claims_gigabytes_is_refused_before_memory_is_given_out(alter, folder):
    header = "28b52ffd" + "e0" + (1 << 40).to_bytes(8, "little").hex()
    alter(f"UPDATE blobs SET codec = 2, data = x'{header}' WHERE codec <> 1")
    store = open_store_reader(folder)
    with raises_code("corrupt_object", StoreError):
        store.read_blob(blob_id(SMALL[0]))
    assert check_all_blobs(store).sizes == []
    store.close()
