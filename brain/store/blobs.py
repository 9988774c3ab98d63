"""Blobs as they are stored, and how they are read: raw, compressed, or as a list of chunks."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from blake3 import blake3

from .. import limits
from ..digest import DIGEST_SIZE, NO_DIGEST, blob_id
from ..errors import BrainError, InvalidInput, NotFound, StoreError, corrupt_object_error
from . import rows
from . import rows as checksums
from . import rows as field_limits
from .connection import Connection
from .database import typed_columns
from .redaction_table import RedactionReader
from .rows import LARGE_BLOB_BYTES, BlobCheckResult, BlobRow

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


MAX_PREFIX_DEPTH = 32
"""Nesting of prefixes."""
MAX_LISTED_CHUNKS = 64
"""Length of a chunk list from which on an append rearranges it."""
SMALL_CHUNK_BYTES = 32 << 10
"""Many chunks below this size are joined."""

_HEADER = struct.Struct("<BQI")


class ChunkList(NamedTuple):
    """`prefix` is b"" and `prefix_size` 0 at depth 0; `sizes` are bytes of the chunks."""

    depth: int
    prefix: bytes
    prefix_size: int
    chunks: list[bytes]
    sizes: list[int]

    @property
    def size(self) -> int:
        """Bytes of the whole blob."""
        return self.prefix_size + sum(self.sizes)

    def pieces(self) -> list[tuple[bytes, int]]:
        """Return (chunk, size) of the listed chunks."""
        return list(zip(self.chunks, self.sizes, strict=True))


EMPTY_CHUNK_LIST = ChunkList(0, NO_DIGEST, 0, [], [])


def encode_chunk_list(id: bytes, chunk_list: ChunkList) -> bytes:
    """Return the stored form of the chunk list of blob `id`."""
    body = b"".join(
        (
            _HEADER.pack(chunk_list.depth, chunk_list.prefix_size, len(chunk_list.chunks)),
            chunk_list.prefix,
            *chunk_list.chunks,
            struct.pack(f"<{len(chunk_list.sizes)}I", *chunk_list.sizes),
        )
    )
    return rows.row_checksum(id, body) + body


def decode_chunk_list(id: bytes, stored: bytes) -> ChunkList:
    """Decode a stored chunk list. Raises `ValueError` if it is damaged."""
    body = stored[rows.CHECKSUM_BYTES :]
    if rows.row_checksum(id, body) != stored[: rows.CHECKSUM_BYTES]:
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
    sizes = list(struct.unpack_from(f"<{count}I", body, sizes_at))
    return ChunkList(depth, body[_HEADER.size : first], prefix_size, chunks, sizes)


def can_extend(chunk_list: ChunkList, prefix: ChunkList) -> bool:
    """Tell whether `prefix` fits as the prefix of a chunk list."""
    return prefix.depth < chunk_list.depth and prefix.size == chunk_list.prefix_size


class AppendPlan(NamedTuple):
    """Keep the chunks of `start`, and cut the joined chunks `rejoin` again before new content."""

    start: ChunkList
    rejoin: list[bytes]


def plan_append(base: bytes, chunk_list: ChunkList) -> AppendPlan | None:
    """Plan the chunk list of a blob that is `base` with something appended.

    A short list is extended. In a long list with many small chunks at its end these are
    joined; another long list becomes the prefix of a new one. None means to cut the whole
    blob again.
    """
    if len(chunk_list.chunks) < MAX_LISTED_CHUNKS:
        return AppendPlan(chunk_list, [])
    small = 0
    while small < len(chunk_list.sizes) and chunk_list.sizes[-1 - small] < SMALL_CHUNK_BYTES:
        small += 1
    if small > MAX_LISTED_CHUNKS // 2:
        count = len(chunk_list.chunks) - small
        start = chunk_list._replace(
            chunks=chunk_list.chunks[:count], sizes=chunk_list.sizes[:count]
        )
        return AppendPlan(start, chunk_list.chunks[count:])
    if chunk_list.depth == MAX_PREFIX_DEPTH:
        return None
    return AppendPlan(ChunkList(chunk_list.depth + 1, base, chunk_list.size, [], []), [])


_ROWS_PER_BATCH = 256
"""Rows read at a time; their content is held in memory."""
_BLOB_COLUMNS = typed_columns("id BLOB, codec INTEGER, data BLOB")
_ROWS_SQL = (
    f"SELECT {_BLOB_COLUMNS} FROM blobs WHERE id IN ({{keys}})"
    f" AND codec != {CODEC_CHUNK_LIST} AND length(data) <= {MAX_ROW_CONTENT_BYTES}"
)


def select_new_blobs(
    db: Connection, decoder: BlobDecoder, batch: list[tuple[bytes, bytes]]
) -> list[tuple[bytes, bytes]]:
    """Return those small blobs of a batch, once each, that are not stored intact."""
    new = dict(batch)
    for stored in _read_rows(db, list(new)):
        for id, content in decoder.plan_decoding(stored)():
            if content == new[id]:
                del new[id]
    return list(new.items())


def select_differing_rows(
    db: Connection, decoder: BlobDecoder, rows: list[BlobRow]
) -> list[BlobRow]:
    """Return those rows of small blobs, once each, that are not stored intact.

    A stored row may be packed differently.
    """
    differing = {row[0]: row for row in rows}
    for stored in _read_rows(db, list(differing)):
        repacked = []
        for row in stored:
            if row == differing[row[0]]:
                del differing[row[0]]
            else:
                repacked.append(row)
        for id, content in decoder.plan_decoding(repacked)():
            if not isinstance(content, StoreError) and blob_id(content) == id:
                del differing[id]
    return list(differing.values())


def _read_rows(db: Connection, ids: Sequence[bytes]) -> Iterator[list[BlobRow]]:
    """Yield the rows under `ids` that may hold a small blob, some at a time."""
    for start in range(0, len(ids), _ROWS_PER_BATCH):
        batch = ids[start : start + _ROWS_PER_BATCH]
        rows = [(id, codec, data) for id, codec, data in db.fetch_by_keys(_ROWS_SQL, batch)]
        if rows:
            yield rows


_CONTENT_COLUMNS = typed_columns("codec INTEGER, data BLOB")
_ALL_CHUNK_LISTS_SQL = f"SELECT {_BLOB_COLUMNS} FROM blobs WHERE codec = ? ORDER BY number"

ROWS_PER_BATCH = 256
"""Rows read at a time; content of one batch is held in memory."""


def missing_object_error(id: bytes) -> NotFound:
    """Return the error for an object that is not in the store."""
    return NotFound(
        f"object {id.hex()} is not in the store",
        code="missing_object",
        hint="run `brain verify`, and restore the folder .brain from a copy",
    )


class BlobReader(RedactionReader):
    """The methods of `StoreReader` for blobs."""

    _decoder: BlobDecoder

    def blob_size(self, id: bytes) -> int:
        codec, data = self._fetch_blob_row(id)
        if codec == CODEC_CHUNK_LIST:
            return self._decode_chunk_list(id, data).size
        return len(self._decode_content(id, codec, data))

    def read_blob(self, id: bytes, size: int | None = None) -> bytes:
        codec, data = self._fetch_blob_row(id)
        if codec != CODEC_CHUNK_LIST:
            return self._decode_content(id, codec, data)
        chunk_list = self._decode_chunk_list(id, data, size)
        if chunk_list.size > limits.MAX_IN_MEMORY_BYTES:
            raise InvalidInput(
                f"blob {id.hex()} has {chunk_list.size} bytes, too many to read at once",
                code="too_large",
                hint=f"up to {limits.MAX_IN_MEMORY_BYTES} bytes are read as a whole",
            )
        return b"".join(self._stream_chunks(id, chunk_list))

    def stream_blob(self, id: bytes, size: int | None = None) -> Iterator[bytes]:
        codec, data = self._fetch_blob_row(id)
        if codec == CODEC_CHUNK_LIST:
            yield from self._stream_chunks(id, self._decode_chunk_list(id, data, size))
        else:
            yield self._decode_content(id, codec, data)

    def read_small_blobs(self, ids: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """See `StoreReader.read_small_blobs`; yields in storage order within a batch."""
        wanted = list(dict.fromkeys(ids))
        for start in range(0, len(wanted), ROWS_PER_BATCH):
            batch = wanted[start : start + ROWS_PER_BATCH]
            sql = f"SELECT {_BLOB_COLUMNS} FROM blobs WHERE id IN ({{keys}})"
            rows = list(self._db.fetch_by_keys(sql, batch))
            for id in set(batch).difference(row[0] for row in rows):
                raise self._lookup_error(id)
            for id, codec, data in rows:
                if codec == CODEC_CHUNK_LIST:  # a flipped bit in the codec would hide a small blob
                    self._decode_chunk_list(id, data)
            small = [row for row in rows if row[1] != CODEC_CHUNK_LIST]
            for id, content in self._decoder.plan_decoding(small)():
                fails = isinstance(content, StoreError)
                yield id, self.read_blob(id) if fails else check_content(id, content)

    def _lookup_error(self, id: bytes) -> NotFound | StoreError:
        if self._db.fetch_one("SELECT 1 FROM blobs WHERE id = ?", (id,)):
            return corrupt_object_error(id, "the index leads to another row")
        return self._missing_blob_error(id)

    def _missing_blob_error(self, id: bytes) -> NotFound:
        return self._redacted_error(id) or missing_object_error(id)

    def _fetch_blob_row(self, id: bytes) -> tuple[int, bytes]:
        row = self._db.fetch_one(f"SELECT {_CONTENT_COLUMNS} FROM blobs WHERE id = ?", (id,))
        if row is None:
            raise self._missing_blob_error(id)
        return row[0], row[1]

    def _decode_content(self, id: bytes, codec: int, data: bytes) -> bytes:
        """Return the content of a row; read it again if a redaction changed it meanwhile."""
        try:
            return check_content(id, self._decoder.decode(id, codec, data))
        except StoreError:
            now = self._fetch_blob_row(id)
            if now == (codec, data):
                raise
            return check_content(id, self._decoder.decode(id, *now))

    def _decode_chunk_list(self, id: bytes, data: bytes, size: int | None = None) -> ChunkList:
        """Return the chunk list of a large blob, after checking its size.

        Each chunk is later checked against its listed size, so no more content is read.
        """
        try:
            chunk_list = decode_chunk_list(id, data)
        except ValueError as error:
            raise corrupt_object_error(id, str(error)) from error
        if not LARGE_BLOB_BYTES <= chunk_list.size <= limits.MAX_FILE_BYTES:
            raise corrupt_object_error(id, f"its chunk list makes {chunk_list.size} bytes")
        if size is not None and chunk_list.size != size:
            why = f"its chunk list makes {chunk_list.size} bytes, not {size}"
            raise corrupt_object_error(id, why)
        return chunk_list

    def chunk_list_of(self, id: bytes) -> ChunkList | None:
        """Return the chunk list of a blob, None if it is missing.

        The list of a small blob is the blob itself, so that content can be appended to it.
        """
        row = self._db.fetch_one(f"SELECT {_CONTENT_COLUMNS} FROM blobs WHERE id = ?", (id,))
        if row is None:
            return None
        if row[0] == CODEC_CHUNK_LIST:
            return self._decode_chunk_list(id, row[1])
        return EMPTY_CHUNK_LIST._replace(chunks=[id], sizes=[len(self._decode_content(id, *row))])

    def _resolve_chunks(self, id: bytes, chunk_list: ChunkList) -> list[tuple[bytes, int]]:
        """Return (chunk, size) of a whole blob, with its prefixes resolved."""
        levels = [chunk_list]
        while levels[-1].depth:
            below = levels[-1].prefix
            codec, data = self._fetch_blob_row(below)
            if codec != CODEC_CHUNK_LIST:
                raise corrupt_object_error(id, "its prefix has no chunk list")
            deeper = self._decode_chunk_list(below, data)
            if not can_extend(levels[-1], deeper):
                raise corrupt_object_error(id, "its prefix does not fit")
            levels.append(deeper)
        return [piece for level in reversed(levels) for piece in level.pieces()]

    def _stream_chunks(self, id: bytes, chunk_list: ChunkList) -> Iterator[bytes]:
        """Yield the chunks of a blob; the last one after checking the whole."""
        digest = blake3()
        last_chunk = b""
        for chunk, size in self._resolve_chunks(id, chunk_list):
            content = self._read_chunk(id, chunk, size)
            digest.update(content)
            if last_chunk:
                yield last_chunk
            last_chunk = content
        if digest.digest() != id:
            raise corrupt_object_error(id)
        yield last_chunk

    def _read_chunk(self, id: bytes, chunk: bytes, size: int) -> bytes:
        """Return a chunk of the blob `id`; a chunk is never a chunk list."""
        try:
            codec, data = self._fetch_blob_row(chunk)
        except NotFound as error:
            raise corrupt_object_error(id, f"its chunk {chunk.hex()} is missing") from error
        content = self._decode_content(chunk, codec, data)
        if len(content) != size:
            raise corrupt_object_error(id, "a chunk has the wrong size")
        return content

    def check_chunk_lists(self) -> BlobCheckResult:
        sizes: list[tuple[bytes, int]] = []
        faults: list[tuple[bytes, str]] = []
        chunks: dict[bytes, bytes] = {}
        for id, _, data in self._db.fetch_all(_ALL_CHUNK_LISTS_SQL, (CODEC_CHUNK_LIST,)):
            try:
                chunk_list = self._decode_chunk_list(id, data)
                if chunk_list.depth and not can_extend(
                    chunk_list, self._fetch_chunk_list(chunk_list.prefix)
                ):
                    raise corrupt_object_error(id, "its prefix does not fit")
            except BrainError as error:
                faults.append((id, error.message))
                continue
            sizes.append((id, chunk_list.size))
            chunks.update((chunk, id) for chunk in chunk_list.chunks)
        sql = "SELECT id FROM blobs WHERE id IN ({keys})"
        stored = {chunk for (chunk,) in self._db.fetch_by_keys(sql, list(chunks))}
        for chunk in sorted(chunks.keys() - stored):
            damage = corrupt_object_error(chunks[chunk], f"its chunk {chunk.hex()} is missing")
            faults.append((chunks[chunk], damage.message))
        return BlobCheckResult(sizes, faults, [])

    def load_chunk_lists(self) -> dict[bytes, ChunkList]:
        """Return the chunk lists of all large blobs."""
        rows = self._db.fetch_all(_ALL_CHUNK_LISTS_SQL, (CODEC_CHUNK_LIST,))
        return {id: self._decode_chunk_list(id, data) for id, _, data in rows}

    def _fetch_chunk_list(self, id: bytes) -> ChunkList:
        codec, data = self._fetch_blob_row(id)
        if codec != CODEC_CHUNK_LIST:
            raise corrupt_object_error(id, "it has no chunk list")
        return self._decode_chunk_list(id, data)
