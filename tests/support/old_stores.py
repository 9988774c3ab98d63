"""Forms of blobs that older releases wrote and this one only reads."""

import struct

import zstandard

from brain.digest import blob_id
from brain.store.blobs import CODEC_ZSTD, ChunkList
from brain.store.reader import StoreReader
from brain.store.rows import row_checksum

EMPTY_CHUNK_LIST = ChunkList(0, b"", 0, [])


def encode_old_chunk_list(id: bytes, chunk_list: ChunkList) -> bytes:
    """Return the stored form of a chunk list, also of one with a prefix."""
    depth, prefix, prefix_size, pieces = chunk_list
    chunks, sizes = [chunk for chunk, _ in pieces], [size for _, size in pieces]
    header = struct.pack("<BQI", depth, prefix_size, len(pieces))
    body = b"".join((header, prefix, *chunks, struct.pack(f"<{len(sizes)}I", *sizes)))
    return row_checksum(id, body) + body


def nest_chunk_list(store: StoreReader, blob: bytes, prefix: bytes) -> None:
    """List only the chunks of a blob after those of another, its prefix, which it begins with."""
    below, own = store._fetch_chunk_list(prefix), store._fetch_chunk_list(blob)
    whole = store.resolve_chunks(prefix, below)
    assert own.pieces[: len(whole)] == whole
    nested = ChunkList(below.depth + 1, prefix, below.size, own.pieces[len(whole) :])
    data = encode_old_chunk_list(blob, nested)
    store._db.execute("UPDATE blobs SET data = ? WHERE id = ?", (data, blob))


def pack_with_dictionary(store: StoreReader, contents: list[bytes], number: int = 1) -> None:
    """Pack blobs, of which there are at least some hundred, with a dictionary trained on them."""
    dictionary = zstandard.train_dictionary(64 << 10, list(contents))
    packer = zstandard.ZstdCompressor(dict_data=dictionary, write_dict_id=False)
    data = dictionary.as_bytes()
    checksum = row_checksum(b"%d" % number, data)
    store._db.execute_many(
        "INSERT INTO dictionaries (number, data, checksum) VALUES (?, ?, ?)",
        [(number, data, checksum), (-number, data, checksum)],
    )
    store._db.execute_many(
        "UPDATE blobs SET codec = ?, data = ? WHERE id = ?",
        [(CODEC_ZSTD + number, packer.compress(one), blob_id(one)) for one in contents],
    )
