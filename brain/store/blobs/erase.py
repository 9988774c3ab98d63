"""Erase the content of one blob from chunk lists and from compression dictionaries.

Large blobs share chunks and name one another as prefixes, so the chunk lists of other
blobs are rewritten first. Every other blob then reads as before.

A dictionary holds verbatim pieces of the blobs it was trained on. If such a piece occurs
in the erased content and in no other blob, all blobs that use the dictionary are packed
again with a new one, and the old one is emptied. Its number is never used again, since
other processes may have loaded it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ...digest import blob_id
from ...errors import StoreError
from ..connection import Connection
from ..protocol import FindStandalone
from ..schema import typed_columns
from .blob_reader import BlobReader
from .chunk_list import ChunkList, encode_chunk_list
from .codec import CODEC_CHUNK_LIST, CODEC_ZSTD, BlobDecoder

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
    from .encoder import BlobEncoder

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
