"""Removing what a killed writer left half done."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress

from ..errors import InvalidInput
from .defaults import TEMPORARY
from .folders import Folders, Root, opened

_OURS = re.compile(re.escape(TEMPORARY) + "[0-9a-f]{16,24}")


def clean_temps(root: Root, paths: Iterable[str] = ()) -> None:
    """Remove temporary files and folders of ours where a writer of `paths` leaves them.

    That is in the folders of those paths, at the top, and in `.brain`. To be called
    while no other writer can be at work. What cannot be removed stays.
    """
    wanted = {path.rpartition("/")[0] for path in paths}
    with opened(root) as root_fd:
        folders = Folders(root_fd)
        try:
            for folder in sorted({"", ".brain", *wanted}):
                with suppress(OSError, InvalidInput):  # gone, or a link: nothing of ours
                    _clean(folders.open(folder))
        finally:
            folders.close()


def _clean(folder_fd: int) -> None:
    from shutil import rmtree

    for name in filter(_OURS.fullmatch, os.listdir(folder_fd)):
        try:
            os.unlink(name, dir_fd=folder_fd)
        except IsADirectoryError:
            rmtree(name, ignore_errors=True, dir_fd=folder_fd)
