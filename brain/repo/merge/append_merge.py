"""Merge two large files to which both sides only appended, without reading them into memory.

What was appended on either side is held in memory, the rest is streamed, and the
store keeps just the new end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from blake3 import blake3

from ... import limits
from ...merging import content_merge, diff3
from ...merging.diff3 import ConflictHunk
from ...merging.tree_merge import PathConflict
from ...objects.tree_entry import TreeEntry
from ...store.protocol import LARGE_BLOB_BYTES, StoreTransaction
from ..open.session import Session
from ..read.blob_stream import RestartableStream


class AppendedBlob(NamedTuple):
    """A blob that is `base` (of `start` bytes) with `tail` after it."""

    blob: bytes
    base: bytes
    base_size: int
    tail: bytes

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self.base_size + len(self.tail)


def merge_appended(session: Session, contest: PathConflict) -> AppendedBlob | None:
    """Return the union of two large memories that start with the base, else None."""
    path, base, ours, theirs = contest
    merge_rule = content_merge.settle_rule(path)
    if base is None or ours is None or theirs is None or merge_rule is diff3.leave_conflict:
        return None
    if session.reader.find_redactions([base.blob]):
        return None
    longest = max(ours.size, theirs.size)
    if base.size < LARGE_BLOB_BYTES or longest - base.size > limits.MAX_LINE_MERGE_BYTES:
        return None
    tails = [_read_tail(session, side, base) for side in (ours, theirs)]
    if tails[0] is None or tails[1] is None:
        return None
    merged = merge_rule(ConflictHunk([], diff3.split_lines(tails[0]), diff3.split_lines(tails[1])))
    if merged is None:
        return None
    tail = b"".join(merged)
    digest = blake3()
    for piece in session.reader.stream_blob(base.blob, base.size):
        digest.update(piece)
    return AppendedBlob(digest.update(tail).digest(), base.blob, base.size, tail)


def store_appended(session: Session, tx: StoreTransaction, appended: AppendedBlob) -> None:
    """Put a grown blob into the store."""

    def stream() -> Iterator[bytes]:
        yield from session.reader.stream_blob(appended.base)
        yield appended.tail

    tx.put_blob_stream(RestartableStream(stream), appended.size, appended.base)


def _read_tail(session: Session, side: TreeEntry, base: TreeEntry) -> bytes | None:
    """Return what follows `base` in the file `side`, None if it does not begin with it.

    The base must also end a line, so that what follows stands for itself.
    """
    digest = blake3()
    tail = bytearray()
    bytes_read, last = 0, b""
    for piece in session.reader.stream_blob(side.blob, side.size):
        head = piece[: max(0, base.size - bytes_read)]
        digest.update(head)
        last = head[-1:] or last
        tail += piece[len(head) :]
        bytes_read += len(piece)
    return bytes(tail) if digest.digest() == base.blob and last == b"\n" else None
