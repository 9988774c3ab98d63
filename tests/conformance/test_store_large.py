"""Large blobs: any history of edits comes back whole, and costs about what it changed."""

import io
import random
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.digest import blob_id
from brain.store.blobs import CODEC_CHUNK_LIST, SMALL_CHUNK_BYTES
from brain.store.large_blobs import MAX_CHUNK_BYTES, MEAN_CHUNK_BYTES
from brain.store.rows import LARGE_BLOB_BYTES
from brain.store.writer import Store, create_store
from tests.support.blob_checks import check_all_blobs


def text(size: int, seed: int) -> bytes:
    """Return lines of words, as a memory file holds them."""
    rng = random.Random(seed)
    words = [rng.randbytes(rng.randint(1, 4)).hex() for _ in range(500)]
    lines: list[str] = []
    length = 0
    while length < size:
        lines.append(" ".join(rng.choices(words, k=12)) + "\n")
        length += len(lines[-1])
    return "".join(lines).encode()[:size]


PROSE = text(1 << 20, 1)
NOISE = random.Random(2).randbytes(1 << 20)


def stored_bytes(folder: Path) -> int:
    flags = apsw.SQLITE_OPEN_READONLY
    with closing(apsw.Connection(str(folder / "store.db"), flags=flags)) as db:
        ((total,),) = db.execute("SELECT ifnull(sum(length(data)), 0) FROM blobs").fetchall()
    assert isinstance(total, int)
    return total


def put(store: Store, content: bytes, base: bytes | None) -> bytes:
    with store.transaction() as tx:
        return tx.put_blob_stream(io.BytesIO(content), len(content), base)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / ".brain"


@pytest.fixture
def disk(folder):
    store = create_store(folder)
    yield store
    store.close()


edits = st.lists(
    st.tuples(
        st.sampled_from(["append", "insert", "delete", "replace"]),
        st.floats(0, 1),
        st.sampled_from([1, 100, 5000, 40_000, 300_000]),
    ),
    min_size=1,
    max_size=6,
)


def edited(content: bytes, how: str, where: float, size: int, source: bytes) -> bytes:
    at = int(where * len(content))
    new = source[at % 1000 : at % 1000 + size]
    if how == "append":
        return content + new
    if how == "insert":
        return content[:at] + new + content[at:]
    if how == "delete":
        return content[:at] + content[at + size :]
    return content[:at] + new + content[at + size :]


@given(
    start=st.integers(LARGE_BLOB_BYTES - 2, 700_000),
    steps=edits,
    source=st.sampled_from([PROSE, NOISE]),
)
@settings(max_examples=15)
def test_every_version_of_an_edited_file_comes_back_under_its_plain_hash(
    tmp_path_factory, start, steps, source
):
    store = create_store(tmp_path_factory.mktemp("b") / "s")
    versions = [source[:start]]
    for how, where, size in steps:
        versions.append(edited(versions[-1], how, where, size, source))
    base: bytes | None = None
    for content in versions:
        base = put(store, content, base)
        assert base == blob_id(content)
    for content in versions:
        assert b"".join(store.stream_blob(blob_id(content))) == content
        assert store.blob_size(blob_id(content)) == len(content)
    assert check_all_blobs(store).faults == []
    store.close()


@pytest.mark.parametrize("line", [100, 1000])
def test_appending_lines_costs_about_the_lines(disk, folder, line):
    content = PROSE
    base = put(disk, content, None)
    before = stored_bytes(folder)
    costs: list[int] = []
    for number in range(150):
        at = number * line % 500_000
        content += NOISE[at : at + line]
        base = put(disk, content, base)
        costs.append(stored_bytes(folder) - before - sum(costs))
    assert disk.read_blob(base) == content
    assert sum(cost > 8 << 10 for cost in costs) <= 5
    assert max(costs) <= SMALL_CHUNK_BYTES + 64 * line + (8 << 10)
    assert sum(costs) <= 150 * (3 * line + 3000)


