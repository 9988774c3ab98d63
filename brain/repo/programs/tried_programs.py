"""Which programs this user's machine has tried: a file each in the user's state folder.

Admissions in a brain may be anybody's, and come with a clone or a pull. So a program runs only
if this machine has tried it itself. These files are no part of any brain, and nothing that can
write to a brain can write them.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...errors import StoreError, printable_text
from ...util import strict_json
from ...util.atomic_file import write_atomic
from ..open.discovery import is_safe_cache_path
from ..open.session import Session

STATE_DIR_VARIABLE = "BRAIN_STATE_DIR"
"""Environment variable that names another folder for the state of the user."""
_NAMES_PLACE = re.compile("BRAIN_.*(?:DIR|KEYS?|ROOTS|CONFIG|LEDGERS|FILE)")
_FOLDER = "admitted"
_MAX_FILE_BYTES = 64 << 10
_MAX_DEPTH = 8
_PLATFORM: str = sys.platform
_UNSAFE_MODE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedProgram:
    """A program that passed a trial on this machine: `program` is its id.

    `verdict` and `snapshot` are those of the admission. `folders` that it may read, by name, and
    `hosts` that it may reach were approved by the user for exactly this program.
    """

    program: bytes
    verdict: bytes
    snapshot: bytes
    folders: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()


def read_tried_program(session: Session, program: bytes) -> TriedProgram | None:
    """Return what is noted about a program, None if it was not tried here."""
    path = _state_folder() / program.hex()
    try:
        if not _is_usable(session, path.parent):
            return None
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or not _is_own(found):
                return None
            data = file.read(_MAX_FILE_BYTES + 1)
    except OSError:
        return None
    return _parse(program, data) if len(data) <= _MAX_FILE_BYTES else None


def require_state_folder(session: Session) -> Path:
    """Return the folder of these files, made if need be.

    Raises `StoreError` (`bad_state_folder`) if others can write it, or `OSError`.
    """
    folder = _state_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_usable(session, folder):
        raise StoreError(
            f"{printable_text(folder)} is not a folder outside of the brain that you alone can"
            " write, so nothing can be admitted",
            code="bad_state_folder",
            hint=f"name another folder with {STATE_DIR_VARIABLE}",
        )
    return folder


def note_tried_program(session: Session, tried: TriedProgram) -> None:
    """Note a program that passed a trial; what was approved for it before stays.

    Raises as `require_state_folder`.
    """
    folder = require_state_folder(session)
    known = read_tried_program(session, tried.program)
    if known is not None:
        tried = replace(tried, folders=known.folders, hosts=known.hosts)
    write_atomic(folder / tried.program.hex(), _encode(tried))


def approve(
    session: Session, tried: TriedProgram, folders: Mapping[str, str], hosts: tuple[str, ...]
) -> None:
    """Replace what a program may read and reach on this machine.

    Raises as `require_state_folder`.
    """
    write_atomic(
        require_state_folder(session) / tried.program.hex(),
        _encode(replace(tried, folders=folders, hosts=hosts)),
    )


def list_own_places(session: Session) -> tuple[str, ...]:
    """Return the brain, and where this program keeps keys, settings, state and caches.

    No program of a skill sees them in an approved folder.
    """
    import platformdirs

    ways = (
        *(platformdirs.user_config_dir, platformdirs.user_data_dir),
        *(platformdirs.user_state_dir, platformdirs.user_cache_dir),
    )
    named = (path for name, path in os.environ.items() if _NAMES_PLACE.fullmatch(name) and path)
    return (
        str(session.root),
        *(way("brain") for way in ways),
        *map(os.path.abspath, named),
    )


def read_state_mark() -> int:
    """Return a number that changes when a program is noted or forgotten on this machine."""
    try:
        return os.stat(_state_folder()).st_mtime_ns
    except OSError:
        return 0


def _encode(tried: TriedProgram) -> bytes:
    record = {
        "program": tried.program.hex(),
        "verdict": tried.verdict.hex(),
        "snapshot": tried.snapshot.hex(),
        "folders": dict(tried.folders),
        "hosts": list(tried.hosts),
    }
    return (json.dumps(record, indent=2, sort_keys=True) + "\n").encode()


def _parse(program: bytes, data: bytes) -> TriedProgram | None:
    """Return the record of a file, None if it is damaged or of another program."""
    if strict_json.nesting_depth(data, _MAX_DEPTH) > _MAX_DEPTH:
        return None
    try:
        record: Any = strict_json.parse_unbounded_json(data)
        folders, hosts = record["folders"], record["hosts"]
        are_texts = all(isinstance(text, str) for text in (*folders, *folders.values(), *hosts))
        if record["program"] != program.hex() or not are_texts:
            return None
        return TriedProgram(
            program=program,
            verdict=bytes.fromhex(record["verdict"]),
            snapshot=bytes.fromhex(record["snapshot"]),
            folders=folders,
            hosts=tuple(hosts),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _is_usable(session: Session, folder: Path) -> bool:
    """Tell whether a folder is the user's alone, and nothing that the brain records."""
    found = os.lstat(folder)
    is_own_folder = stat.S_ISDIR(found.st_mode) and _is_own(found)
    return is_own_folder and is_safe_cache_path(session.root, os.path.realpath(folder))


def _is_own(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _UNSAFE_MODE


def _state_folder() -> Path:
    return _state_root() / _FOLDER


def _state_root() -> Path:
    named = os.environ.get(STATE_DIR_VARIABLE)
    if named:
        return Path(os.path.abspath(named))
    if _PLATFORM == "linux":  # as platformdirs has it, without the 7 ms of importing it
        for name, below in (("XDG_STATE_HOME", "brain"), ("HOME", ".local/state/brain")):
            base = os.environ.get(name, "")
            if os.path.isabs(base):  # a relative one would depend on the current folder
                return Path(base, below)
    import platformdirs

    return platformdirs.user_state_path("brain")
