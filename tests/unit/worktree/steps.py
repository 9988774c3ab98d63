"""Steps that the tests of the work tree share."""

from __future__ import annotations

import os
from pathlib import Path

from brain.objects.entry import FILE
from brain.worktree import record, statcache, stats
from brain.worktree.ignore import IgnoreRules
from brain.worktree.reading import read_many
from brain.worktree.scan import Scan, scan
from brain.worktree.statcache import StatCache

BUNDLE = b"b" * 32
HOUR = 3600 * 10**9


def put(root: Path, path: str, content: bytes = b"text\n") -> Path:
    """Write a file of the brain, with its folders, the plain way."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def stat_file(root: Path) -> Path:
    """Return where the tests keep the stat cache of a folder: beside it, never inside."""
    return root.with_name(root.name + ".stats") / "stats"


def cache_of(root: Path) -> StatCache | None:
    """Load the cache that the last `remember` kept."""
    return statcache.load(str(stat_file(root)), IgnoreRules.load(root).fingerprint)


def look(root: Path) -> Scan:
    """Scan against the cache that is kept, if there is one."""
    return scan(root, IgnoreRules.load(root), cache_of(root))


def look_afresh(root: Path) -> Scan:
    """Scan without a cache."""
    return scan(root, IgnoreRules.load(root), None)


def remember(root: Path, found: Scan) -> None:
    """Read what changed and keep the cache."""
    (root / ".brain").mkdir(exist_ok=True)
    stat_file(root).parent.mkdir(exist_ok=True)
    proven = {now.path: now.fingerprint for now, _ in read_many(root, found.changed)}
    record.record(root, str(stat_file(root)), found, BUNDLE, proven)


def settled(found: Scan) -> Scan:
    """Return the scan as if it had begun long after the last write, so that all is proven.

    That is true only if the clock has ticked since, and spares the tests the margin.
    """
    wall, steady = found.started
    return found._replace(started=stats.Moment(wall + HOUR, steady + HOUR))


def next_tick(root: Path) -> None:
    """Return when the clock of the file system has moved on, some milliseconds at most."""
    probe = root / ".brain/probe"
    probe.touch()
    start = probe.stat().st_mtime_ns
    while probe.stat().st_mtime_ns == start:
        os.utime(probe)
    probe.unlink()


def settle(root: Path) -> None:
    """Bring the cache to a state in which nothing is in doubt, and rightly so."""
    next_tick(root)
    remember(root, settled(look(root)))


def changed(found: Scan) -> list[str]:
    """Return the paths of the candidates."""
    return [candidate.path for candidate in found.changed]


def contents(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return kind and content of every file, by a scan of everything."""
    found = look_afresh(root)
    out = {}
    for candidate, content in read_many(root, found.changed):
        whole = content if isinstance(content, bytes) else content.raw.readall()
        out[candidate.path] = (candidate.kind, whole)
    return out


def text(content: bytes) -> tuple[int, bytes]:
    """Return a plain file as `contents` gives it."""
    return FILE, content
