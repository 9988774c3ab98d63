"""Symbolic links: their text is recorded if it stays inside the brain."""

from __future__ import annotations

import os

from ..errors import InvalidInput, printable_text
from ..objects.link_targets import is_safe_link_target


def read_symlink(name: str, folder_fd: int) -> str:
    """Return the text of the link `name`, with surrogates for bytes that are not UTF-8.

    Raises `OSError` (EINVAL if it is not a link).
    """
    return os.readlink(name, dir_fd=folder_fd)


def encode_link_target(path: str, target: str) -> bytes:
    """Return the content of a link.

    Raises `InvalidInput` (`link_outside`) if it may lead outside or is not UTF-8.
    """
    content = target.encode("utf-8", "surrogateescape")
    check_link_inside(path, content)
    return content


def check_link_inside(path: str, content: bytes) -> None:
    """Raise `InvalidInput` (`link_outside`) for a link that may lead outside the brain."""
    if not is_safe_link_target(path, content):
        raise InvalidInput(
            f"the link {printable_text(path)} leads outside the brain: {printable_text(content)}",
            code="link_outside",
            hint="use a relative link with '..' only at its beginning",
        )
