"""Check by its text only that a symbolic link stays inside the brain.

`..` is allowed only at the beginning, where it leads up from the folder of the link, which is
not a link itself. The names after it may be links that obey the same rule. So no chain of
links leads outside, whatever the tree holds, and no link has to be followed.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from ..errors import NotFound, printable_text
from . import bundle as bundles
from . import paths
from .tree_entry import LINK, TreeEntry

if TYPE_CHECKING:
    from typing import Protocol

    class BlobReader(Protocol):
        """The part of a store that links are read from."""

        def blob_size(self, id: bytes, /) -> int:
            """Return the size of a blob."""

        def read_blob(self, id: bytes, /) -> bytes:
            """Return the content of a blob."""

    from .bundle import Bundle
    from .node_cache import NodeCache


MAX_LINK_TARGET_BYTES = 4095
"""Longest text of a link (Linux: PATH_MAX, of which the NUL at the end takes one)."""
_MAX_FOLLOWED = 40
"""Links on the way to one file (Linux: MAXSYMLINKS)."""


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


def find_file(nodes: NodeCache, bundle: Bundle, reader: BlobReader, path: str) -> TreeEntry | None:
    """Return the file to which a full path leads as on disk, over links; None if to none."""
    found = resolve_links(nodes, bundle, reader, path)
    return bundles.get_entry(nodes, bundle, found) if found else None


def resolve_links(nodes: NodeCache, bundle: Bundle, reader: BlobReader, path: str) -> str:
    """Return the full path, without links, to which one leads as on disk; "" if links go astray.

    The links may be the path itself or folders above it. None leads outside of the bundle.
    """
    for _ in range(_MAX_FOLLOWED):
        entry = bundles.get_entry(nodes, bundle, path)
        rest = ""
        while entry is None and (above := path[: len(path) - len(rest)].rpartition("/")[0]):
            rest = path[len(above) :]
            entry = bundles.get_entry(nodes, bundle, above)
        if entry is None or entry.kind != LINK:
            return path
        target = read_link_target(reader, entry.blob) or b""
        if ".." in rest.split("/") or not is_safe_link_target(entry.path, target):
            return ""
        path = posixpath.join(posixpath.dirname(entry.path), target.decode()) + rest
        path = posixpath.normpath(path)
    return ""


def follow_link(
    nodes: NodeCache, bundle: Bundle, reader: BlobReader, entry: TreeEntry
) -> TreeEntry:
    """Return the file that an entry of a bundle is or leads to. Raises `NotFound` (`dead_link`)."""
    if entry.kind != LINK:
        return entry
    found = find_file(nodes, bundle, reader, entry.path)
    if found is not None:
        return found
    target = (read_link_target(reader, entry.blob) or b"").decode(errors="replace")
    raise NotFound(
        f"{printable_text(entry.path)} is a link to {printable_text(target)}, where no file is",
        code="dead_link",
        hint="make it lead to a file of the brain, or write the text in its place",
    )
