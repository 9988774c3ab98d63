"""Mount points inside a brain, bind mounts included."""

from __future__ import annotations

import os

from ..errors import InvalidInput, printable_text
from .ignore_rules import IgnoreRules

_MOUNTINFO_ESCAPES = ((rb"\040", b" "), (rb"\011", b"\t"), (rb"\012", b"\n"), (rb"\134", b"\\"))


def check_no_mounts(root_fd: int, rules: IgnoreRules) -> None:
    """Refuse a brain with a mount point inside, unless the rules exclude it.

    Only Linux lists its mounts (proc(5)); elsewhere, the walk compares device numbers. Raises
    `InvalidInput` (`crosses_device`).
    """
    for path in _list_mounts_below(root_fd):
        if not is_in_ignored_folder(rules, f"{path}/"):
            raise crosses_device_error(path)


def is_in_ignored_folder(rules: IgnoreRules, path: str) -> bool:
    """Tell whether the rules exclude a folder above `path`, and so all paths below that folder."""
    parts = path.split("/")[:-1]
    above = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    return any(rules.is_ignored(*pair, True) for pair in zip(above, parts, strict=True))


def crosses_device_error(path: str) -> InvalidInput:
    """Return the error for a file or folder on another file system."""
    return InvalidInput(
        f"another file system is mounted in the brain: {printable_text(path)}",
        code="crosses_device",
        hint="unmount it, or name it in .brainignore",
    )


def _list_mounts_below(root_fd: int) -> list[str]:
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            points = [line.split(b" ", 5)[4] for line in file]
        root = os.readlink(f"/proc/self/fd/{root_fd}".encode()).rstrip(b"/") + b"/"
    except OSError:
        return []
    inside = [point for point in map(unescape_mount_point, points) if point.startswith(root)]
    return [os.fsdecode(point[len(root) :]) for point in inside if point != root]


def unescape_mount_point(point: bytes) -> bytes:
    """Return a mount point of the list of mounts without its escapes."""
    for escape, char in _MOUNTINFO_ESCAPES:
        point = point.replace(escape, char)
    return point
