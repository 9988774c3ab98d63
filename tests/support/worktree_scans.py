"""Scans of a work tree and its stat cache, for tests of the work tree."""

import os
from pathlib import Path

from brain.folder.ignore import IgnoreRules
from brain.folder.read import read_candidates
from brain.folder.scan import Scan, scan_files
from brain.folder.stat_cache import StatCache
from brain.objects.tree_node import FILE

BUNDLE_ID = b"b" * 32
HOUR_NS = 3600 * 10**9


def put_file(root: Path, path: str, content: bytes = b"text\n") -> Path:
    """Write a file of the brain, with its folders, the plain way."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def stat_cache_file(root: Path) -> Path:
    """Return where the tests keep the stat cache of a folder: beside it, never inside."""
    return root.with_name(root.name + ".stats") / "stats"


def load_stat_cache(root: Path) -> StatCache | None:
    """Load the cache that the last `remember` kept."""
    return StatCache.load(str(stat_cache_file(root)), IgnoreRules.load(root).fingerprint)


def scan_with_cache(root: Path) -> Scan:
    """Scan against the cache that is kept, if there is one."""
    return scan_files(root, IgnoreRules.load(root), load_stat_cache(root))


def scan_without_cache(root: Path) -> Scan:
    """Scan without a cache."""
    return scan_files(root, IgnoreRules.load(root), None)


def save_stat_cache(root: Path, found: Scan) -> None:
    """Read what changed and keep the cache."""
    (root / ".brain").mkdir(exist_ok=True)
    stat_cache_file(root).parent.mkdir(exist_ok=True)
    proven = {now.path: now.fingerprint for now, _ in read_candidates(root, found.changed)}
    found.save_cache(root, str(stat_cache_file(root)), BUNDLE_ID, proven)


def as_if_scanned_later(found: Scan) -> Scan:
    """Return the scan as if it had begun long after the last write, so that all is proven.

    That is true only if the clock has ticked since, and spares the tests the margin.
    """
    wall, steady = found.started
    found.started = (wall + HOUR_NS, steady + HOUR_NS)
    return found


def wait_for_clock_tick(root: Path) -> None:
    """Return when the clock of the file system has moved on, some milliseconds at most."""
    probe = root / ".brain/probe"
    probe.touch()
    start = probe.stat().st_mtime_ns
    while probe.stat().st_mtime_ns == start:
        os.utime(probe)
    probe.unlink()


def settle_stat_cache(root: Path) -> None:
    """Bring the cache to a state in which nothing is in doubt, and rightly so."""
    wait_for_clock_tick(root)
    save_stat_cache(root, as_if_scanned_later(scan_with_cache(root)))


def candidate_paths(found: Scan) -> list[str]:
    """Return the paths of the candidates."""
    return [candidate.path for candidate in found.changed]


def read_all_files(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return kind and content of every file, by a scan of everything."""
    found = scan_without_cache(root)
    out = {}
    for candidate, content in read_candidates(root, found.changed):
        whole = content if isinstance(content, bytes) else content.raw.readall()
        out[candidate.path] = (candidate.kind, whole)
    return out


def plain_file(content: bytes) -> tuple[int, bytes]:
    """Return a plain file as `contents` gives it."""
    return FILE, content
