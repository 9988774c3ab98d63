"""Small private files, written atomically and durably."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import error_from_os
from ...util.atomic_file import move_durable, write_atomic


def make_private_folder(folder: Path) -> Path:
    """Create a folder and its parents, readable by the user only, and return it."""
    try:
        for one in (*reversed(folder.parents), folder):
            if not one.exists():
                one.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise error_from_os(error) from error
    return folder


def write_durably(path: Path, content: bytes) -> None:
    """Put a file in place, durable when this returns; an older one is replaced."""
    try:
        write_atomic(path, content)
    except OSError as error:
        raise error_from_os(error) from error


def move_durably(path: Path, to: Path) -> None:
    """Move a file, durably."""
    try:
        move_durable(path, to)
    except OSError as error:
        raise error_from_os(error) from error


def read_if_exists(path: Path) -> bytes | None:
    """Return the content of a file, None if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise error_from_os(error) from error


def list_files(folder: Path, suffix: str) -> list[str]:
    """Return the names of the files with a suffix, sorted, without temporary files."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise error_from_os(error) from error
    return sorted(name for name in names if name.endswith(suffix) and not name.startswith("."))
