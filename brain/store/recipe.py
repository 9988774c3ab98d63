"""How a large blob is put together: a prefix that is a blob of its own, then chunks.

A file that only grows would cost a list of all its chunks for every line added.
So the recipe of the grown file names the blob it grew from as its prefix and
lists only what came after. Prefixes nest to a bounded depth.

Encoded: depth (1 byte), prefix size (8), number of chunks n (4), prefix id (32,
absent at depth 0), n chunk ids (32 each), n chunk sizes (4 each); little-endian.
Before it stands a checksum of eight bytes over the blob's id and all of this.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from ..digest import EMPTY, SIZE
from . import sums

MAX_DEPTH = 32
"""Prefixes inside prefixes."""
MAX_LISTED = 64
"""Chunks listed by a recipe with pieces appended, before they are rearranged."""
SMALL = 32 << 10
"""Pieces below this many bytes are joined when there are many of them."""

_HEAD = struct.Struct("<BQI")


class Recipe(NamedTuple):
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


NOTHING = Recipe(0, EMPTY, 0, [], [])


def pack(id: bytes, recipe: Recipe) -> bytes:
    """Return the stored form of the recipe of blob `id`."""
    body = b"".join(
        (
            _HEAD.pack(recipe.depth, recipe.prefix_size, len(recipe.chunks)),
            recipe.prefix,
            *recipe.chunks,
            struct.pack(f"<{len(recipe.sizes)}I", *recipe.sizes),
        )
    )
    return sums.of_fields(id, body) + body


def parse(id: bytes, stored: bytes) -> Recipe:
    """Undo `pack`. Raises `ValueError` if checksum, lengths or depth do not fit."""
    body = stored[sums.BYTES :]
    if sums.of_fields(id, body) != stored[: sums.BYTES]:
        raise ValueError("a recipe does not fit its checksum")
    if len(body) < _HEAD.size:
        raise ValueError("a recipe that is cut short")
    depth, prefix_size, count = _HEAD.unpack_from(body)
    first = _HEAD.size + (SIZE if depth else 0)
    sizes_at = first + SIZE * count
    if len(body) != sizes_at + 4 * count or depth > MAX_DEPTH or bool(depth) != bool(prefix_size):
        raise ValueError("a recipe of the wrong length or depth")
    chunks = [body[at : at + SIZE] for at in range(first, sizes_at, SIZE)]
    sizes = list(struct.unpack_from(f"<{count}I", body, sizes_at))
    return Recipe(depth, body[_HEAD.size : first], prefix_size, chunks, sizes)


def can_follow(recipe: Recipe, prefix: Recipe) -> bool:
    """Tell whether a recipe can have another one as its prefix."""
    return prefix.depth < recipe.depth and prefix.size == recipe.prefix_size


class Growth(NamedTuple):
    """What to append to: `start` keeps its chunks, the blobs in `again` are joined anew."""

    start: Recipe
    again: list[bytes]


def growth(base: bytes, recipe: Recipe) -> Growth | None:
    """Plan the recipe of a blob that is `base` with something appended.

    While the list is short, pieces are added to it. A long list with many small
    pieces has them joined into chunks; a long list without becomes the prefix
    of a new one. None means that the whole blob should be cut afresh.
    """
    if len(recipe.chunks) < MAX_LISTED:
        return Growth(recipe, [])
    small = 0
    while small < len(recipe.sizes) and recipe.sizes[-1 - small] < SMALL:
        small += 1
    if small > MAX_LISTED // 2:
        kept = len(recipe.chunks) - small
        start = recipe._replace(chunks=recipe.chunks[:kept], sizes=recipe.sizes[:kept])
        return Growth(start, recipe.chunks[kept:])
    if recipe.depth == MAX_DEPTH:
        return None
    return Growth(Recipe(recipe.depth + 1, base, recipe.size, [], []), [])
