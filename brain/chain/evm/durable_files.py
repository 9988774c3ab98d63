"""Small private files, written atomically and durably. Failures raise as `error_from_os`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...errors import error_from_os
from ...util.files import move_durable, write_atomic


@contextmanager
def _convert_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise error_from_os(error) from error


def make_private_folder(folder: Path) -> Path:
    """Create a folder and its parents, readable by the user only, and return it."""
    with _convert_errors():
        for parent in (*reversed(folder.parents), folder):
            if not parent.exists():
                parent.mkdir(mode=0o700, exist_ok=True)
    return folder


def write_durably(path: Path, content: bytes) -> None:
    """Put a file in place, durable when this returns; an older one is replaced."""
    with _convert_errors():
        write_atomic(path, content)


def move_durably(path: Path, to: Path) -> None:
    """Move a file, durably."""
    with _convert_errors():
        move_durable(path, to)


def read_if_exists(path: Path) -> bytes | None:
    """Return the content of a file, None if there is none."""
    with _convert_errors(), suppress(FileNotFoundError):
        return path.read_bytes()
    return None


def list_files(folder: Path, suffix: str) -> list[str]:
    """Return the names of the files with a suffix, sorted, without temporary files."""
    names: list[str] = []
    with _convert_errors(), suppress(FileNotFoundError):
        names = os.listdir(folder)
    return sorted(name for name in names if name.endswith(suffix) and not name.startswith("."))
