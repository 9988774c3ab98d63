"""Check the environment of a brain, and repair what can be: pending writes and a wrong cache."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import BrainError, SandboxError, printable_text
from ..folder.ignore import IgnoreRules
from ..folder.scan import unescape_mount_point
from ..programs import PROGRAM_FILE
from ..repo import head_index, log_entry, manifest, transaction
from ..repo.derived_db import CACHE_DIR_VARIABLE, CacheUnusable
from ..repo.session import Session
from ..repo.transaction import lock_without_recovery
from ..results import DoctorCheck
from ..skills import SKILLS_SECTION
from ..verify import cache_check
from . import snapshot

_MIN_FREE_BYTES = 256 << 20

_MOUNT_INFO_FILE = Path("/proc/self/mountinfo")
_NETWORK_FILE_SYSTEMS = set("nfs nfs4 cifs smb3 smbfs 9p afs ceph glusterfs fuse.sshfs".split())

_NO_FAULTS = (snapshot.UNWRITTEN_CODE, snapshot.VERSION_CODE)
"""Codes of notices that `_unfinished` reports, or that are no fault."""
_CONTENT_HINTS = {
    "bad_yaml": "mend the front matter before the next snapshot",
    "bad_manifest": "mend it before the next snapshot; schemas/manifest.json lists the keys",
}


def doctor(session: Session) -> list[DoctorCheck]:
    """Check the environment of the brain: store, file system, caches, permissions."""
    found: list[DoctorCheck] = []
    for check in _CHECKS:
        name = check.__name__.strip("_")
        try:
            found += check(session)
        except BrainError as error:
            found.append(DoctorCheck(name, False, error.message, error.hint))
        except OSError as error:
            hint = "check the permissions of the folder"
            found.append(DoctorCheck(name, False, str(error), hint))
    return found


def _check(name: str, is_fine: bool, message: str, hint: str) -> DoctorCheck:
    return DoctorCheck(name, is_fine, message, "" if is_fine else hint)


def _store(session: Session) -> Iterator[DoctorCheck]:
    faults = session.reader.check_integrity()
    message = faults[0] if faults else f"intact, {session.reader.size_on_disk() / 1e6:.1f} MB"
    yield _check("store", not faults, message, "run `brain verify --deep` for details")


def _head(session: Session) -> Iterator[DoctorCheck]:
    head = session.load_snapshot(session.head())
    place = f"on {session.current_branch()}, {head.jump.depth + 1} snapshots deep"
    yield DoctorCheck("head", True, place, "")
    count = session.reader.operation_count()
    yield DoctorCheck("operations", count > 0, f"{count} in the log", "")


def _unfinished(session: Session) -> Iterator[DoctorCheck]:
    rows, damaged = session.reader.inspect_pending_writes()
    _, foreign = log_entry.check_against_head(session, rows)
    count = len(rows) - len(foreign)
    message = f"{count} files are recorded but not yet written" if count else "none"
    hint = (
        "the next writing command, such as `brain snapshot`, writes them;"
        " if it cannot, `brain doctor --repair` drops them"
    )
    yield _check("unfinished writes", not count, message, hint)
    for problem in (*damaged, *(f"{printable_text(path)} is not in the head" for path in foreign)):
        yield DoctorCheck("unfinished writes", False, problem, "`brain doctor --repair` drops it")


def _cache(session: Session) -> Iterator[DoctorCheck]:
    folder, is_valid = session.cache.folder, False
    hint = f"delete {folder}"
    if folder is None:
        message = "there is no folder for it, so each command rebuilds it"
        hint = f"set {CACHE_DIR_VARIABLE} to a folder of your own, outside of the brain"
    else:
        try:
            is_valid = head_index.is_index_valid(session)
            damage = "its index is damaged, so each reader rebuilds it"
            message = f"in {folder}" if is_valid else damage
        except CacheUnusable as error:
            message = f"it cannot be read: {error}"
            hint = "`brain doctor --repair` empties it; it is made anew as it is needed"
    yield _check("cache", is_valid, message, hint)


def _rights(session: Session) -> Iterator[DoctorCheck]:
    mode = session.control_folder.stat().st_mode & 0o777
    message = f"the store's folder has mode {mode:04o}"
    yield _check("rights", not mode & 0o077, message, f"chmod 700 {session.control_folder.name}")


def _file_system(session: Session) -> Iterator[DoctorCheck]:
    kind = _file_system_type(session.root)
    hint = "keep brains on a local disk: locks and durability need one"
    yield _check("file system", kind not in _NETWORK_FILE_SYSTEMS, kind or "unknown", hint)
    free = shutil.disk_usage(session.root).free
    message = f"{free / 1e9:.1f} GB free"
    yield _check("disk", free >= _MIN_FREE_BYTES, message, "free some disk space")


def _file_system_type(folder: Path) -> str:
    """Return the type of a folder's file system, "" if unknown (all but Linux)."""
    try:
        lines = _MOUNT_INFO_FILE.read_bytes().splitlines()
    except OSError:
        return ""
    longest, kind = b"", ""
    path = os.path.realpath(os.fsencode(folder))
    for line in lines:  # "… MOUNT_POINT … - TYPE …", see proc_pid_mountinfo(5)
        left, _, right = line.partition(b" - ")
        mount_point = unescape_mount_point(left.split(b" ")[4])
        is_inside = mount_point == b"/" or (path + b"/").startswith(mount_point + b"/")
        if is_inside and len(mount_point) >= len(longest):
            longest, kind = mount_point, right.split(b" ")[0].decode("ascii", "replace")
    return kind