def test_a_small_file_that_grows_large_is_stored_once(disk, folder):
    with disk.transaction() as tx:
        base = tx.put_blob(NOISE[: LARGE_BLOB_BYTES - 100])
    before = stored_bytes(folder)
    grown = put(disk, NOISE[: LARGE_BLOB_BYTES + 100], base)
    assert stored_bytes(folder) - before < 1000
    assert disk.read_blob(grown) == NOISE[: LARGE_BLOB_BYTES + 100]


@pytest.mark.parametrize(
    "make", [lambda: text(8 << 20, 3), lambda: random.Random(4).randbytes(8 << 20)]
)
def test_an_edit_in_the_middle_stores_a_few_chunks(disk, folder, make):
    source = make()
    base = put(disk, source, None)
    before = stored_bytes(folder)
    middle = len(source) // 2
    content = source[:middle] + b"a line that was not there\n" + source[middle:]
    new = put(disk, content, base)
    chunks = len(source) // MEAN_CHUNK_BYTES
    assert stored_bytes(folder) - before <= 3 * MAX_CHUNK_BYTES + 40 * chunks
    assert disk.read_blob(new) == content


@pytest.mark.parametrize("expected", [0, 32 << 20])
@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_a_blob_at_the_limit_is_stored_whichever_way_it_comes(disk, expected, extra):
    first, second, third = (NOISE[start : start + LARGE_BLOB_BYTES + extra] for start in (0, 1, 2))
    with disk.transaction(expected) as tx:
        tx.put_blobs([(blob_id(first), first), (blob_id(b"small"), b"small")])
        assert tx.put_blob(second) == blob_id(second)
        assert tx.put_blob_stream(io.BytesIO(third), len(third), None) == blob_id(third)
    for content in (first, second, third, b"small"):
        assert disk.read_blob(blob_id(content)) == content
    for content in (first, second, third):
        ((codec,),) = disk._db.fetch_all("SELECT codec FROM blobs WHERE id = ?", [blob_id(content)])
        assert (codec != CODEC_CHUNK_LIST) == (extra < 0)


def test_an_unchanged_file_stores_nothing(disk, folder):
    base = put(disk, PROSE, None)
    before = stored_bytes(folder)
    assert put(disk, PROSE, base) == base
    assert put(disk, PROSE, None) == base
    assert stored_bytes(folder) == before


def test_a_base_that_is_not_here_or_not_a_prefix_does_no_harm(disk):
    base = put(disk, PROSE, None)
    for content in (PROSE[:-1], b"x" + PROSE, NOISE):
        assert put(disk, content, base) == blob_id(content)
        assert disk.read_blob(blob_id(content)) == content
    assert put(disk, NOISE[:-1], bytes(32)) == blob_id(NOISE[:-1])


def test_a_file_that_grows_by_chunks_for_long_stays_whole(disk):
    content = PROSE[:LARGE_BLOB_BYTES]
    base = put(disk, content, None)
    for number in range(130):
        content += NOISE[number * 1000 : number * 1000 + 33_000]
        base = put(disk, content, base)
    sizes = [size for _, size in disk._fetch_chunk_list(base).pieces]
    assert len(sizes) < 140 and sum(sizes) == len(content)
    assert disk.read_blob(base) == content
    assert check_all_blobs(disk).faults == []


PEAK = """
import os, sys
from pathlib import Path
from brain.store.checks import check_blobs
from brain.store.writer import create_store
folder = Path(sys.argv[1])
store = create_store(folder / "s")
with open(folder / "big", "r+b", buffering=0) as file:
    size = 96 << 20
    os.truncate(file.fileno(), size)
    with store.transaction() as tx:
        base = tx.put_blob_stream(file, size, None)
    file.seek(size)
    file.write(b"one more line")
    file.seek(0)
    with store.transaction() as tx:
        grown = tx.put_blob_stream(file, size + 13, base)
assert sum(map(len, store.stream_blob(grown))) == size + 13
with check_blobs(store, lambda id, content: False) as parts:
    assert not [part for part in parts if part.faults]
print(*[line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")])
"""


def test_a_large_file_is_never_held_in_memory(tmp_path, project):
    (tmp_path / "big").write_bytes(NOISE * 24)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, tmp_path],
        env={"PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 60 << 10  # KiB at the peak, of this program alone
