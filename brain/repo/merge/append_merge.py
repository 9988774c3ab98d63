"""Merge of large memory files that both sides only appended to, without loading them whole.

Only the appended tails are held in memory. The base is streamed, and shares its chunks with
the merged file in the store.
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
    """A blob that consists of the blob `base` and the bytes `tail` after it."""

    blob: bytes
    base: bytes
    base_size: int
    tail: bytes

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self.base_size + len(self.tail)


def merge_appended(session: Session, conflict: PathConflict) -> AppendedBlob | None:
    """Return the union of two large memory files, None unless both start with the base."""
    path, base, ours, theirs = conflict
    merge_rule = content_merge.settle_rule(path)
    if base is None or ours is None or theirs is None or merge_rule is diff3.leave_conflict:
        return None
    if session.reader.find_redactions([base.blob]):
        return None
    longest_tail = max(ours.size, theirs.size) - base.size
    if base.size < LARGE_BLOB_BYTES or longest_tail > limits.MAX_LINE_MERGE_BYTES:
        return None
    our_tail, their_tail = (_read_tail(session, side, base) for side in (ours, theirs))
    if our_tail is None or their_tail is None:
        return None
    merged = merge_rule(
        ConflictHunk([], diff3.split_lines(our_tail), diff3.split_lines(their_tail))
    )
    if merged is None:
        return None
    tail = b"".join(merged)
    digest = blake3()
    for piece in session.reader.stream_blob(base.blob, base.size):
        digest.update(piece)
    return AppendedBlob(digest.update(tail).digest(), base.blob, base.size, tail)


def store_appended(session: Session, tx: StoreTransaction, appended: AppendedBlob) -> None:
    """Put an appended blob into the store."""

    def stream() -> Iterator[bytes]:
        yield from session.reader.stream_blob(appended.base)
        yield appended.tail

    tx.put_blob_stream(RestartableStream(stream), appended.size, appended.base)


def _read_tail(session: Session, side: TreeEntry, base: TreeEntry) -> bytes | None:
    """Return the bytes after `base` in the file `side`.

    Returns None if the file does not start with the base, or the base does not end a line.
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
