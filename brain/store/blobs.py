"""Blobs as they are stored: raw, compressed by Zstandard, or as a list of chunks.

A list of chunks, little-endian: checksum over the blob's id and the rest (8 bytes), depth (1),
prefix size (8), number of chunks n (4), prefix id (32, absent at depth 0), n chunk ids (32 each),
n chunk sizes (4 each). The content of a list with a depth begins with that of another large blob,
its prefix. Lists with a depth, and dictionaries for compression, are of older releases: they are
read and not written.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ..digest import DIGEST_SIZE, blob_id
from ..errors import StoreError, corrupt_object_error
from ..named_tuple import NamedTuple
from .connection import Connection
from .database import typed_columns
from .rows import CHECKSUM_BYTES, BlobRow, row_checksum

if TYPE_CHECKING:
    from zstandard import ZstdCompressionDict, ZstdDecompressor

CODEC_RAW = 0
CODEC_CHUNK_LIST = 1
CODEC_ZSTD = 2
"""Zstandard (RFC 8878); CODEC_ZSTD + n is Zstandard with dictionary n."""

MAX_ROW_CONTENT_BYTES = 1 << 20
"""Content of one row; checked before memory is allocated."""
MAX_DICTIONARY_BYTES = 1 << 20
MAX_PREFIX_DEPTH = 32
SMALL_CHUNK_BYTES = 32 << 10
"""Many smaller chunks at the end of a list are joined by the next append."""
ZSTD_THREADS = min(4, os.cpu_count() or 1)
MIN_FRAMES_IN_BULK = 16
"""Frames for which decompressing them together is faster."""

BLOB_COLUMNS = typed_columns("id BLOB, codec INTEGER, data BLOB")
DICTIONARY_COLUMNS = typed_columns("number INTEGER, data BLOB, checksum BLOB")

DecodedBlobs = list[tuple[bytes, bytes | StoreError]]
"""Id, and content or error."""

_HEADER = struct.Struct("<BQI")


class ChunkList(NamedTuple):
    """`prefix` is b"" and `prefix_size` 0 at depth 0; `pieces` are chunks and their sizes."""

    depth: int
    prefix: bytes
    prefix_size: int
    pieces: list[tuple[bytes, int]]

    @property
    def size(self) -> int:
        """Bytes of the whole blob."""
        return self.prefix_size + sum(size for _, size in self.pieces)


def encode_chunk_list(id: bytes, pieces: Sequence[tuple[bytes, int]]) -> bytes:
    """Return the stored form of a list of all (chunk, size) of blob `id`."""
    chunks, sizes = [chunk for chunk, _ in pieces], [size for _, size in pieces]
    header = _HEADER.pack(0, 0, len(pieces))
    body = b"".join((header, *chunks, struct.pack(f"<{len(sizes)}I", *sizes)))
    return row_checksum(id, body) + body


def decode_chunk_list(id: bytes, stored: bytes) -> ChunkList:
    """Decode a stored chunk list. Raises `ValueError` if it is damaged."""
    body = stored[CHECKSUM_BYTES:]
    if row_checksum(id, body) != stored[:CHECKSUM_BYTES]:
        raise ValueError("its chunk list does not match its checksum")
    if len(body) < _HEADER.size:
        raise ValueError("its chunk list is truncated")
    depth, prefix_size, count = _HEADER.unpack_from(body)
    first = _HEADER.size + (DIGEST_SIZE if depth else 0)
    sizes_at = first + DIGEST_SIZE * count
    if (
        len(body) != sizes_at + 4 * count
        or depth > MAX_PREFIX_DEPTH
        or bool(depth) != bool(prefix_size)
    ):
        raise ValueError("its chunk list has a wrong length or depth")
    chunks = [body[at : at + DIGEST_SIZE] for at in range(first, sizes_at, DIGEST_SIZE)]
    sizes = struct.unpack_from(f"<{count}I", body, sizes_at)
    pieces = list(zip(chunks, sizes, strict=True))
    return ChunkList(depth, body[_HEADER.size : first], prefix_size, pieces)


def check_content(id: bytes, content: bytes | StoreError) -> bytes:
    """Return the content of blob `id`. Raises `StoreError` for an error, and another content."""
    if isinstance(content, StoreError):
        raise content
    if blob_id(content) != id:
        raise corrupt_object_error(id)
    return content


def load_dictionary(db: Connection, number: int) -> ZstdCompressionDict | None:
    """Return dictionary `number`, None if it is absent or both copies fail their checksum."""
    from zstandard import DICT_TYPE_FULLDICT, ZstdCompressionDict

    sql = f"SELECT {DICTIONARY_COLUMNS} FROM dictionaries WHERE number IN (?, ?)"
    for _, data, checksum in db.fetch_all(sql, (number, -number)):
        fits = row_checksum(b"%d" % number, data) == checksum
        if fits and len(data) <= MAX_DICTIONARY_BYTES:
            return ZstdCompressionDict(data, dict_type=DICT_TYPE_FULLDICT)
    return None


class BlobDecoder:
    """Decompresses rows; caches one decompressor for each dictionary."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._decompressors: dict[int, ZstdDecompressor] = {}

    def decode(self, id: bytes, codec: int, data: bytes) -> bytes:
        """Return the content of a row, not checked against `id`; the row holds no chunk list.

        Raises `StoreError` (`corrupt_object`).
        """
        return data if codec == CODEC_RAW else _decompress(self.decompressor(id, codec), id, data)

    def decode_many(self, rows: list[BlobRow]) -> DecodedBlobs:
        """Decode rows, none a chunk list, on several threads; unchecked as for `decode`."""
        decoded: DecodedBlobs = []
        packed: dict[int, list[tuple[bytes, bytes]]] = {}
        for id, codec, data in rows:
            if codec == CODEC_RAW:
                decoded.append((id, data))
            else:
                packed.setdefault(codec, []).append((id, data))
        for codec, group in packed.items():
            try:
                decompressor = self.decompressor(group[0][0], codec)
            except StoreError as error:
                decoded.extend((id, error) for id, _ in group)
            else:
                decoded += _decompress_many(decompressor, group)
        return decoded

    def decompressor(self, id: bytes, codec: int) -> ZstdDecompressor:
        """Return the decompressor of a codec, that blob `id` names."""
        known = self._decompressors.get(codec)
        if known is None:
            from zstandard import ZstdDecompressor, ZstdError

            dictionary = (
                load_dictionary(self._db, codec - CODEC_ZSTD) if codec > CODEC_ZSTD else None
            )
            if codec < CODEC_ZSTD or (codec > CODEC_ZSTD and dictionary is None):
                raise corrupt_object_error(id, f"its codec {codec} is unknown")
            try:
                known = self._decompressors[codec] = ZstdDecompressor(dict_data=dictionary)
            except ZstdError as error:
                raise corrupt_object_error(id, "its dictionary is not one of Zstandard") from error
        return known


