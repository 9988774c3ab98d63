"""Write the next stat cache: the previous one and what a scan found."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from ..util.atomic_file import write_atomic
from . import file_fingerprint
from .dirfd import OPEN_FOLDER_FLAGS, RootPath, open_root
from .ignore_rules import TEMPORARY_PREFIX
from .scan import ScanResult
from .stat_cache import ROOT_FOLDER_PATH, StatCache, encode_stat_cache

CONTROL_FOLDER = ".brain"
_MAX_CLOCK_SKEW_NS = 3600 * 10**9
"""Nanoseconds by which the clock of a file system that cannot be asked may differ from ours."""
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_stat_cache(
    root: RootPath, file: str | None, scan: ScanResult, bundle: bytes, proven: Mapping[str, bytes]
) -> None:
    """Write to `file` the cache that follows from `scan`, for the bundle with the id `bundle`.

    `proven` maps those of `scan.changed` whose content is what that bundle holds to the
    fingerprint they had while they were read; the others will be candidates again, and
    `scan.removed` must not be in the bundle any more. The file is replaced atomically
    and readable by its owner alone. A cache that cannot be written is no error: the old
    one stays.
    """
    if file is None:
        return
    with open_root(root) as root_fd, suppress(OSError):
        moment = _scan_start_time(root_fd, scan)
        data = encode_stat_cache(next_stat_cache(scan, bundle, proven, moment))
        write_atomic(file, data, durable=False)


def _scan_start_time(root_fd: int, scan: ScanResult) -> int:
    """Return when the scan began, by the clock of the brain's file system.

    A file made there tells that clock. Where none may be made, the two clocks are taken to
    differ by less than `_SKEW`.
    """
    try:
        folder_fd = os.open(CONTROL_FOLDER, OPEN_FOLDER_FLAGS, dir_fd=root_fd)
    except OSError:
        return scan.started.wall_ns - _MAX_CLOCK_SKEW_NS
    temporary = TEMPORARY_PREFIX + os.urandom(8).hex()
    try:
        fd = os.open(temporary, _CREATE_FLAGS, 0o600, dir_fd=folder_fd)
        try:
            return file_fingerprint.file_system_time(scan.started, os.fstat(fd).st_mtime_ns)
        finally:
            os.close(fd)
    except OSError:
        return scan.started.wall_ns - _MAX_CLOCK_SKEW_NS
    finally:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder_fd)
        os.close(folder_fd)


def next_stat_cache(
    scan: ScanResult, bundle: bytes, proven: Mapping[str, bytes], moment: int
) -> StatCache:
    """Return the cache that `record` writes; `moment` is when the scan began, by the files' clock.

    Not proven, and so looked at again, are also files and folders that could have changed
    after `moment` without their times showing it, and folders with something in them
    that was left out with a notice, so that the notice is given each time.
    """
    noticed = {notice.path.rpartition("/")[0] for notice in scan.notices}
    changes: dict[str, bytes | None] = dict.fromkeys((*scan.lost, *scan.removed))
    for folder, known in scan.folders.items():
        doubtful = folder in noticed or file_fingerprint.is_racy(known, moment)
        changes[folder or ROOT_FOLDER_PATH] = (
            file_fingerprint.unmatchable_fingerprint(known) if doubtful else known
        )
    for candidate in scan.changed:
        known = proven.get(candidate.path, b"")
        doubtful = not known or file_fingerprint.is_racy(known, moment)
        changes[candidate.path] = (
            file_fingerprint.unmatchable_fingerprint(candidate.fingerprint) if doubtful else known
        )
    return scan.cache.with_changes(bundle, scan.files, changes)
