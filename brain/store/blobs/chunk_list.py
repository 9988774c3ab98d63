"""The list of chunks of a large blob, with the blob it grew from as its prefix.

If each version of a growing file listed all its chunks, each appended line would cost the
whole list. So the chunk list of a grown file names the earlier blob as its prefix and
lists only the chunks after it. Prefixes nest to a bounded depth.

Encoding, little-endian: checksum over the blob's id and the rest (8 bytes), depth (1),
prefix size (8), number of chunks n (4), prefix id (32, absent at depth 0), n chunk ids
(32 each), n chunk sizes (4 each).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from ...digest import DIGEST_SIZE, NO_DIGEST
from .. import checksums

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
    return checksums.row_checksum(id, body) + body


def decode_chunk_list(id: bytes, stored: bytes) -> ChunkList:
    """Decode a stored chunk list. Raises `ValueError` if it is damaged."""
    body = stored[checksums.CHECKSUM_BYTES :]
    if checksums.row_checksum(id, body) != stored[: checksums.CHECKSUM_BYTES]:
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