def _decompress(decompressor: ZstdDecompressor, id: bytes, data: bytes) -> bytes:
    import zstandard  # importing single names would cost more than a small blob

    try:
        if not 0 <= zstandard.frame_content_size(data) <= MAX_ROW_CONTENT_BYTES:
            raise corrupt_object_error(id, "it claims an impossible size")
        return decompressor.decompress(data)
    except zstandard.ZstdError as error:
        raise corrupt_object_error(id, "it cannot be decompressed") from error


def _decompress_many(
    decompressor: ZstdDecompressor, group: list[tuple[bytes, bytes]]
) -> DecodedBlobs:
    """Decompress all at once; if one of them is damaged, one by one."""
    from zstandard import ZstdError, frame_content_size

    frames: list[bytes | bytearray | memoryview] = [data for _, data in group]
    with suppress(ZstdError):
        if len(frames) >= MIN_FRAMES_IN_BULK and all(
            0 <= frame_content_size(frame) <= MAX_ROW_CONTENT_BYTES for frame in frames
        ):
            contents = decompressor.multi_decompress_to_buffer(frames, threads=ZSTD_THREADS)
            return [(id, contents[place].tobytes()) for place, (id, _) in enumerate(group)]
    decoded: DecodedBlobs = []
    for id, data in group:
        try:
            decoded.append((id, _decompress(decompressor, id, data)))
        except StoreError as error:
            decoded.append((id, error))
    return decoded
