"""Small private files, written atomically and durably."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from ...errors import error_from_os


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
    """Write or replace a file, atomically and durably."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise error_from_os(error) from error


def move_durably(path: Path, to: Path) -> None:
    """Move a file, durably."""
    try:
        os.replace(path, to)
        _sync_folder(to.parent)
        _sync_folder(path.parent)
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


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
