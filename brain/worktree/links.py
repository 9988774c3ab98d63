"""Links: kept as their text, if that text stays inside the brain."""

from __future__ import annotations

import os

from ..errors import InvalidInput, printable
from .defaults import is_reserved

MAX_TARGET_BYTES = 4095
"""Longest text of a link (Linux: PATH_MAX, of which the NUL at the end takes one)."""


def stays_inside(path: str, target: str) -> bool:
    """Tell whether a link at `path` to `target` leads to a place inside the brain.

    Decided on the text alone: relative, never above the root on the way, no reserved
    folder. Whether the place exists does not matter.
    """
    if target.startswith("/") or "\\" in target or "\0" in target or not target:
        return False
    place = path.split("/")[:-1]
    for part in target.split("/"):
        if part == "..":
            if not place:
                return False
            place.pop()
        elif part not in ("", "."):
            place.append(part)
    return not any(is_reserved(part) for part in place)


def read_target(name: str, folder_fd: int) -> str:
    """Return the text of the link `name`; bytes that are not UTF-8 come as surrogates.

    Raises `OSError` (EINVAL if it is no link).
    """
    return os.readlink(name, dir_fd=folder_fd)


def encode_target(path: str, target: str) -> bytes:
    """Return the content that stands for a link.

    Raises `InvalidInput` (`link_outside`) if it leads outside or is not UTF-8.
    """
    try:
        content = target.encode()
    except UnicodeEncodeError:
        content = b""
    if not content or len(content) > MAX_TARGET_BYTES or not stays_inside(path, target):
        raise outside(path, target)
    return content


def outside(path: str, target: str) -> InvalidInput:
    """Return the error for a link that leads outside the brain."""
    return InvalidInput(
        f"the link {printable(path)} leads outside the brain: {printable(target)}",
        code="link_outside",
    )
