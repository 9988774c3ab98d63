"""Check by its text only that a symbolic link stays inside the brain.

`..` is allowed only at the beginning, where it leads up from the folder of the link, which is
not a link itself. The names after it may be links that obey the same rule. So no chain of
links leads outside, whatever the tree holds, and no link has to be followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import NotFound
from . import paths

if TYPE_CHECKING:
    from typing import Protocol

    class BlobReader(Protocol):
        """The part of a store that links are read from."""

        def blob_size(self, id: bytes, /) -> int:
            """Return the size of a blob."""

        def read_blob(self, id: bytes, /) -> bytes:
            """Return the content of a blob."""


MAX_LINK_TARGET_BYTES = 4095
"""Longest text of a link (Linux: PATH_MAX, of which the NUL at the end takes one)."""


def is_safe_link_target(path: str, target: bytes) -> bool:
    """Tell whether a link at the full `path` may have this text; its target may be missing."""
    if not 0 < len(target) <= MAX_LINK_TARGET_BYTES:
        return False
    try:
        text = target.decode()
    except UnicodeDecodeError:
        return False
    is_absolute = text[0] == "/" or text[1:2] == ":"
    if is_absolute or "\\" in text or not paths.CONTROL_CHARS.isdisjoint(text):
        return False
    above = path.count("/")
    named = False
    for part in map(paths.strip_ignorable_chars, text.split("/")):
        if part == "..":
            above -= 1
            if named or above < 0:
                return False
        elif part not in ("", "."):
            named = True
            if paths.is_reserved_name(part):
                return False
    return True


def read_link_target(reader: BlobReader, blob: bytes) -> bytes | None:
    """Return the text of a link, b"" if it is too long; None if it is not stored."""
    try:
        if reader.blob_size(blob) > MAX_LINK_TARGET_BYTES:
            return b""
        return reader.read_blob(blob)
    except NotFound:
        return None
