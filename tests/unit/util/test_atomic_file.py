"""Atomic and durable writes of whole files."""

import os
import threading
from collections.abc import Iterator

import pytest

from brain.util import settings
from brain.util.files import move_durable, write_atomic


@pytest.fixture
def calls(monkeypatch):
    """The names of the system calls for durability and renames, as they are made."""
    made: list[str] = []
    for name in ("fsync", "replace", "link"):
        real = getattr(os, name)

        def record(
            *args: object, _name: str = name, _real: object = real, **kwargs: object
        ) -> None:
            made.append(_name)
            _real(*args, **kwargs)  # type: ignore[operator]

        monkeypatch.setattr(os, name, record)
    return made


def test_content_is_synced_before_the_rename_and_the_folder_after(tmp_path, calls):
    assert write_atomic(tmp_path / "a", b"text") == 4
    assert calls == ["fsync", "replace", "fsync"]
    assert (tmp_path / "a").read_bytes() == b"text"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_a_file_of_another_program_keeps_its_permissions(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(0o640)
    write_atomic(file, b"new", mode=None)
    assert file.read_bytes() == b"new" and file.stat().st_mode & 0o777 == 0o640


def test_a_write_that_is_not_durable_syncs_nothing(tmp_path, calls):
    write_atomic(tmp_path / "a", iter([b"te", b"xt"]), durable=False)
    assert calls == ["replace"]
    assert (tmp_path / "a").read_bytes() == b"text"


def test_permissions_are_exact_or_those_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "exact", b"", mode=0o666)
        write_atomic(tmp_path / "usual", b"", mode=None)
        os.umask(0o777)
        write_atomic(tmp_path / "private", b"")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("exact", "usual", "private")] == [
        0o666,
        0o640,
        0o600,
    ]


def test_without_replace_a_file_that_exists_stays(tmp_path):
    write_atomic(tmp_path / "a", b"old", replace=False)
    with pytest.raises(FileExistsError):
        write_atomic(tmp_path / "a", b"new", replace=False)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path):
    def broken() -> Iterator[bytes]:
        yield b"new"
        raise KeyboardInterrupt

    def refuse() -> None:
        raise ValueError

    write_atomic(tmp_path / "a", b"old")
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "a", broken())
    with pytest.raises(ValueError):
        write_atomic(tmp_path / "a", b"new", before_rename=refuse)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_path_may_be_relative_to_a_folder_descriptor(tmp_path):
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        write_atomic("a", b"text", dir_fd=handle)
        with pytest.raises(FileExistsError):
            write_atomic("a", b"new", dir_fd=handle, replace=False)
    finally:
        os.close(handle)
    assert (tmp_path / "a").read_bytes() == b"text"


def test_a_name_of_the_greatest_length_can_be_written(tmp_path):
    for name in ("n" * 255, "語" * 85):
        write_atomic(tmp_path / name, b"text")
        assert (tmp_path / name).read_bytes() == b"text"


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        write_atomic(tmp_path / "none" / "a", b"")
    assert error.value.filename == tmp_path / "none" / "a"


def test_a_move_syncs_both_folders(tmp_path, calls):
    (tmp_path / "new").mkdir()
    (tmp_path / "a").write_bytes(b"text")
    move_durable(tmp_path / "a", tmp_path / "new" / "b")
    assert calls == ["replace", "fsync", "fsync"]
    assert (tmp_path / "new" / "b").read_bytes() == b"text"


def _run_in_threads(count: int, work: object) -> list[Exception]:
    failures: list[Exception] = []
    start = threading.Barrier(count)

    def run() -> None:
        try:
            start.wait()
            for _ in range(40):
                work()  # type: ignore[operator]
        except Exception as error:  # noqa: BLE001 (reported by the test)
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def test_two_threads_may_write_the_same_settings_at_once(tmp_path):
    path = tmp_path / "settings.json"
    failures = _run_in_threads(2, lambda: settings.replace_settings_file(path, {"format": "x"}))
    assert failures == []
    assert os.listdir(tmp_path) == ["settings.json"]
