"""Small file systems for disks that fill up or turn read-only."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mount_disk(point: Path, size: str) -> Iterator[Path]:
    """Mount a file system in memory at `point`; `size` as mount takes it, such as "4m"."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    point.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "faults", point], check=True
    )
    try:
        yield point
    finally:
        subprocess.run(["umount", "--lazy", point], check=True)


def remount_disk(point: Path, how: str) -> None:
    """Change a mounted file system to `how`: "ro" or "rw"."""
    subprocess.run(["mount", "-o", f"remount,{how}", point], check=True)


def fill_disk(folder: Path, leave: int = 0) -> Path:
    """Fill the disk that `folder` is on but for `leave` bytes; return the file that does."""
    filler = folder / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            file.truncate(max(file.tell() - leave, 0))
    return filler
