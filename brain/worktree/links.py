"""Links: kept as their text, if that text stays inside the brain."""

from __future__ import annotations

import os

from ..errors import InvalidInput, printable
from ..objects.links import stays_inside


def read_target(name: str, folder_fd: int) -> str:
    """Return the text of the link `name`; bytes that are not UTF-8 come as surrogates.

    Raises `OSError` (EINVAL if it is no link).
    """
    return os.readlink(name, dir_fd=folder_fd)


def encode_target(path: str, target: str) -> bytes:
    """Return the content that stands for a link.

    Raises `InvalidInput` (`link_outside`) if it may lead outside or is not UTF-8.
    """
    content = target.encode("utf-8", "surrogateescape")
    refuse_outside(path, content)
    return content


def refuse_outside(path: str, content: bytes) -> None:
    """Raise `InvalidInput` (`link_outside`) for a link that may lead outside the brain."""
    if not stays_inside(path, content):
        raise outside(path, content)


def outside(path: str, target: bytes) -> InvalidInput:
    """Return the error for a link that may lead outside the brain."""
    return InvalidInput(
        f"the link {printable(path)} leads outside the brain: {printable(target)}",
        code="link_outside",
        hint="let it be relative, with '..' at its beginning alone",
    )
