"""Compress blobs, cut large ones into chunks, and erase the content of one.

Cuts are content-defined (FastCDC, Xia et al., USENIX ATC 2016, in its 2020 form), so that an edit
in the middle of a file leaves all other chunks as they were. One rule serves text and binary data
alike.

Large blobs share chunks, and in stores of older releases name one another as prefixes, so before
one is erased the chunk lists of others are rewritten. Every other blob then reads as before. A
dictionary of an older release holds verbatim pieces of the blobs it was trained on. If such a
piece occurs in the erased content and in no other blob, all blobs that use the dictionary are
packed again without one, and it is emptied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from blake3 import blake3
from zstandard import ZstdCompressor

from ..digest import blob_id
from ..errors import Conflict, StoreError
from .blobs import (
    BLOB_COLUMNS,
    CODEC_CHUNK_LIST,
    CODEC_RAW,
    CODEC_ZSTD,
    DICTIONARY_COLUMNS,
    ZSTD_THREADS,
    BlobDecoder,
    encode_chunk_list,
)
from .connection import Connection
from .reader import StoreReader
from .rows import BlobRow, FindStandalone

if TYPE_CHECKING:
    from .rows import BlobSource

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

PIECE_BYTES = 12
"""Length of a piece of content that a dictionary may hold."""
MAX_COMPARED_BLOBS = 1000
"""Other blobs that are searched for the same pieces; needless repacking does no harm."""
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


def erase_blob(
    reader: StoreReader,
    blob: bytes,
    find_standalone: FindStandalone,
    put_chunks: Callable[[list[tuple[bytes, bytes]]], None],
) -> None:
    """Delete a blob and its chunks, except those that another blob needs.

    `reader` reads inside the open transaction; `put_chunks` stores (id, content) in it.
    """
    db = reader._db
    db.execute("PRAGMA secure_delete=ON")
    pieces_by_dictionary = find_dictionary_pieces(db, reader.stream_blob(blob))
    chunk_lists = reader.load_chunk_lists()
    own = chunk_lists.pop(blob, None)
    erased = {blob}
    if own is not None:
        for id, chunk_list in chunk_lists.items():
            if chunk_list.depth and chunk_list.prefix == blob:
                pieces = reader.resolve_chunks(id, chunk_list)
                chunk_lists[id] = chunk_list._replace(depth=0, prefix_size=0, pieces=pieces)
                _update_chunk_list(db, id, pieces)
        shared = {chunk for each in chunk_lists.values() for chunk, _ in each.pieces}
        free = {chunk for chunk, _ in own.pieces} - shared
        erased |= free - find_standalone(free) if free else set()
    else:
        holders = [id for id, each in chunk_lists.items() if blob in dict(each.pieces)]
        if holders:  # the chunk that is also a file is split in two
            content = reader.read_blob(blob)
            half = len(content) // 2
            parts = [(blob_id(part), part) for part in (content[:half], content[half:])]
            put_chunks(parts)
            halves = [(id, len(part)) for id, part in parts]
        for id in holders:
            pieces = []
            for piece in reader.resolve_chunks(id, chunk_lists[id]):
                pieces += halves if piece[0] == blob else [piece]
            _update_chunk_list(db, id, pieces)
    db.execute_many("DELETE FROM blobs WHERE id = ?", [(id,) for id in erased])
    replace_dictionaries(db, pieces_by_dictionary)


def _update_chunk_list(db: Connection, id: bytes, pieces: list[tuple[bytes, int]]) -> None:
    row = encode_chunk_list(id, pieces), id
    db.execute(f"UPDATE blobs SET data = ? WHERE id = ? AND codec = {CODEC_CHUNK_LIST}", row)


def find_dictionary_pieces(db: Connection, content: Iterable[bytes]) -> dict[int, set[bytes]]:
    """Return the pieces of `content` that each dictionary holds, by its number."""
    stored = db.fetch_all(f"SELECT {DICTIONARY_COLUMNS} FROM dictionaries WHERE length(data) > 0")
    pieces_of: dict[int, set[bytes]] = {}
    for number, data, _ in stored:
        pieces_of.setdefault(abs(number), set()).update(_iterate_pieces(data))
    common: dict[int, set[bytes]] = {}
    rest = b""
    for part in content if pieces_of else ():
        for piece in _iterate_pieces(rest + part):
            for number, pieces in pieces_of.items():
                if piece in pieces:
                    common.setdefault(number, set()).add(piece)
        rest = (rest + part)[-PIECE_BYTES + 1 :]
    return common


def replace_dictionaries(db: Connection, pieces_by_dictionary: dict[int, set[bytes]]) -> None:
    """Empty the dictionaries that hold a piece of no remaining blob; pack their blobs again."""
    for number, pieces in pieces_by_dictionary.items():
        remaining = set(pieces)
        sql = "SELECT id FROM blobs WHERE codec = ?"
        ids = [id for (id,) in db.fetch_all(sql, (CODEC_ZSTD + number,))]
        decoder = BlobDecoder(db)
        for _, content in _decode_batches(db, decoder, ids[:MAX_COMPARED_BLOBS]):
            remaining.difference_update(_iterate_pieces(content))
        if not remaining:
            continue
        for id in ids[:1]:  # before it is emptied
            decoder.decompressor(id, CODEC_ZSTD + number)
        # Its number is never used again, since other processes may have loaded it.
        db.execute(
            "UPDATE dictionaries SET data = X'', checksum = X'' WHERE number IN (?, ?)",
            (number, -number),
        )
        for start in range(0, len(ids), REPACK_BATCH_ROWS):
            unpacked = list(_decode_batches(db, decoder, ids[start : start + REPACK_BATCH_ROWS]))
            db.execute_many(
                "UPDATE blobs SET codec = ?, data = ? WHERE id = ?",
                [(codec, data, id) for id, codec, data in pack_blobs(unpacked)],
            )


def _decode_batches(
    db: Connection, decoder: BlobDecoder, ids: list[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    for start in range(0, len(ids), REPACK_BATCH_ROWS):
        sql = f"SELECT {BLOB_COLUMNS} FROM blobs WHERE id IN ({{keys}})"
        found = list(db.fetch_by_keys(sql, ids[start : start + REPACK_BATCH_ROWS]))
        for id, content in decoder.decode_many(found):
            if isinstance(content, StoreError):
                raise content
            yield id, content


def _iterate_pieces(data: bytes) -> Iterator[bytes]:
    return (data[at : at + PIECE_BYTES] for at in range(len(data) - PIECE_BYTES + 1))
