"""The folder of a brain's cache, inside the user's cache folder.

A program that can write to a brain could forge derived data in it, and a model must not
be shown unverified data. So a cache belongs to a user, not to a brain.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress

CACHE_DIR_VARIABLE = "BRAIN_CACHE_DIR"
"""Environment variable that names another folder for caches."""
_PLATFORM: str = sys.platform


IsUsablePath = Callable[[str], bool]
"""Tells whether a cache may be kept at a path, whose links were followed."""


def allow_any_path(path: str) -> bool:
    """Accept any path: an `IsUsablePath`."""
    return True


def make_cache_folder(
    brain: bytes, redacted: bytes = b"", usable: IsUsablePath = allow_any_path
) -> str | None:
    """Create the cache folder of the brain with this id, for its owner alone, and return it.

    `redacted` is a digest of the redactions: folders of other digests may hold redacted
    content and are cleared. Returns None if the folder is not `usable`, cannot be created,
    or belongs to another user.
    """
    try:
        root, name = cache_root(), brain.hex()
        path = os.path.join(root, f"{name}-{redacted.hex()}" if redacted else name)
        if not usable(os.path.realpath(path)):
            return None
        os.makedirs(path, mode=0o700, exist_ok=True)
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return None
        if redacted:
            _clear_other_folders(root, name, path)
    except (OSError, ValueError, RuntimeError):  # the last if the home folder is unknown
        return None
    return path


def _clear_other_folders(root: str, name: str, current_path: str) -> None:
    with os.scandir(root) as found:
        others = [other.path for other in found if other.name.partition("-")[0] == name]
    for other in others:
        if other != current_path and not os.path.islink(other):
            clear_cache_folder(other, "\0")
            with suppress(OSError):
                os.rmdir(other)


def cache_root() -> str:
    """Return the folder that holds the caches of all brains of this user."""
    named = os.environ.get(CACHE_DIR_VARIABLE)
    if named:
        return os.path.abspath(named)
    if _PLATFORM == "linux":  # as platformdirs has it, without the 7 ms of importing it
        for name, below in (("XDG_CACHE_HOME", "brain"), ("HOME", ".cache/brain")):
            base = os.environ.get(name, "")
            if os.path.isabs(base):  # a relative one would depend on the current folder
                return os.path.join(base, below)
    import platformdirs

    return platformdirs.user_cache_dir("brain")


def clear_cache_folder(folder: str, keep: str) -> None:
    """Delete the files of a cache folder, except those whose name begins with `keep`."""
    with suppress(FileNotFoundError), os.scandir(folder) as found:
        for file in found:
            if not file.name.startswith(keep) and not file.is_dir(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    os.unlink(file.path)


DERIVATION_VERSION = 8
