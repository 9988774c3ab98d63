"""Two long memories that both only grew: the common start stays where it is.

What was appended on either side is held in memory, the rest is streamed, and the
store keeps just the new end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from blake3 import blake3

from .. import limits
from ..merging import contents, lines
from ..merging.lines import Stretch
from ..merging.trees import Contest
from ..objects.entry import Entry
from ..session import Session
from ..store.protocol import LARGE, Transaction
from .streams import Pieces


class Grown(NamedTuple):
    """A blob that is `base` (of `start` bytes) with `tail` after it."""

    blob: bytes
    base: bytes
    start: int
    tail: bytes

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self.start + len(self.tail)


def unite(session: Session, contest: Contest) -> Grown | None:
    """Return the union of two large memories that start with the base, else None."""
    path, base, ours, theirs = contest
    settle = contents.rule(path)
    if base is None or ours is None or theirs is None or settle is lines.contest:
        return None
    if session.reader.redacted([base.blob]):
        return None
    longest = max(ours.size, theirs.size)
    if base.size < LARGE or longest - base.size > limits.MAX_MERGED_BYTES:
        return None
    tails = [_tail(session, side, base) for side in (ours, theirs)]
    if tails[0] is None or tails[1] is None:
        return None
    united = settle(Stretch([], lines.split(tails[0]), lines.split(tails[1])))
    if united is None:
        return None
    tail = b"".join(united)
    digest = blake3()
    for piece in session.reader.stream_blob(base.blob, base.size):
        digest.update(piece)
    return Grown(digest.update(tail).digest(), base.blob, base.size, tail)


def keep(session: Session, tx: Transaction, grown: Grown) -> None:
    """Put a grown blob into the store."""

    def stream() -> Iterator[bytes]:
        yield from session.reader.stream_blob(grown.base)
        yield grown.tail

    tx.put_stream(Pieces(stream), grown.size, grown.base)


def _tail(session: Session, side: Entry, base: Entry) -> bytes | None:
    """Return what follows `base` in the file `side`, None if it does not begin with it.

    The base must also end a line, so that what follows stands for itself.
    """
    digest = blake3()
    tail = bytearray()
    seen, last = 0, b""
    for piece in session.reader.stream_blob(side.blob, side.size):
        head = piece[: max(0, base.size - seen)]
        digest.update(head)
        last = head[-1:] or last
        tail += piece[len(head) :]
        seen += len(piece)
    return bytes(tail) if digest.digest() == base.blob and last == b"\n" else None
