"""The doctor: what surrounds a brain, and may make trouble before it does."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from .. import manifest
from ..cache.folder import VARIABLE
from ..errors import BrainError, printable
from ..results import Checkup
from ..session import Session
from ..worktree.ignore import IgnoreRules
from ..worktree.mounts import unescaped
from . import announced, lining, record

_LEAST_FREE = 256 << 20
"""Bytes of free disk below which the doctor warns."""

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "fuse.sshfs"}


def doctor(session: Session) -> list[Checkup]:
    """Run all checks. None of them changes anything."""
    return [found for check in _CHECKS for found in _safely(check, session)]


def _safely(check: Callable[[Session], Iterator[Checkup]], session: Session) -> Iterator[Checkup]:
    try:
        yield from check(session)
    except BrainError as error:
        yield Checkup(check.__name__.strip("_"), False, error.message, error.hint)
    except OSError as error:
        yield Checkup(check.__name__.strip("_"), False, str(error), "see to the folder's rights")


def _store(session: Session) -> Iterator[Checkup]:
    faults = session.reader.integrity()
    size = session.reader.size_on_disk()
    if faults:
        yield Checkup("store", False, faults[0], "run `brain verify --deep` to see what is hit")
    else:
        yield Checkup("store", True, f"sound, {size / 1e6:.1f} MB", "")


def _head(session: Session) -> Iterator[Checkup]:
    head = session.load(session.head())
    count = session.reader.operation_count()
    yield Checkup("head", True, f"on {session.branch()}, {head.jump.depth + 1} deep", "")
    yield Checkup("operations", count > 0, f"{count} in the log", "")


def _unfinished(session: Session) -> Iterator[Checkup]:
    rows, damaged = session.reader.pending_notes()
    foreign = announced.of_head(session, rows).foreign
    count = len(rows) - len(foreign)
    message = f"{count} files are recorded but not yet written" if count else "none"
    hint = (
        "the next command that writes finishes them, e.g. `brain snapshot`;"
        " if it cannot, `brain doctor --repair` drops them"
    )
    yield Checkup("unfinished writes", not count, message, hint if count else "")
    for problem in (*damaged, *(f"{printable(path)} is not in the head" for path in foreign)):
        yield Checkup("unfinished writes", False, problem, "`brain doctor --repair` drops it")


def _cache(session: Session) -> Iterator[Checkup]:
    folder = session.cache.folder
    if folder is None:
        said = "nowhere to keep it, so each command makes it anew"
        hint = f"set {VARIABLE} to a folder of your own, outside of the brain"
        yield Checkup("cache", False, said, hint)
        return
    good = lining.is_sound(session)
    message = f"in {folder}" if good else "its index is damaged, so each reader makes it anew"
    yield Checkup("cache", good, message, "" if good else f"delete {folder}")


def _rights(session: Session) -> Iterator[Checkup]:
    mode = session.control.stat().st_mode & 0o777
    good = not mode & 0o077
    hint = "" if good else f"chmod 700 {session.control.name}"
    yield Checkup("rights", good, f"the store's folder has mode {mode:04o}", hint)


def _file_system(session: Session) -> Iterator[Checkup]:
    kind = _kind_of(session.root)
    good = kind not in _NETWORK
    hint = "" if good else "keep brains on a local disk: locks and durability need one"
    yield Checkup("file system", good, kind or "unknown", hint)
    free = shutil.disk_usage(session.root).free
    enough = free >= _LEAST_FREE
    yield Checkup("disk", enough, f"{free / 1e9:.1f} GB free", "" if enough else "make room")


def _kind_of(folder: Path) -> str:
    """Return the type of the file system a folder is on, where the system tells (Linux)."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return ""
    best, kind = b"", ""
    here = os.path.realpath(os.fsencode(folder))
    for line in lines:
        left, _, right = line.partition(b" - ")
        point = unescaped(left.split(b" ")[4])
        inside = point == b"/" or here == point or here.startswith(point + b"/")
        if inside and len(point) >= len(best):
            best, kind = point, right.split(b" ")[0].decode("ascii", "replace")
    return kind


def _ignore(session: Session) -> Iterator[Checkup]:
    IgnoreRules.load(session.root)
    yield Checkup("ignore rules", True, "readable", "")


def _manifest(session: Session) -> Iterator[Checkup]:
    manifest.load(session)
    yield Checkup("manifest", True, "readable", "")


def _folder(session: Session) -> Iterator[Checkup]:
    found = record.status(session)
    left = len(found.added) + len(found.modified) + len(found.removed)
    message = f"{left} files differ from the head" if left else "as the head"
    yield Checkup("folder", True, message, "")
    for notice in found.notices:
        if notice.code != record.UNWRITTEN:  # of these there is a check of its own
            told = f"{notice.path}: {notice.message}"
            yield Checkup("folder", False, told, "it is not recorded")


_CHECKS: tuple[Callable[[Session], Iterator[Checkup]], ...] = (
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
