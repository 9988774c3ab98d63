"""Reading a large file once: hashing it whole while it is cut into chunks.

Cuts are content-defined (FastCDC, Xia et al., USENIX ATC 2016, in its 2020
form), so that an edit in the middle of a file leaves all other chunks as they
were. One rule serves text and binary data alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from blake3 import blake3

from ..errors import Conflict
from .protocol import Source

MIN_CHUNK = 32 << 10
MEAN_CHUNK = 64 << 10
MAX_CHUNK = 192 << 10
"""Bytes in a chunk; the true mean lies a little above `MEAN_CHUNK`."""
WINDOW = 4 << 20
"""Bytes of a file held in memory at a time; the file is never mapped, since it may change."""


class Meter:
    """Serves `lead` and then the next `size` bytes of a source, hashing only the latter.

    It quacks like a file for the cutter. Raises `Conflict`
    (`changed_while_reading`) if the source ends early.
    """

    def __init__(self, source: Source, size: int, digest: blake3, lead: bytes = b"") -> None:
        self._source = source
        self._left = size
        self._digest = digest
        self._lead = memoryview(lead)

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill as much of `buffer` as is there; 0 at the end."""
        if self._lead:
            count = min(len(self._lead), len(buffer))
            buffer[:count] = self._lead[:count]
            self._lead = self._lead[count:]
            return count
        if not self._left:
            return 0
        count = self._source.readinto(buffer[: self._left]) or 0
        if not count:
            raise Conflict(
                "a file became shorter while it was read",
                code="changed_while_reading",
                hint="wait until nothing writes to it, and try again",
            )
        self._digest.update(buffer[:count])
        self._left -= count
        return count


def hash_next(source: Source, size: int, digest: blake3) -> None:
    """Hash the next `size` bytes of `source`, on several cores."""
    meter = Meter(source, size, digest)
    window = memoryview(bytearray(min(WINDOW, size)))
    while meter.readinto(window):
        pass


def cut(meter: Meter, size: int) -> Iterator[bytes]:
    """Yield the chunks of what `meter` serves, `size` bytes in all.

    A short rest is one chunk, without loading the cutter.
    """
    if size <= MIN_CHUNK:
        yield whole(meter, size)
        return
    from pyfastcdc import FastCDC

    cutter = FastCDC(MEAN_CHUNK, min_size=MIN_CHUNK, max_size=MAX_CHUNK, normalized_chunking=2)
    for chunk in cutter.cut_stream(meter):
        yield bytes(chunk.data)


def whole(meter: Meter, size: int) -> bytes:
    """Return all `size` bytes that `meter` serves."""
    content = bytearray(size)
    at = 0
    while count := meter.readinto(memoryview(content)[at:]):
        at += count
    return bytes(content)
