"""Write a large blob: cut it into chunks, or append to the blob it grew from.

Cuts are content-defined (FastCDC, Xia et al., USENIX ATC 2016, in its 2020
form), so that an edit in the middle of a file leaves all other chunks as they
were. One rule serves text and binary data alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from blake3 import blake3

from ...digest import blob_id
from ...errors import Conflict, NotFound, StoreError
from ..protocol import LARGE_BLOB_BYTES, BlobSource
from .chunk_list import EMPTY_CHUNK_LIST, ChunkList, plan_append

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

CHUNK_BATCH_BYTES = 4 << 20
"""Bytes of chunks that are stored at a time."""


class ChunkSink(Protocol):
    """The methods of a transaction that this module needs."""

    def chunk_list_of(self, id: bytes) -> ChunkList | None: ...

    def read_blob(self, id: bytes) -> bytes: ...

    def put_chunks(self, batch: list[tuple[bytes, bytes]]) -> None: ...

    def put_chunk_list(self, id: bytes, chunk_list: ChunkList) -> None: ...


def write_large_blob(sink: ChunkSink, source: BlobSource, size: int, base: bytes | None) -> bytes:
    """Store the first `size` bytes of `source`; see `StoreTransaction.put_blob_stream`."""
    if size < LARGE_BLOB_BYTES:
        digest = blake3()
        content = read_to_end(HashingReader(source, size, digest), size)
        sink.put_chunks([(digest.digest(), content)])
        return digest.digest()
    if base:
        try:
            id = _append_to_base(sink, source, size, base)
        except (StoreError, NotFound):  # the base is damaged; the whole content is here
            id = None
        if id:
            return id
        source.seek(0)
    digest = blake3(max_threads=blake3.AUTO)
    chunk_list = _store_chunks(sink, EMPTY_CHUNK_LIST, HashingReader(source, size, digest), size)
    sink.put_chunk_list(digest.digest(), chunk_list)
    return digest.digest()


def _append_to_base(sink: ChunkSink, source: BlobSource, size: int, base: bytes) -> bytes | None:
    """Store the content after `base` in `source`; None if the source does not start with it.

    Chunks that are joined again are read from the store, since the file may have changed after
    its start was hashed. The other chunks of the base were compared when it was stored, and are
    not read again, so that an append costs what was appended.
    """
    base_list = sink.chunk_list_of(base)
    if base_list is None or base_list.size > size:
        return None
    digest = blake3(max_threads=blake3.AUTO)
    hash_next_bytes(source, base_list.size, digest)
    plan = plan_append(base, base_list)
    if digest.digest() != base or plan is None:
        return None
    if size == base_list.size:
        return base
    rejoined = b"".join(map(sink.read_blob, plan.rejoin))
    reader = HashingReader(source, size - base_list.size, digest, rejoined)
    chunk_list = _store_chunks(sink, plan.start, reader, len(rejoined) + size - base_list.size)
    sink.put_chunk_list(digest.digest(), chunk_list)
    return digest.digest()


def _store_chunks(sink: ChunkSink, start: ChunkList, reader: HashingReader, size: int) -> ChunkList:
    """Store the chunks of `reader` and list them after those of `start`."""
    ids, sizes = list(start.chunks), list(start.sizes)
    batch: list[tuple[bytes, bytes]] = []
    batch_bytes = 0
    for chunk in cut_chunks(reader, size):
        id = blob_id(chunk)
        ids.append(id)
        sizes.append(len(chunk))
        batch.append((id, chunk))
        batch_bytes += len(chunk)
        if batch_bytes >= CHUNK_BATCH_BYTES:
            sink.put_chunks(batch)
            batch, batch_bytes = [], 0
    sink.put_chunks(batch)
    return start._replace(chunks=ids, sizes=sizes)


MIN_CHUNK_BYTES = 32 << 10
MEAN_CHUNK_BYTES = 64 << 10
MAX_CHUNK_BYTES = 192 << 10
"""Bytes in a chunk; the real mean is a little above `MEAN_CHUNK_BYTES`."""
READ_WINDOW_BYTES = 4 << 20
"""Bytes of a file held in memory at a time; the file is never mapped, since it may change."""


class HashingReader:
    """Reads `prefix` and then the next `size` bytes of a source, and hashes only the latter.

    The cutter reads it like a file. Raises `Conflict` (`changed_while_reading`) if the source
    ends early.
    """

    def __init__(self, source: BlobSource, size: int, digest: blake3, prefix: bytes = b"") -> None:
        self._source = source
        self._remaining = size
        self._digest = digest
        self._lead = memoryview(prefix)

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill `buffer` as far as possible; return the number of bytes, 0 at the end."""
        if self._lead:
            count = min(len(self._lead), len(buffer))
            buffer[:count] = self._lead[:count]
            self._lead = self._lead[count:]
            return count
        if not self._remaining:
            return 0
        count = self._source.readinto(buffer[: self._remaining]) or 0
        if not count:
            raise Conflict(
                "a file became shorter while it was read",
                code="changed_while_reading",
                hint="wait until nothing writes to it, and try again",
            )
        self._digest.update(buffer[:count])
        self._remaining -= count
        return count


def hash_next_bytes(source: BlobSource, size: int, digest: blake3) -> None:
    """Hash the next `size` bytes of `source`, on several cores."""
    reader = HashingReader(source, size, digest)
    window = memoryview(bytearray(min(READ_WINDOW_BYTES, size)))
    while reader.readinto(window):
        pass


def cut_chunks(reader: HashingReader, size: int) -> Iterator[bytes]:
    """Yield the chunks of the `size` bytes of `reader`; few bytes are one chunk."""
    if size <= MIN_CHUNK_BYTES:
        yield read_to_end(reader, size)
        return
    from pyfastcdc import FastCDC

    cutter = FastCDC(
        MEAN_CHUNK_BYTES, min_size=MIN_CHUNK_BYTES, max_size=MAX_CHUNK_BYTES, normalized_chunking=2
    )
    for chunk in cutter.cut_stream(reader):
        yield bytes(chunk.data)


def read_to_end(reader: HashingReader, size: int) -> bytes:
    """Return all `size` bytes of `reader`."""
    content = bytearray(size)
    at = 0
    while count := reader.readinto(memoryview(content)[at:]):
        at += count
    return bytes(content)
