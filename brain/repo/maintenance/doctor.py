"""Check a brain and its surroundings for problems; change nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from ...cache.cache_folder import CACHE_DIR_VARIABLE
from ...errors import BrainError, printable_text
from ...results import DoctorCheck
from ...worktree.ignore_rules import IgnoreRules
from ...worktree.mounts import unescape_mount_point
from ..changes import snapshot_folder
from ..open import manifest
from ..open.session import Session
from ..read import index_update, pending_check

_MIN_FREE_BYTES = 256 << 20
"""Bytes of free disk below which the doctor warns."""

_MOUNT_INFO_FILE = Path("/proc/self/mountinfo")
_NETWORK_FILE_SYSTEMS = {
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "glusterfs",
    "fuse.sshfs",
}


def run_doctor(session: Session) -> list[DoctorCheck]:
    """Run all checks. None of them changes anything."""
    return [found for check in _CHECKS for found in _run_check(check, session)]


def _run_check(
    check: Callable[[Session], Iterator[DoctorCheck]], session: Session
) -> Iterator[DoctorCheck]:
    try:
        yield from check(session)
    except BrainError as error:
        yield DoctorCheck(check.__name__.strip("_"), False, error.message, error.hint)
    except OSError as error:
        yield DoctorCheck(
            check.__name__.strip("_"), False, str(error), "see to the folder's rights"
        )


def _store(session: Session) -> Iterator[DoctorCheck]:
    faults = session.reader.check_integrity()
    size = session.reader.size_on_disk()
    if faults:
        yield DoctorCheck("store", False, faults[0], "run `brain verify --deep` to see what is hit")
    else:
        yield DoctorCheck("store", True, f"sound, {size / 1e6:.1f} MB", "")


def _head(session: Session) -> Iterator[DoctorCheck]:
    head = session.load_snapshot(session.head())
    count = session.reader.operation_count()
    yield DoctorCheck(
        "head", True, f"on {session.current_branch()}, {head.jump.depth + 1} deep", ""
    )
    yield DoctorCheck("operations", count > 0, f"{count} in the log", "")


def _unfinished(session: Session) -> Iterator[DoctorCheck]:
    rows, damaged = session.reader.inspect_pending_writes()
    foreign = pending_check.check_against_head(session, rows).not_in_head
    count = len(rows) - len(foreign)
    message = f"{count} files are recorded but not yet written" if count else "none"
    hint = (
        "the next command that writes finishes them, e.g. `brain snapshot`;"
        " if it cannot, `brain doctor --repair` drops them"
    )
    yield DoctorCheck("unfinished writes", not count, message, hint if count else "")
    for problem in (*damaged, *(f"{printable_text(path)} is not in the head" for path in foreign)):
        yield DoctorCheck("unfinished writes", False, problem, "`brain doctor --repair` drops it")


def _cache(session: Session) -> Iterator[DoctorCheck]:
    folder = session.cache.folder
    if folder is None:
        said = "nowhere to keep it, so each command makes it anew"
        hint = f"set {CACHE_DIR_VARIABLE} to a folder of your own, outside of the brain"
        yield DoctorCheck("cache", False, said, hint)
        return
    good = index_update.is_cached_index_valid(session)
    message = f"in {folder}" if good else "its index is damaged, so each reader makes it anew"
    yield DoctorCheck("cache", good, message, "" if good else f"delete {folder}")


def _rights(session: Session) -> Iterator[DoctorCheck]:
    mode = session.control_folder.stat().st_mode & 0o777
    good = not mode & 0o077
    hint = "" if good else f"chmod 700 {session.control_folder.name}"
    yield DoctorCheck("rights", good, f"the store's folder has mode {mode:04o}", hint)


def _file_system(session: Session) -> Iterator[DoctorCheck]:
    kind = _file_system_type(session.root)
    good = kind not in _NETWORK_FILE_SYSTEMS
    hint = "" if good else "keep brains on a local disk: locks and durability need one"
    yield DoctorCheck("file system", good, kind or "unknown", hint)
    free = shutil.disk_usage(session.root).free
    enough = free >= _MIN_FREE_BYTES
    yield DoctorCheck("disk", enough, f"{free / 1e9:.1f} GB free", "" if enough else "make room")


def _file_system_type(folder: Path) -> str:
    """Return the type of the file system a folder is on, where the system tells (Linux)."""
    try:
        lines = _MOUNT_INFO_FILE.read_bytes().splitlines()
    except OSError:
        return ""
    best, kind = b"", ""
    here = os.path.realpath(os.fsencode(folder))
    for line in lines:
        left, _, right = line.partition(b" - ")
        point = unescape_mount_point(left.split(b" ")[4])
        inside = point == b"/" or here == point or here.startswith(point + b"/")
        if inside and len(point) >= len(best):
            best, kind = point, right.split(b" ")[0].decode("ascii", "replace")
    return kind


def _ignore(session: Session) -> Iterator[DoctorCheck]:
    IgnoreRules.load(session.root)
    yield DoctorCheck("ignore rules", True, "readable", "")


def _manifest(session: Session) -> Iterator[DoctorCheck]:
    manifest.load_manifest(session)
    yield DoctorCheck("manifest", True, "readable", "")


def _folder(session: Session) -> Iterator[DoctorCheck]:
    found = snapshot_folder.read_status(session)
    left = len(found.added) + len(found.modified) + len(found.removed)
    message = f"{left} files differ from the head" if left else "as the head"
    yield DoctorCheck("folder", True, message, "")
    for notice in found.notices:
        if notice.code != snapshot_folder.UNWRITTEN_CODE:  # of these there is a check of its own
            notice_text = f"{notice.path}: {notice.message}"
            yield DoctorCheck("folder", False, notice_text, "it is not recorded")


_CHECKS: tuple[Callable[[Session], Iterator[DoctorCheck]], ...] = (
    _store,
    _head,
    _unfinished,
    _cache,
    _rights,
    _file_system,
    _ignore,
    _manifest,
    _folder,
)
