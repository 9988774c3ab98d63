"""Read blobs: a small one from one row, a large one by its list of chunks.

Content is checked against its id on every read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from blake3 import blake3

from ... import limits
from ...errors import BrainError, InvalidInput, NotFound, StoreError, corrupt_object_error
from ..protocol import LARGE_BLOB_BYTES, BlobCheckResult, ExpectedSize
from ..redaction_table import RedactionReader
from ..schema import typed_columns
from . import chunk_list as chunk_lists
from .chunk_list import EMPTY_CHUNK_LIST, ChunkList
from .codec import CODEC_CHUNK_LIST, BlobDecoder, check_content

_CONTENT_COLUMNS = typed_columns("codec INTEGER, data BLOB")
_BLOB_COLUMNS = typed_columns("id BLOB, codec INTEGER, data BLOB")
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
            chunk_list = chunk_lists.decode_chunk_list(id, data)
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
            if not chunk_lists.can_extend(levels[-1], deeper):
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
                if chunk_list.depth and not chunk_lists.can_extend(
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

    def check_large_blobs(
        self, large: list[bytes], expected: ExpectedSize
    ) -> Iterator[BlobCheckResult]:
        """Check the large blobs `large`; see `StoreReader.check_blobs`."""
        from .blob_checks import LargeBlobChecker

        prefixes = set()
        for id in large:
            with suppress(BrainError):
                prefixes.add(self._fetch_chunk_list(id).prefix)
        checker = LargeBlobChecker(self._fetch_chunk_list, self._read_chunk, prefixes, expected)
        yield from map(checker.check, large)

    def load_chunk_lists(self) -> dict[bytes, ChunkList]:
        """Return the chunk lists of all large blobs."""
        rows = self._db.fetch_all(_ALL_CHUNK_LISTS_SQL, (CODEC_CHUNK_LIST,))
        return {id: self._decode_chunk_list(id, data) for id, _, data in rows}

    def _fetch_chunk_list(self, id: bytes) -> ChunkList:
        codec, data = self._fetch_blob_row(id)
        if codec != CODEC_CHUNK_LIST:
            raise corrupt_object_error(id, "it has no chunk list")
        return self._decode_chunk_list(id, data)
