"""No change is missed, however soon it follows the look before ("racy git")."""

import os
import shutil
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain.folder.read import read_candidates
from tests.support.worktree_scans import (
    as_if_scanned_later,
    candidate_paths,
    put_file,
    read_all_files,
    save_stat_cache,
    scan_with_cache,
    settle_stat_cache,
    stat_cache_file,
)


def test_a_rewrite_of_the_same_size_right_after_the_scan_is_seen(root):
    for number in range(200):
        put_file(root, "memory/m", b"%08d" % number)
        found = scan_with_cache(root)
        assert "memory/m" in candidate_paths(found)
        [(_, content)] = list(read_candidates(root, found.changed))
        assert content == b"%08d" % number
        save_stat_cache(root, found)


def test_a_rewrite_between_the_scan_and_the_reading_is_seen(root):
    put_file(root, "memory/m", b"aaaa")
    found = scan_with_cache(root)
    put_file(root, "memory/m", b"bbbb")
    save_stat_cache(root, found)
    assert candidate_paths(scan_with_cache(root)) == ["memory/m"]


def test_a_file_put_into_a_folder_right_after_it_was_listed_is_seen(root):
    for number in range(100):
        save_stat_cache(root, scan_with_cache(root))
        put_file(root, f"memory/{number}")
        assert f"memory/{number}" in candidate_paths(scan_with_cache(root))


def test_a_candidate_nobody_read_stays_a_candidate(root):
    put_file(root, "a")
    put_file(root, "b")
    found = as_if_scanned_later(scan_with_cache(root))
    found.changed = found.changed[:1]
    save_stat_cache(root, found)
    put_file(root, "c")
    assert candidate_paths(scan_with_cache(root)) == ["b", "c"]


PATHS = ["m", "s/a", "s/b", "s/t/a", "s/t/b", "u/v/w/x", "s/S", "m.d/x"]
ACTS = st.tuples(
    st.sampled_from(["write", "write", "touch", "mode", "remove", "move", "link", "fifo", "scan"]),
    st.sampled_from(PATHS),
    st.sampled_from(PATHS),
    st.sampled_from([b"aaaa", b"bbbb", b"ccccc"]),
)


def clear(path: Path) -> None:
    """Make room at `path`, whatever is there or in the way above it."""
    for above in reversed(path.parents):
        if above.is_symlink() or (above.exists() and not above.is_dir()):
            above.unlink()
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)


def act(root: Path, what: str, path: Path, other: Path, content: bytes) -> None:
    if what == "write":
        clear(path)
        path.write_bytes(content)
    elif what == "link":
        clear(path)
        path.symlink_to("b")
    elif what == "fifo":
        clear(path)
        os.mkfifo(path)
    elif what == "scan" or not path.exists() or path.is_symlink():
        settle_stat_cache(root)
    elif what == "touch":
        os.utime(path)
    elif what == "mode":
        path.chmod(path.stat().st_mode ^ 0o100)
    elif what == "remove":
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    elif what == "move" and path not in (other, *other.parents) and other not in path.parents:
        clear(other)
        path.rename(other)


@settings(
    max_examples=120,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(acts=st.lists(ACTS, min_size=1, max_size=25))
def test_what_the_cache_leads_to_is_what_a_scan_of_everything_finds(tmp_path, acts):
    root = tmp_path / "brain"
    shutil.rmtree(root, ignore_errors=True)
    shutil.rmtree(stat_cache_file(root).parent, ignore_errors=True)
    (root / ".brain").mkdir(parents=True)
    known: dict[str, tuple[int, bytes]] = {}
    for what, path, other, content in acts:
        act(root, what, root / path, root / other, content)
        found = scan_with_cache(root)
        if found.cache.bundle == b"":
            known = {}
        known = known_after(root, known, found.removed)
        assert known == read_all_files(root)
        assert found.files == len(known)
        save_stat_cache(root, found)


def known_after(
    root: Path, known: dict[str, tuple[int, bytes]], removed: list[str]
) -> dict[str, tuple[int, bytes]]:
    """Bring a model of the folder forward by what a scan reported."""
    after = {path: value for path, value in known.items() if path not in removed}
    for candidate, content in read_candidates(root, scan_with_cache(root).changed):
        assert isinstance(content, bytes)
        after[candidate.path] = (candidate.kind, content)
    return after
