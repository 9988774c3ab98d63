"""Find the folder of a brain, and tell which folders belong to it."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import InvalidInput, NoBrain, printable_text

CONTROL_FOLDER = ".brain"
"""The folder inside of a brain's folder that holds the store."""
STORE_FILE = "store.db"


def find_brain(start: Path) -> Path:
    """Return the nearest folder with a brain, from `start` upwards.

    A brain in a folder that an outer brain records, such as a skill, is passed over in favour
    of the outer one, unless the user may not read that. A `.brain` that is a link does not
    count. Raises `NoBrain`, and `PermissionError` if only a brain is found that they may not read.
    """
    start = start.absolute()
    nearest: Path | None = None
    for folder in (start, *start.parents):
        try:
            if _has_own_store(folder) and (nearest is None or _is_recorded_folder(folder, nearest)):
                nearest = folder
        except PermissionError:
            if nearest is None:
                raise
    if nearest is not None:
        return nearest
    raise NoBrain(
        f"there is no brain in {printable_text(start)} or in a folder above it",
        hint="make one with `brain init`, or name one with -C",
    )


def is_brain(folder: Path) -> bool:
    """Return whether a folder has a brain, also one whose `.brain` is a link."""
    return (folder / CONTROL_FOLDER / STORE_FILE).is_file()


def is_safe_cache_path(root: Path, path: str) -> bool:
    """Return whether a cache at `path` is outside of the files that the brain at `root` records.

    Others may write those files, for instance by a merge.
    """
    cache_path, real_root = Path(path), Path(os.path.realpath(root))
    if not cache_path.is_relative_to(real_root):
        return True
    return not cache_path.is_relative_to(real_root / CONTROL_FOLDER) and not _is_recorded_folder(
        real_root, cache_path
    )


def _has_own_store(folder: Path) -> bool:
    return is_brain(folder) and not (folder / CONTROL_FOLDER).is_symlink()


def _is_recorded_folder(root: Path, folder: Path) -> bool:
    from ...folder.scan import is_path_ignored

    try:
        return not is_path_ignored(root, f"{folder.relative_to(root).as_posix()}/x")
    except InvalidInput:  # malformed rules ignore nothing
        return True
