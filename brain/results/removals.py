"""What became of content that was taken out of the store."""

from __future__ import annotations

from typing import NamedTuple


class Redacted(NamedTuple):
    """The outcome of a redaction; `removed` are the files of the head that held it, sorted.

    `branches` are other branches whose heads still list it. `scrubbed` is False if old
    pages of the store, in which it may still be found, could not be given back yet.
    """

    snapshot: str
    path: str
    blobs: list[str]
    removed: list[str]
    branches: list[str]
    scrubbed: bool


class Collected(NamedTuple):
    """The outcome of a collection; sizes are in bytes on disk, counts are objects.

    `compacted` is False if the space could not be given back yet.
    """

    snapshot: str
    removed: int
    kept: int
    bytes: int
    before: int
    after: int
    compacted: bool
