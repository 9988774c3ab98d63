"""Where caches lie: in the user's cache folder, one folder a brain, never in the brain itself.

Whoever can write to a brain could write anything there; what a model is shown must not
come from such a place unhashed. So a cache belongs to a user, not to a brain.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress

VARIABLE = "BRAIN_CACHE_DIR"
"""Names another folder for caches than the user's own."""
_SYSTEM: str = sys.platform


Usable = Callable[[str], bool]
"""Tells whether a cache may be kept at a path, whose links were followed."""


def anywhere(path: str) -> bool:
    """Tell that a cache may be kept at any path."""
    return True


def folder_of(brain: bytes, redacted: bytes = b"", usable: Usable = anywhere) -> str | None:
    """Return the cache folder of the brain with this id, made for its owner alone.

    `redacted` stands for what was redacted in it: folders of before then are cleared, for
    they may hold that, and are no longer used. None where there can be no folder: it
    is not `usable`, there are no rights, or it belongs to somebody else.
    """
    try:
        root, name = _root(), brain.hex()
        path = os.path.join(root, f"{name}-{redacted.hex()}" if redacted else name)
        if not usable(os.path.realpath(path)):
            return None
        os.makedirs(path, mode=0o700, exist_ok=True)
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return None
        if redacted:
            _clear_others(root, name, path)
    except (OSError, ValueError, RuntimeError):  # the last if nobody knows the user's home
        return None
    return path


def _clear_others(root: str, name: str, kept: str) -> None:
    with os.scandir(root) as found:
        others = [other.path for other in found if other.name.partition("-")[0] == name]
    for other in others:
        if other != kept and not os.path.islink(other):
            clear(other, "\0")
            with suppress(OSError):
                os.rmdir(other)


def _root() -> str:
    named = os.environ.get(VARIABLE)
    if named:
        return os.path.abspath(named)
    if _SYSTEM == "linux":  # as platformdirs has it, without the 7 ms of importing it
        for name, below in (("XDG_CACHE_HOME", "brain"), ("HOME", ".cache/brain")):
            base = os.environ.get(name, "")
            if os.path.isabs(base):  # another would lie wherever a command is run
                return os.path.join(base, below)
    import platformdirs

    return platformdirs.user_cache_dir("brain")


def clear(folder: str, keep: str) -> None:
    """Delete the files of a cache folder, but for those whose name begins with `keep`."""
    with suppress(FileNotFoundError), os.scandir(folder) as found:
        for file in found:
            if not file.name.startswith(keep) and not file.is_dir(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    os.unlink(file.path)
