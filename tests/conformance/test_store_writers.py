"""Many writers, readers beside them, and writers that are killed: nothing acknowledged is lost."""

import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from brain.digest import blob_id
from brain.errors import Conflict, Locked, StoreError
from brain.store.reader import open_store_reader
from brain.store.rows import ObjectKind
from brain.store.writer import create_store, open_store

START = """
import os, sys
from pathlib import Path
from brain.digest import blob_id
from brain.errors import Conflict
from brain.store.writer import create_store, open_store
folder = Path(sys.argv[1])
store = open_store(folder, timeout=60)
"""

UPSERTS = """
name = sys.argv[2].encode()
for number in range(60):
    while True:
        head = store.read_ref("main")
        count = int(head) if head else 0
        try:
            with store.transaction() as tx:
                tx.put_blob(b"%s %d" % (name, number))
                tx.append_operation(b"%s %d" % (name, number))
                tx.update_ref("main", head, b"%d" % (count + 1))
            break
        except Conflict:
            pass
"""

FOREVER = """
number = 0
while True:
    with store.transaction() as tx:
        tx.update_ref("main", tx.read_ref("main"), tx.put_blob(b"%d" % number))
        tx.append_operation(b"%d" % number)
    os.write(1, b"%d\\n" % number)
    number += 1
"""

LOAD = """
with store.transaction(1 << 30) as tx:
    number = 0
    while True:
        batch = [b"skill %d " % (number + n) * 500 for n in range(400)]
        tx.put_blobs([(blob_id(content), content) for content in batch])
        number += len(batch)
        os.write(1, b"%d\\n" % number)
"""


@pytest.fixture
def run(project):
    def start(script: str, *args: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", START + script, *map(str, args)],
            env={"PYTHONPATH": str(project)},
            stdout=subprocess.PIPE,
        )

    return start


@pytest.fixture
def folder(tmp_path):
    create_store(tmp_path / ".brain").close()
    return tmp_path / ".brain"


def test_sixteen_processes_lose_no_update(run, folder):
    """concurrency-01"""
    writers = [run(UPSERTS, folder, number) for number in range(16)]
    assert [writer.wait() for writer in writers] == [0] * 16
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.close()
    store = open_store(folder)
    assert store.read_ref("main") == b"960"
    done = Counter(row.data for row in store.stream_operations())
    assert done == {b"%d %d" % (w, n): 1 for w in range(16) for n in range(60)}
    assert not store.find_missing(blob_id(data) for data in done)
    assert store.check_integrity() == []
    store.close()


def test_threads_with_compare_and_swap_lose_no_update(folder):
    def work(name: int) -> None:
        store = open_store(folder, timeout=60)
        for number in range(20):
            while True:
                head = store.read_ref("main")
                try:
                    with store.transaction() as tx:
                        tx.append_operation(b"%d %d" % (name, number))
                        tx.update_ref("main", head, b"%d" % (int(head or b"0") + 1))
                    break
                except Conflict:
                    pass
        store.close()

    threads = [threading.Thread(target=work, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = open_store(folder)
    assert store.read_ref("main") == b"120"
    assert len({row.data for row in store.stream_operations()}) == 120
    store.close()


def test_a_writer_waits_its_time_and_then_says_who_is_in_the_way(folder):
    first, second = open_store(folder), open_store(folder, timeout=0.05)
    seen: list[str] = []

    def attempt() -> None:
        try:
            with second.transaction():
                seen.append("let in")
        except Locked as error:
            seen.append(error.code)

    with first.transaction():
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join()
    assert seen == ["locked"]
    with second.transaction() as tx:
        tx.update_ref("main", None, b"1" * 32)
    first.close()
    second.close()


def test_a_reader_beside_a_writer_sees_whole_transactions_only(run, folder):
    writer = run(FOREVER, folder)
    assert writer.stdout is not None
    writer.stdout.readline()
    reader = open_store_reader(folder)
    before = (folder / "store.db").stat().st_mode
    for _ in range(200):
        head = reader.read_ref("main")
        assert head is not None
        latest = reader.read_operation(reader.operation_count())
        assert int(reader.read_blob(head)) <= int(latest.data)
    reader.close()
    writer.kill()
    writer.wait()
    writer.stdout.close()
    assert (folder / "store.db").stat().st_mode == before


@pytest.mark.parametrize("lines", [1, 2, 7, 40, 150])
def test_a_killed_writer_leaves_all_it_acknowledged(run, folder, lines):
    writer = run(FOREVER, folder)
    assert writer.stdout is not None
    for _ in range(lines):
        writer.stdout.readline()
    writer.kill()
    acknowledged = lines - 1 + len(writer.stdout.read().splitlines())
    writer.wait()
    writer.stdout.close()
    for store in (open_store_reader(folder), open_store(folder)):
        rows = list(store.stream_operations())
        assert rows[0].number >= acknowledged + 1
        head = store.read_ref("main")
        assert head is not None
        assert store.read_blob(head) == rows[0].data
        assert store.check_integrity() == []
        store.close()


def what_a_reader_finds(folder: Path) -> str:
    """Tell how a reader fares, which must not repair what a killed load left half done."""
    try:
        reader = open_store_reader(folder)
    except StoreError as error:
        return error.code
    found = "something" if list(reader.stream_object_ids()) else "nothing"
    reader.close()
    return found


@pytest.mark.parametrize("lines", [1, 2, 4])
def test_a_killed_first_load_leaves_an_empty_store_that_works(run, folder, lines):
    writer = run(LOAD, folder)
    assert writer.stdout is not None
    for _ in range(lines):
        writer.stdout.readline()
    writer.kill()
    writer.wait()
    writer.stdout.close()
    assert what_a_reader_finds(folder) in ("nothing", "read_only")
    store = open_store(folder)
    assert list(store.stream_object_ids()) == []
    assert store.check_integrity() == []
    with store.transaction() as tx:
        tx.put_object(ObjectKind.NODE, bytes(32), b"n")
    store.close()
    assert not (folder / "store.db-journal").exists()
    reader = open_store_reader(folder)
    assert reader.read_object(ObjectKind.NODE, bytes(32)) == b"n"
    reader.close()


def test_a_large_load_beside_another_connection_is_kept_too(folder):
    store, other = open_store(folder), open_store_reader(folder)
    contents = [b"skill %d\n" % number * 200 for number in range(2000)]
    with store.transaction(1 << 30) as tx:
        tx.put_blobs([(blob_id(content), content) for content in contents])
        tx.update_ref("main", None, b"1" * 32)
    assert other.read_ref("main") == b"1" * 32
    assert not other.find_missing(map(blob_id, contents))
    store.close()
    other.close()
