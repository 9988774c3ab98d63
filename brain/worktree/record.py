"""Keeping the next stat cache: what the last one knew, and what a scan found since."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from . import stats
from .defaults import TEMPORARY
from .folders import FOLDER, Root, opened, write_all
from .scan import Scan
from .statcache import ROOT, StatCache, encode

CONTROL = ".brain"
_SKEW = 3600 * 10**9
"""Nanoseconds by which the clock of a file system that cannot be asked may differ from ours."""
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def record(
    root: Root, file: str | None, scan: Scan, bundle: bytes, proven: Mapping[str, bytes]
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
    with opened(root) as root_fd, suppress(OSError):
        moment = _moment(root_fd, scan)
        _replace(file, encode(following(scan, bundle, proven, moment)))


def _moment(root_fd: int, scan: Scan) -> int:
    """Return when the scan began, by the clock of the brain's file system.

    A file made there tells that clock. Where none may be made, the two clocks are taken to
    differ by less than `_SKEW`.
    """
    try:
        folder_fd = os.open(CONTROL, FOLDER, dir_fd=root_fd)
    except OSError:
        return scan.started.wall - _SKEW
    temporary = TEMPORARY + os.urandom(8).hex()
    try:
        fd = os.open(temporary, _CREATE, 0o600, dir_fd=folder_fd)
        try:
            return stats.horizon(scan.started, os.fstat(fd).st_mtime_ns)
        finally:
            os.close(fd)
    except OSError:
        return scan.started.wall - _SKEW
    finally:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder_fd)
        os.close(folder_fd)


def _replace(file: str, data: bytes) -> None:
    temporary = f"{file}.{os.urandom(8).hex()}"
    try:
        fd = os.open(temporary, _CREATE, 0o600)
        try:
            write_all(fd, data)
        finally:
            os.close(fd)
        os.replace(temporary, file)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def following(scan: Scan, bundle: bytes, proven: Mapping[str, bytes], moment: int) -> StatCache:
    """Return the cache that `record` writes; `moment` is when the scan began, by the files' clock.

    Not proven, and so looked at again, are also files and folders that could have changed
    after `moment` without their times showing it, and folders with something in them
    that was left out with a notice, so that the notice is given each time.
    """
    noticed = {notice.path.rpartition("/")[0] for notice in scan.notices}
    changes: dict[str, bytes | None] = dict.fromkeys((*scan.lost, *scan.removed))
    for folder, known in scan.folders.items():
        doubtful = folder in noticed or stats.is_recent(known, moment)
        changes[folder or ROOT] = stats.unproven(known) if doubtful else known
    for candidate in scan.changed:
        known = proven.get(candidate.path, b"")
        doubtful = not known or stats.is_recent(known, moment)
        changes[candidate.path] = stats.unproven(candidate.fingerprint) if doubtful else known
    return scan.cache.changed(bundle, scan.files, changes)
