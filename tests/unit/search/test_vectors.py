"""The file of vectors, which may be lost at any time."""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from brain.digest import blob_id
from brain.search import meaning
from brain.search.meaning import VectorCache


def row(*numbers: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(numbers, np.float32)


def blobs(*names: str) -> list[bytes]:
    return [blob_id(name.encode()) for name in names]


A, B, C = blobs("a", "b", "c")


def known(folder: Path, identity: str = "one") -> dict[str, list[float]]:
    found = VectorCache(str(folder), identity)
    named = {"a": A, "b": B, "c": C}
    return {
        name: vector.tolist()
        for name, blob in named.items()
        if (vector := found.get(blob)) is not None
    }


def file(folder: Path) -> Path:
    (found,) = folder.glob("vectors-*.bin")
    return found


def test_what_was_added_is_there_for_the_next(tmp_path):
    first = VectorCache(str(tmp_path), "one")
    first.add({A: row(1, 2), B: row(3, 4)})
    first.add({C: row(5, 6)})
    assert known(tmp_path) == {"a": [1, 2], "b": [3, 4], "c": [5, 6]}
    assert known(tmp_path, "another") == {}
    assert stat.S_IMODE(file(tmp_path).stat().st_mode) == 0o600


def test_two_processes_add_to_one_file(tmp_path):
    first, second = VectorCache(str(tmp_path), "one"), VectorCache(str(tmp_path), "one")
    first.add({A: row(1, 2)})
    second.add({B: row(3, 4)})
    first.add({C: row(5, 6)})
    assert known(tmp_path) == {"a": [1, 2], "b": [3, 4], "c": [5, 6]}
    assert first.get(B) is not None


def test_what_was_cut_off_or_damaged_is_not_believed_and_overwritten(tmp_path):
    made = VectorCache(str(tmp_path), "one")
    made.add({A: row(1, 2)})
    whole = file(tmp_path).read_bytes()
    made.add({B: row(3, 4)})
    data = file(tmp_path).read_bytes()
    for damaged in (data[:-1], data[:-1] + b"\xff", data[: len(whole) + 5]):
        file(tmp_path).write_bytes(damaged)
        assert known(tmp_path) == {"a": [1, 2]}
        VectorCache(str(tmp_path), "one").add({C: row(5, 6)})
        assert known(tmp_path) == {"a": [1, 2], "c": [5, 6]}
    for damaged in (b"", b"nonsense", data[:40]):
        file(tmp_path).write_bytes(damaged)
        assert known(tmp_path) == {}
        VectorCache(str(tmp_path), "one").add({C: row(5, 6)})
        assert known(tmp_path) == {"c": [5, 6]}


def test_vectors_of_another_length_take_the_place_of_all(tmp_path):
    made = VectorCache(str(tmp_path), "one")
    made.add({A: row(1, 2)})
    made.add({B: row(1, 2, 3)})
    assert known(tmp_path) == {"b": [1, 2, 3]} and made.get(A) is None


def test_what_nobody_asks_for_any_more_goes_when_there_is_much_of_it(tmp_path, monkeypatch):
    made = VectorCache(str(tmp_path), "one")
    made.add({A: row(1, 2), B: row(3, 4), C: row(5, 6)})
    made.retain([A])
    assert len(known(tmp_path)) == 3
    monkeypatch.setattr(meaning, "_MAX_UNUSED_VECTORS", 0)
    made.retain([A, *blobs("never")])
    assert known(tmp_path) == {"a": [1, 2]}
    made.add({B: row(7, 8)})
    assert known(tmp_path) == {"a": [1, 2], "b": [7, 8]}
    made.retain([])
    assert known(tmp_path) == {}


def test_vectors_that_another_process_added_survive_a_shrink(tmp_path, monkeypatch):
    monkeypatch.setattr(meaning, "_MAX_UNUSED_VECTORS", 0)
    first = VectorCache(str(tmp_path), "one")
    first.add({A: row(1, 2), B: row(3, 4)})
    VectorCache(str(tmp_path), "one").add({C: row(5, 6)})
    first.retain([])
    assert known(tmp_path) == {"c": [5, 6]}


def test_a_writer_that_waited_for_a_shrink_adds_to_the_new_file(tmp_path, monkeypatch):
    monkeypatch.setattr(meaning, "_MAX_UNUSED_VECTORS", 0)
    first, second = VectorCache(str(tmp_path), "one"), VectorCache(str(tmp_path), "one")
    first.add({A: row(1, 2), B: row(3, 4)})
    open_and_lock = meaning.lock_file

    @contextmanager
    def lock_after_a_shrink(path: str) -> Iterator[int]:
        monkeypatch.setattr(meaning, "lock_file", open_and_lock)
        with open(path, "r+b") as old:
            first.retain([])
            yield old.fileno()

    monkeypatch.setattr(meaning, "lock_file", lock_after_a_shrink)
    second.add({C: row(5, 6)})
    assert known(tmp_path) == {"c": [5, 6]}


def test_where_nothing_can_be_written_vectors_are_kept_in_memory(tmp_path):
    made = VectorCache(str(tmp_path / "nowhere"), "one")
    made.add({A: row(1, 2)})
    assert made.get(A) is not None and list(tmp_path.iterdir()) == []
