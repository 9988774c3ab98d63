"""Compress blobs, cut large ones into chunks, and erase the content of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from blake3 import blake3
from zstandard import ZstdCompressionDict, ZstdCompressor, ZstdError, train_dictionary

from ..digest import blob_id
from ..errors import Conflict, NotFound, StoreError
from .blobs import (
    CODEC_CHUNK_LIST,
    CODEC_RAW,
    CODEC_ZSTD,
    EMPTY_CHUNK_LIST,
    ZSTD_THREADS,
    BlobDecoder,
    BlobReader,
    ChunkList,
    encode_chunk_list,
    load_dictionary,
    plan_append,
    save_dictionary,
)
from .connection import Connection
from .database import typed_columns
from .rows import LARGE_BLOB_BYTES, BlobRow, BlobSource, FindStandalone

ZSTD_LEVEL = 3
DICTIONARY_BYTES = 64 << 10
TRAINING_SAMPLES = 200
"""Blobs to train on; fewer make no useful dictionary."""
TRAINING_SEGMENT_BYTES = 64
TRAINING_DMER_BYTES = 8
"""Parameters of the training; searching for better ones takes a second and gains nothing."""
MIN_COMPRESSED_BYTES = 64
"""Smaller blobs are stored uncompressed."""
MAX_DICTIONARY_BLOB_BYTES = 32 << 10
"""Blobs of this size or more gain nothing from a dictionary."""
PACKING_THREADS = max(1, ZSTD_THREADS - 1)
"""Threads that compress; another one reads the next batch."""
MAX_DICTIONARY_NUMBER = 1 << 31
"""No dictionary of a higher number is used; it could only be forged."""
MAX_COMPRESSED_RATIO = 15 / 16
"""Content that does not shrink to less than this ratio is stored uncompressed."""


class BlobPacker(NamedTuple):
    """Compressors, frozen so that training does not affect a running worker.

    `tuned` has the dictionary `number`.
    """

    plain: ZstdCompressor
    tuned: ZstdCompressor | None = None
    number: int = 0

    def pack(
        self, batch: list[tuple[bytes, bytes]], threads: int = PACKING_THREADS
    ) -> list[BlobRow]:
        """Return the rows of a batch, in any order."""
        rows: list[BlobRow] = []
        tuned: list[tuple[bytes, bytes]] = []
        plain: list[tuple[bytes, bytes]] = []
        for id, content in batch:
            if len(content) < MIN_COMPRESSED_BYTES:
                rows.append((id, CODEC_RAW, content))
            elif self.tuned and len(content) < MAX_DICTIONARY_BLOB_BYTES:
                tuned.append((id, content))
            else:
                plain.append((id, content))
        if self.tuned:
            rows += _compress_batch(self.tuned, CODEC_ZSTD + self.number, tuned, threads)
        rows += _compress_batch(self.plain, CODEC_ZSTD, plain, threads)
        return rows


class BlobEncoder:
    """Holds the packer with the latest dictionary, and trains the first one."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self.packer = BlobPacker(ZstdCompressor(level=ZSTD_LEVEL))
        ((self._latest_number,),) = db.fetch_all("SELECT ifnull(max(number), 0) FROM dictionaries")
        if 0 < self._latest_number < MAX_DICTIONARY_NUMBER and (
            dictionary := load_dictionary(db, self._latest_number)
        ):
            with suppress(ZstdError):  # a forged one; the next one is trained
                self._use_dictionary(self._latest_number, dictionary)
        self._is_settled = (
            self.packer.tuned is not None or self._latest_number >= MAX_DICTIONARY_NUMBER
        )

    def train_dictionary(self, contents: Iterable[bytes]) -> None:
        """Train a dictionary on suitable contents, if there is none, and store it.

        Earlier packers continue without it.
        """
        if self._is_settled:
            return
        trainable: list[bytes | bytearray | memoryview] = [
            content
            for content in contents
            if MIN_COMPRESSED_BYTES <= len(content) < MAX_DICTIONARY_BLOB_BYTES
        ]
        if len(trainable) < TRAINING_SAMPLES:
            return
        self._is_settled = True
        samples = trainable[:: len(trainable) // TRAINING_SAMPLES]
        try:
            dictionary = train_dictionary(
                DICTIONARY_BYTES, samples, k=TRAINING_SEGMENT_BYTES, d=TRAINING_DMER_BYTES
            )
        except ZstdError:  # too little in common
            return
        number = self._latest_number + 1
        save_dictionary(self._db, number, dictionary.as_bytes())
        self._use_dictionary(number, dictionary)

    def _use_dictionary(self, number: int, dictionary: ZstdCompressionDict) -> None:
        dictionary.precompute_compress(level=ZSTD_LEVEL)
        tuned = ZstdCompressor(level=ZSTD_LEVEL, dict_data=dictionary, write_dict_id=False)
        self.packer = self.packer._replace(tuned=tuned, number=number)


def _compress_batch(
    compressor: ZstdCompressor, codec: int, batch: list[tuple[bytes, bytes]], threads: int
) -> Iterator[BlobRow]:
    if not batch:
        return
    packed = compressor.multi_compress_to_buffer([content for _, content in batch], threads=threads)
    for place, (id, content) in enumerate(batch):
        segment = packed[place]
        if len(segment) < len(content) * MAX_COMPRESSED_RATIO:
            yield id, codec, segment.tobytes()
        else:
            yield id, CODEC_RAW, content


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


PutChunks = Callable[[list[tuple[bytes, bytes]]], None]
"""Stores chunks, given as (id, content)."""


def erase_blob(
    reader: BlobReader, blob: bytes, find_standalone: FindStandalone, put_chunks: PutChunks
) -> None:
    """Delete a blob and its chunks, except those that another blob needs.

    `reader` reads inside the open transaction.
    """
    db = reader._db
    db.execute("PRAGMA secure_delete=ON")
    codec, data = reader._fetch_blob_row(blob)
    pieces_by_dictionary = find_dictionary_pieces(db, reader.stream_blob(blob))
    chunk_lists = reader.load_chunk_lists()
    erased = {blob}
    if codec == CODEC_CHUNK_LIST:
        del chunk_lists[blob]
        own = reader._decode_chunk_list(blob, data)
        _inline_prefix(reader, chunk_lists, blob, own)
        shared = (chunk_list.chunks for chunk_list in chunk_lists.values())
        free = set(own.chunks).difference(*shared)
        erased |= free - find_standalone(free) if free else set()
    else:
        _split_shared_chunk(reader, chunk_lists, blob, put_chunks)
    db.execute_many("DELETE FROM blobs WHERE id = ?", [(id,) for id in erased])
    replace_dictionaries(db, pieces_by_dictionary)


def _inline_prefix(
    reader: BlobReader, chunk_lists: dict[bytes, ChunkList], blob: bytes, own: ChunkList
) -> None:
    """Replace the prefix `blob` by its own chunks in the chunk lists that have it."""
    for id, chunk_list in list(chunk_lists.items()):
        if chunk_list.depth and chunk_list.prefix == blob:
            chunks, sizes = own.chunks + chunk_list.chunks, own.sizes + chunk_list.sizes
            _update_chunk_list(reader, chunk_lists, id, own._replace(chunks=chunks, sizes=sizes))


def _split_shared_chunk(
    reader: BlobReader, chunk_lists: dict[bytes, ChunkList], blob: bytes, put_chunks: PutChunks
) -> None:
    """Split a chunk that is also a file in two, in the chunk lists that have it."""
    holders = [id for id, chunk_list in chunk_lists.items() if blob in chunk_list.chunks]
    if not holders:
        return
    content = reader.read_blob(blob)
    half = len(content) // 2
    parts = [(blob_id(part), part) for part in (content[:half], content[half:])]
    put_chunks(parts)
    replacement = [(id, len(part)) for id, part in parts]
    for holder in holders:
        pieces: list[tuple[bytes, int]] = []
        for piece in chunk_lists[holder].pieces():
            pieces += replacement if piece[0] == blob else [piece]
        chunks, sizes = [id for id, _ in pieces], [size for _, size in pieces]
        changed = chunk_lists[holder]._replace(chunks=chunks, sizes=sizes)
        _update_chunk_list(reader, chunk_lists, holder, changed)


def _update_chunk_list(
    reader: BlobReader, chunk_lists: dict[bytes, ChunkList], id: bytes, chunk_list: ChunkList
) -> None:
    chunk_lists[id] = chunk_list
    reader._db.execute(
        "UPDATE blobs SET data = ? WHERE id = ?", (encode_chunk_list(id, chunk_list), id)
    )


PIECE_BYTES = 12
"""Length of a piece of content."""
MAX_COMPARED_BLOBS = 1000
"""Other blobs that are searched for the same pieces; needless repacking does no harm."""
REPACK_BATCH_ROWS = 256
RETRAINING_SAMPLES = 800
"""Blobs to train the new dictionary on."""

_BLOB_COLUMNS = typed_columns("id BLOB, codec INTEGER, data BLOB")
_DICTIONARY_COLUMNS = typed_columns("number INTEGER, data BLOB")


def find_dictionary_pieces(db: Connection, content: Iterable[bytes]) -> dict[int, set[bytes]]:
    """Return the pieces of `content` that each dictionary holds, by its number."""
    rows = db.fetch_all(f"SELECT {_DICTIONARY_COLUMNS} FROM dictionaries WHERE length(data) > 0")
    pieces_of: dict[int, set[bytes]] = {}
    for number, data in rows:
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
    """Replace the dictionaries that hold a piece of no remaining blob."""
    for number, pieces in pieces_by_dictionary.items():
        remaining = set(pieces)
        for content in _read_contents(db, number, 1, MAX_COMPARED_BLOBS):
            remaining.difference_update(_iterate_pieces(content))
            if not remaining:
                break
        if remaining:
            _repack_blobs(db, number)


def _iterate_pieces(data: bytes) -> Iterator[bytes]:
    return (data[at : at + PIECE_BYTES] for at in range(len(data) - PIECE_BYTES + 1))


def _read_contents(db: Connection, number: int, step: int, max_count: int) -> Iterator[bytes]:
    """Yield the content of every `step`-th blob packed with a dictionary, at most `max_count`."""
    decoder = BlobDecoder(db)
    for id in _packed_ids(db, number)[::step][:max_count]:
        for row in db.fetch_all(f"SELECT {_BLOB_COLUMNS} FROM blobs WHERE id = ?", (id,)):
            yield decoder.decode(*row)


def _packed_ids(db: Connection, number: int) -> list[bytes]:
    """Return the blobs that are packed with a dictionary."""
    rows = db.fetch_all("SELECT id FROM blobs WHERE codec = ?", (CODEC_ZSTD + number,))
    return [id for (id,) in rows]


def _repack_blobs(db: Connection, number: int) -> None:

    ids = _packed_ids(db, number)
    step = max(1, len(ids) // RETRAINING_SAMPLES)
    samples = list(_read_contents(db, number, step, RETRAINING_SAMPLES))
    decoder = BlobDecoder(db)
    if ids:
        _preload_dictionary(decoder, db, ids[0])
    db.execute(
        "UPDATE dictionaries SET data = X'', checksum = X'' WHERE number IN (?, ?)",
        (number, -number),
    )
    encoder = BlobEncoder(db)
    encoder.train_dictionary(samples)
    for start in range(0, len(ids), REPACK_BATCH_ROWS):
        batch = ids[start : start + REPACK_BATCH_ROWS]
        sql = f"SELECT {_BLOB_COLUMNS} FROM blobs WHERE id IN ({{keys}})"
        rows = list(db.fetch_by_keys(sql, batch))
        unpacked = []
        for id, content in decoder.plan_decoding(rows)():
            if isinstance(content, StoreError):
                raise content
            unpacked.append((id, content))
        db.execute_many(
            "UPDATE blobs SET codec = ?, data = ? WHERE id = ?",
            [(codec, data, id) for id, codec, data in encoder.packer.pack(unpacked)],
        )


def _preload_dictionary(decoder: BlobDecoder, db: Connection, id: bytes) -> None:
    """Make a decoder load the dictionary of blob `id` before it is emptied."""
    for row in db.fetch_all(f"SELECT {_BLOB_COLUMNS} FROM blobs WHERE id = ?", (id,)):
        decoder.decode(*row)
