"""The file of the stat cache: what comes back from it, and what makes it absent."""

import os

import msgpack
import pytest
from blake3 import blake3

from brain.folder.stat_cache import StatCache
from tests.support.worktree_scans import (
    BUNDLE_ID,
    candidate_paths,
    load_stat_cache,
    put_file,
    save_stat_cache,
    scan_with_cache,
    settle_stat_cache,
    stat_cache_file,
)

RULES = b"r" * 32


def empty() -> StatCache:
    return StatCache(RULES, BUNDLE_ID)


def test_every_flipped_bit_and_every_cut_makes_the_file_absent():
    known = {"a/b": bytes(36), "a": bytes(36)}
    data = b"".join(empty().with_changes(BUNDLE_ID, 1, known).encode())
    assert StatCache.decode(data) is not None
    for at in range(len(data)):
        assert StatCache.decode(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]) is None
        assert StatCache.decode(data[:at]) is None


def sealed(value: object) -> bytes:
    body = bytes(msgpack.packb(value))
    return body + blake3(body).digest()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 40,
        sealed(None),
        sealed([1, 2]),
        sealed([3, RULES, BUNDLE_ID, 0, b"", b""]),
        sealed([1, RULES, BUNDLE_ID, 0, [[b"one", bytes(36)]]]),
        sealed([2, RULES, BUNDLE_ID, 0, 5, b""]),
    ],
)
def test_a_file_of_another_kind_or_version_is_absent(data):
    assert StatCache.decode(data) is None


def test_the_file_is_replaced_as_a_whole_and_is_the_owners_alone(root):
    put_file(root, "MEMORY.md")
    before = os.umask(0)
    try:
        settle_stat_cache(root)
    finally:
        os.umask(before)
    assert stat_cache_file(root).stat().st_mode & 0o777 == 0o600
    assert os.listdir(stat_cache_file(root).parent) == ["stats"]
    assert os.listdir(root / ".brain") == []


def test_a_cache_that_cannot_be_written_is_no_error(root):
    put_file(root, "MEMORY.md")
    found = scan_with_cache(root)
    folder = stat_cache_file(root).parent
    found.save_cache(root, None, BUNDLE_ID, {})
    found.save_cache(root, str(stat_cache_file(root)), BUNDLE_ID, {})  # its folder is not there
    assert not folder.exists()
    stat_cache_file(root).mkdir(parents=True)
    save_stat_cache(root, found)
    assert os.listdir(folder) == ["stats"]
    assert stat_cache_file(root).is_dir()


@pytest.mark.parametrize("control", ["gone", "file"])
def test_a_folder_that_tells_no_time_leaves_late_files_unproven(root, control):
    put_file(root, "MEMORY.md")
    (root / ".brain").rmdir()
    found = scan_with_cache(root)
    if control == "file":
        (root / ".brain").write_text("in the way")
    stat_cache_file(root).parent.mkdir()
    proven = {now.path: now.fingerprint for now in found.changed}
    found.save_cache(root, str(stat_cache_file(root)), BUNDLE_ID, proven)
    assert load_stat_cache(root) is not None
    assert candidate_paths(scan_with_cache(root)) == ["MEMORY.md"]
