"""Decode the content of blobs: raw, a list of chunks, or compressed by Zstandard."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ...digest import blob_id
from ...errors import StoreError, corrupt_object_error
from .. import checksums, field_limits
from ..connection import Connection
from ..protocol import BlobRow
from ..schema import typed_columns

if TYPE_CHECKING:
    from zstandard import ZstdCompressionDict, ZstdDecompressor

_DICTIONARY_COLUMNS = typed_columns("data BLOB, checksum BLOB")

CODEC_RAW = 0
CODEC_CHUNK_LIST = 1
CODEC_ZSTD = 2
"""Zstandard (RFC 8878); CODEC_ZSTD + n is Zstandard with dictionary n."""

INSERT_BLOB_SQL = "INSERT INTO blobs (id, codec, data) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING"
REPLACE_BLOB_SQL = (
    "INSERT INTO blobs (id, codec, data) VALUES (?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET codec = excluded.codec, data = excluded.data"
)

ZSTD_THREADS = min(4, os.cpu_count() or 1)
MIN_FRAMES_IN_BULK = 16
"""Frames for which decompressing them together is faster."""

DecodedBlobs = list[tuple[bytes, bytes | StoreError]]
"""Id, and content or error."""

MAX_ROW_CONTENT_BYTES = 1 << 20
"""Content of one row; checked before memory is allocated."""


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

    sql = f"SELECT {_DICTIONARY_COLUMNS} FROM dictionaries WHERE number IN (?, ?)"
    for data, checksum in db.fetch_all(sql, (number, -number)):
        fits = checksums.row_checksum(b"%d" % number, data) == checksum
        if fits and len(data) <= field_limits.MAX_DICTIONARY_BYTES:
            return ZstdCompressionDict(data, dict_type=DICT_TYPE_FULLDICT)
    return None


def save_dictionary(db: Connection, number: int, data: bytes) -> None:
    """Store a dictionary twice, since the blobs packed with it are lost without it."""
    checksum = checksums.row_checksum(b"%d" % number, data)
    db.execute_many(
        "INSERT INTO dictionaries (number, data, checksum) VALUES (?, ?, ?)",
        [(number, data, checksum), (-number, data, checksum)],
    )


class BlobDecoder:
    """Decompresses rows; caches one decompressor for each dictionary."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._decompressors: dict[int, ZstdDecompressor] = {}

    def decode(self, id: bytes, codec: int, data: bytes) -> bytes:
        """Return the content of a row, not checked against `id`; the row holds no chunk list.

        Raises `StoreError` (`corrupt_object`).
        """
        return data if codec == CODEC_RAW else _decompress(self._decompressor(id, codec), id, data)

    def plan_decoding(self, rows: list[BlobRow]) -> Callable[[], DecodedBlobs]:
        """Return a job that decompresses `rows`, none a chunk list, without the connection.

        The job may run on another thread, and uses several itself.
        """
        decoded: DecodedBlobs = []
        packed: dict[int, list[tuple[bytes, bytes]]] = {}
        for id, codec, data in rows:
            if codec == CODEC_RAW:
                decoded.append((id, data))
            else:
                packed.setdefault(codec, []).append((id, data))
        jobs = []
        for codec, group in packed.items():
            try:
                jobs.append((self._decompressor(group[0][0], codec), group))
            except StoreError as error:
                decoded.extend((id, error) for id, _ in group)
        return lambda: decoded + [pair for job in jobs for pair in _decompress_many(*job)]

    def _decompressor(self, id: bytes, codec: int) -> ZstdDecompressor:
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
    return [(id, _try_decompress(decompressor, id, data)) for id, data in group]


def _try_decompress(decompressor: ZstdDecompressor, id: bytes, data: bytes) -> bytes | StoreError:
    try:
        return _decompress(decompressor, id, data)
    except StoreError as error:
        return error