def _ignore(session: Session) -> Iterator[DoctorCheck]:
    IgnoreRules.load(session.root)
    yield DoctorCheck("ignore rules", True, "readable", "")


def _manifest(session: Session) -> Iterator[DoctorCheck]:
    manifest.load_manifest(session)
    content = manifest.read_recorded(session, session.head())
    problems = manifest.find_manifest_problems(content or b"")
    hint = "mend manifest.yaml; schemas/manifest.json lists the keys"
    for problem in problems or ["readable"]:
        yield _check("manifest", not problems, problem, hint)


def _uses(session: Session) -> Iterator[DoctorCheck]:
    count = len(session.usage.list_usage())
    message = f"of {count} versions of skills are counted" if count else "none are counted yet"
    yield DoctorCheck("uses", True, message, "")


def _experience(session: Session) -> Iterator[DoctorCheck]:
    store = session.experience
    place = f"{store.place}, {len(store.waiting())} items wait to be learned from"
    yield DoctorCheck("experience", True, place, "")


def _folder(session: Session) -> Iterator[DoctorCheck]:
    status = snapshot.status(session)
    count = len(status.added) + len(status.modified) + len(status.removed)
    message = f"{count} files differ from the head" if count else "the same as the head"
    yield DoctorCheck("folder", True, message, "")
    for notice in status.notices:
        if notice.code not in _NO_FAULTS:
            notice_text = f"{notice.path}: {notice.message}"
            hint = _CONTENT_HINTS.get(notice.code, "it is not recorded")
            yield DoctorCheck("folder", False, notice_text, hint)


def _sandbox(session: Session) -> Iterator[DoctorCheck]:
    from ..sandbox.find_sandbox import probe_sandbox

    try:
        profile = probe_sandbox()
    except SandboxError as error:
        entries = session.at().walk_section(SKILLS_SECTION)
        if any(entry.path.endswith(f"/{PROGRAM_FILE}") for entry in entries):
            yield DoctorCheck("sandbox", False, error.message, error.hint)
        else:
            message = f"none, which no skill here needs: {error.message}; {error.hint}"
            yield DoctorCheck("sandbox", True, message, "")
    else:
        parts = ", ".join(f"{name} {version}" for name, version in profile.versions)
        yield DoctorCheck("sandbox", True, f"{profile.name}: {parts}", "")


_CHECKS: tuple[Callable[[Session], Iterator[DoctorCheck]], ...] = (
    _store,
    _head,
    _unfinished,
    _cache,
    _rights,
    _file_system,
    _ignore,
    _manifest,
    _uses,
    _experience,
    _folder,
    _sandbox,
)


def repair(session: Session) -> list[DoctorCheck]:
    """Give up recorded files that cannot be written and block writers; return which.

    Raises `Locked`, and `StoreError` for a store that cannot be read.
    """
    found: list[DoctorCheck] = []
    with lock_without_recovery(session):
        for path, reason in transaction.write_or_drop_pending(session):
            name = printable_text(path) or "a damaged row"
            hint = "`brain status` shows how the folder differs from the head"
            found.append(DoctorCheck("unfinished writes", True, f"dropped {name}: {reason}", hint))
        deviations = [
            *cache_check.card_deviations(cache_check.find_wrong_cards(session)),
            *cache_check.find_cache_deviations(session),
        ]
        if deviations:
            session.replace_cache()
        hint = "it is made anew as it is needed"
        found += [DoctorCheck("cache", True, f"emptied: {text}", hint) for _, text in deviations]
    return found
