"""Entries of a tree: files in its leaves, child nodes in its inner nodes."""

from __future__ import annotations

from typing import NamedTuple

FILE = 0
EXECUTABLE = 1
LINK = 2
ENTRY_KIND_NAMES = ("file", "executable", "link")
"""The kinds by name, indexed by FILE, EXECUTABLE and LINK."""

MAX_SAFE_INTEGER = (1 << 53) - 1
"""Largest size, count, or sum of either: the largest integer that every JSON reader supports."""


class TreeEntry(NamedTuple):
    """A file of a section.

    `path` is relative to the section; `kind` is FILE, EXECUTABLE or LINK; `blob`
    is the id of the content (of the target's text, for a link); `size` is in bytes.
    """

    path: str
    kind: int
    blob: bytes
    size: int


class ChildEntry(NamedTuple):
    """A child of an inner node: its last path, its id, its files and their bytes."""

    last_path: str
    node_id: bytes
    files: int
    bytes: int
