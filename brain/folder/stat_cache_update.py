"""Write the next stat cache: the previous one with the changes of a scan."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from contextlib import suppress

from ..objects.paths import TEMPORARY_PREFIX
from ..util.files import write_atomic
from . import handles
from .handles import OPEN_FOLDER_FLAGS, RootPath, open_root
from .scan import ScanResult
from .stat_cache import ROOT_FOLDER_PATH, StatCache, encode_stat_cache

CONTROL_FOLDER = ".brain"
_UNREAD_FILE = handles.pack_fingerprint(0, 0, 0, 0, stat.S_IFREG)
"""What is known of a file that no scan could read."""
_MAX_CLOCK_SKEW_NS = 3600 * 10**9
"""Nanoseconds by which the clock of a file system that cannot be asked may differ from ours."""
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_stat_cache(
    root: RootPath,
    file: str | None,
    scan: ScanResult,
    bundle: bytes,
    proven: Mapping[str, bytes],
    kept: Collection[str] = (),
) -> None:
    """Write the cache after `scan` to `file`, for the bundle with the id `bundle`.

    `proven` maps those of `scan.changed` whose content is in that bundle to their fingerprint
    while they were read; the others will be candidates again. `kept` are the files of the bundle
    that were skipped. The bundle must not contain `scan.removed`. The file is replaced
    atomically, for its owner alone. If it cannot be written, the old cache stays.
    """
    if file is None:
        return
    with open_root(root) as root_fd, suppress(OSError):
        moment = _scan_start_time(root_fd, scan)
        data = encode_stat_cache(next_stat_cache(scan, bundle, proven, moment, kept))
        write_atomic(file, data, durable=False)


def _scan_start_time(root_fd: int, scan: ScanResult) -> int:
    """Return when the scan began, by the clock of the brain's file system.

    A new file there shows that clock. If none can be created, the clocks are assumed to differ
    by less than _MAX_CLOCK_SKEW_NS.
    """
    try:
        folder_fd = os.open(CONTROL_FOLDER, OPEN_FOLDER_FLAGS, dir_fd=root_fd)
    except OSError:
        return scan.started.wall_ns - _MAX_CLOCK_SKEW_NS
    temporary = TEMPORARY_PREFIX + os.urandom(8).hex()
    try:
        fd = os.open(temporary, _CREATE_FLAGS, 0o600, dir_fd=folder_fd)
        try:
            return handles.file_system_time(scan.started, os.fstat(fd).st_mtime_ns)
        finally:
            os.close(fd)
    except OSError:
        return scan.started.wall_ns - _MAX_CLOCK_SKEW_NS
    finally:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder_fd)
        os.close(folder_fd)


def next_stat_cache(
    scan: ScanResult,
    bundle: bytes,
    proven: Mapping[str, bytes],
    moment: int,
    kept: Collection[str] = (),
) -> StatCache:
    """Return the next cache; the scan began at `moment`, by the clock of the file system.

    Files and folders that could have changed after `moment` with the same times are unproven and
    will be read again. So are folders with notices or skills that are left out, so that each
    scan repeats these.
    """

    def proven_or_unmatchable(fingerprint: bytes, is_proven: bool) -> bytes:
        if is_proven and not handles.is_racy(fingerprint, moment):
            return fingerprint
        return handles.unmatchable_fingerprint(fingerprint)

    reported_paths = [
        *(notice.path for notice in scan.notices),
        *(place.path for place in scan.left_out_skills),
        *scan.skipped,
    ]
    noticed = {path.rpartition("/")[0] for path in reported_paths}
    changes: dict[str, bytes | None] = dict.fromkeys((*scan.lost, *scan.removed))
    for folder, fingerprint in scan.folders.items():
        path = folder or ROOT_FOLDER_PATH
        changes[path] = proven_or_unmatchable(fingerprint, folder not in noticed)
    for candidate in scan.changed:
        known = proven.get(candidate.path, b"")
        changes[candidate.path] = proven_or_unmatchable(known or candidate.fingerprint, bool(known))
    changes.update((path, changes.get(path) or _UNREAD_FILE) for path in kept)
    files = scan.files + (0 if scan.cache.parts else len(kept))
    return scan.cache.with_changes(bundle, files, changes)
