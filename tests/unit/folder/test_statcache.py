"""The file of the stat cache: what comes back from it, and what makes it absent."""

import os
from types import SimpleNamespace
from typing import cast

import msgpack
import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from brain.folder import handles
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
NAMES = st.text(st.sampled_from("abé-./"), min_size=1, max_size=9).filter(
    lambda path: all(part not in ("", ".", "..") for part in path.split("/"))
)
PRINTS = st.binary(min_size=handles.FINGERPRINT_BYTES, max_size=handles.FINGERPRINT_BYTES)


def empty() -> StatCache:
    return StatCache(RULES, BUNDLE_ID)


@given(st.lists(st.dictionaries(NAMES, st.none() | PRINTS, max_size=12), max_size=4))
def test_a_cache_holds_what_was_set_and_not_dropped_in_the_order_of_folders(steps):
    cache, model = empty(), dict[str, bytes]()
    for changes in steps:
        cache = cache.with_changes(BUNDLE_ID, 7, changes)
        model |= {path: known for path, known in changes.items() if known is not None}
        model = {path: known for path, known in model.items() if changes.get(path, known)}
    again = StatCache.decode(b"".join(cache.encode()))
    assert again is not None
    assert (again.rules, again.bundle) == (RULES, BUNDLE_ID)
    assert dict(again.entries()) == model
    assert again.paths == sorted(again.paths, key=lambda path: path.rpartition(b"/")[::2])
    for folder in {path.rpartition("/")[0] for path in model} | {"nowhere"}:
        names = {path.rpartition("/")[2] for path in model if path.rpartition("/")[0] == folder}
        assert set(again.children(folder)) == names
        below = {path: known for path, known in model.items() if path.startswith(folder + "/")}
        assert dict(again.entries_below({folder})) == below


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


@pytest.mark.parametrize("damage", ["missing", "empty", "folder", "link", "noise"])
def test_a_scan_without_a_usable_cache_reads_everything_again(root, damage):
    put_file(root, "MEMORY.md")
    settle_stat_cache(root)
    index = stat_cache_file(root)
    kept = index.read_bytes()
    index.unlink()
    if damage == "empty":
        index.write_bytes(b"")
    elif damage == "folder":
        index.mkdir()
    elif damage == "link":
        index.with_name("real").write_bytes(kept)
        index.symlink_to("real")
    elif damage == "noise":
        index.write_bytes(kept[:50] + b"\0" + kept[51:])
    assert load_stat_cache(root) is None
    assert candidate_paths(scan_with_cache(root)) == ["MEMORY.md"]


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


def stat_with(mtime: int, ctime: int) -> os.stat_result:
    """A stat no file system here can be brought to give."""
    made = SimpleNamespace(
        st_mtime_ns=mtime, st_ctime_ns=ctime, st_size=1, st_ino=2**64 - 1, st_mode=0o100644
    )
    return cast(os.stat_result, made)


@pytest.mark.parametrize("time", [-1, 0, 2**63 - 1, 2**63, -(2**63) - 1, 253402300799 * 10**9])
def test_files_22_every_time_has_a_fingerprint(time):
    known = handles.fingerprint_of(stat_with(time, time))
    assert len(known) == handles.FINGERPRINT_BYTES
    assert handles.fingerprint_mode(known) == 0o100644
    assert handles.is_racy(known, 10**18) == (time > 10**18)


@pytest.mark.parametrize(
    ("age", "recent"), [(-1, True), (1, True), (49_999_999, True), (50_000_001, False)]
)
def test_a_fine_clock_has_a_margin_of_50_ms(age, recent):
    moment = 10**18 + 123_456_789
    for times in ((moment - age, 7), (7, moment - age)):
        assert handles.is_racy(handles.fingerprint_of(stat_with(*times)), moment) is recent


@pytest.mark.parametrize(("seconds", "recent"), [(0, True), (1, True), (2, False), (3, False)])
def test_a_clock_of_whole_seconds_has_a_margin_of_two(seconds, recent):
    moment = 10**18
    known = handles.fingerprint_of(stat_with(moment - seconds * 10**9, 7))
    assert handles.is_racy(known, moment) is recent


def test_what_is_unproven_keeps_its_type_and_equals_no_file():
    known = handles.unmatchable_fingerprint(handles.fingerprint_of(stat_with(5, 5)))
    assert handles.fingerprint_mode(known) == 0o100644
    assert known != handles.fingerprint_of(stat_with(0, 0))


def test_the_moment_of_a_scan_goes_by_the_longer_of_two_clocks(root):
    put_file(root, "MEMORY.md")
    hour = 3600 * 10**9
    for sleeps, set_back in ((hour, 0), (0, hour)):
        found = scan_with_cache(root)
        wall, steady = found.started
        found.started = (wall - sleeps, steady - set_back)
        save_stat_cache(root, found)
        assert candidate_paths(scan_with_cache(root)) == ["MEMORY.md"]
