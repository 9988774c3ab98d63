"""Mount points inside a brain, bind mounts included."""

from __future__ import annotations

import os

from ..errors import InvalidInput, printable_text
from .ignore_rules import IgnoreRules

_MOUNTINFO_ESCAPES = ((rb"\040", b" "), (rb"\011", b"\t"), (rb"\012", b"\n"), (rb"\134", b"\\"))


def check_no_mounts(root_fd: int, rules: IgnoreRules) -> None:
    """Refuse a brain with a mount point inside, unless it lies in what is left out.

    Where the system does not list its mounts (it is Linux that does, proc(5)), only
    the device numbers met on the way tell. Raises `InvalidInput` (`crosses_device`).
    """
    for path in _list_mounts_below(root_fd):
        parts = path.split("/")
        above = ["/".join(parts[: count + 1]) for count in range(len(parts))]
        if not any(rules.is_ignored(*pair, True) for pair in zip(above, parts, strict=True)):
            raise crosses_device_error(path)


def crosses_device_error(path: str) -> InvalidInput:
    """Return the error for a file or folder that lies on another file system."""
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
    """Return a mount point as the list of mounts writes it, without its escapes."""
    for escape, char in _MOUNTINFO_ESCAPES:
        point = point.replace(escape, char)
    return point
