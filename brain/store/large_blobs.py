"""Compress blobs, and cut large ones into chunks.

Cuts are content-defined (FastCDC, Xia et al., USENIX ATC 2016, in its 2020 form), so that an edit
in the middle of a file leaves all other chunks as they were. One rule serves text and binary data
alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from blake3 import blake3
from zstandard import ZstdCompressor

from ..errors import Conflict
from .blobs import (
    BLOB_COLUMNS,
    CODEC_RAW,
    CODEC_ZSTD,
    ZSTD_THREADS,
    BlobDecoder,
    check_content,
)
from .connection import Connection
from .rows import BlobRow, BlobSource

ZSTD_LEVEL = 3
"""The last level that costs little."""
MIN_COMPRESSED_BYTES = 64
"""Smaller blobs are stored uncompressed."""
MAX_COMPRESSED_RATIO = 15 / 16
"""Content that does not shrink to less than this ratio is stored uncompressed."""

MIN_CHUNK_BYTES = 32 << 10
MEAN_CHUNK_BYTES = 64 << 10
MAX_CHUNK_BYTES = 192 << 10
"""Bytes in a chunk; the real mean is a little above `MEAN_CHUNK_BYTES`."""
READ_WINDOW_BYTES = 4 << 20
"""Bytes of a file held in memory at a time; the file is never mapped, since it may change."""

REPACK_BATCH_ROWS = 256


def pack_blobs(batch: list[tuple[bytes, bytes]]) -> list[BlobRow]:
    """Return the rows of blobs, given as (id, content), in any order."""
    short = [(id, content) for id, content in batch if len(content) < MIN_COMPRESSED_BYTES]
    longer = [pair for pair in batch if len(pair[1]) >= MIN_COMPRESSED_BYTES]
    rows: list[BlobRow] = [(id, CODEC_RAW, content) for id, content in short]
    if longer:
        compressor = ZstdCompressor(level=ZSTD_LEVEL)
        contents: list[bytes | bytearray | memoryview] = [content for _, content in longer]
        packed = compressor.multi_compress_to_buffer(contents, threads=ZSTD_THREADS)
        for place, (id, content) in enumerate(longer):
            if len(packed[place]) < len(content) * MAX_COMPRESSED_RATIO:
                rows.append((id, CODEC_ZSTD, packed[place].tobytes()))
            else:
                rows.append((id, CODEC_RAW, content))
    return rows


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

    def read_to_end(self, size: int) -> bytes:
        """Return all `size` bytes."""
        content = bytearray(size)
        at = 0
        while count := self.readinto(memoryview(content)[at:]):
            at += count
        return bytes(content)


def hash_next_bytes(source: BlobSource, size: int, digest: blake3) -> None:
    """Hash the next `size` bytes of `source`, on several cores."""
    reader = HashingReader(source, size, digest)
    window = memoryview(bytearray(min(READ_WINDOW_BYTES, size)))
    while reader.readinto(window):
        pass


def cut_chunks(reader: HashingReader, size: int) -> Iterator[bytes]:
    """Yield the chunks of the `size` bytes of `reader`; few bytes are one chunk."""
    if size <= MIN_CHUNK_BYTES:
        yield reader.read_to_end(size)
        return
    from pyfastcdc import FastCDC

    cutter = FastCDC(
        MEAN_CHUNK_BYTES, min_size=MIN_CHUNK_BYTES, max_size=MAX_CHUNK_BYTES, normalized_chunking=2
    )
    for chunk in cutter.cut_stream(reader):
        yield bytes(chunk.data)


def empty_dictionaries(db: Connection) -> None:
    """Pack the blobs that use a dictionary again without it, and empty it."""
    decoder = BlobDecoder(db)
    sql = "SELECT DISTINCT abs(number) FROM dictionaries WHERE length(data) > 0"
    for (number,) in db.fetch_all(sql):
        packed = db.fetch_all("SELECT id FROM blobs WHERE codec = ?", (CODEC_ZSTD + number,))
        ids = [id for (id,) in packed]
        for start in range(0, len(ids), REPACK_BATCH_ROWS):
            sql = f"SELECT {BLOB_COLUMNS} FROM blobs WHERE id IN ({{keys}})"
            found = list(db.fetch_by_keys(sql, ids[start : start + REPACK_BATCH_ROWS]))
            unpacked = [
                (id, check_content(id, content)) for id, content in decoder.decode_many(found)
            ]
            db.execute_many(
                "UPDATE blobs SET codec = ?, data = ? WHERE id = ?",
                [(codec, data, id) for id, codec, data in pack_blobs(unpacked)],
            )
        # Its number is never used again, since other processes may have loaded it.
        empty = "UPDATE dictionaries SET data = X'', checksum = X'' WHERE number IN (?, ?)"
        db.execute(empty, (number, -number))
