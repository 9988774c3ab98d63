"""Writing a large blob: as chunks, or as what was appended to the blob before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blake3 import blake3

from ..digest import blob_id
from . import chunks
from .protocol import LARGE, Source
from .recipe import NOTHING, Recipe, growth

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

BATCH = 4 << 20
"""Bytes of chunks handed over at a time."""


class Sink(Protocol):
    """What is needed of a transaction."""

    def recipe_of(self, id: bytes) -> Recipe | None:
        """Return how a blob is put together, None if it is not here."""

    def read_blob(self, id: bytes) -> bytes:
        """Return a whole blob."""

    def put_chunks(self, batch: list[tuple[bytes, bytes]]) -> None:
        """Keep chunks, given as (id, content)."""

    def put_recipe(self, id: bytes, recipe: Recipe) -> None:
        """Keep a large blob whose chunks are here."""


def store(sink: Sink, source: Source, size: int, base: bytes | None) -> bytes:
    """Keep the first `size` bytes of `source`; see `Transaction.put_stream`."""
    if size < LARGE:
        digest = blake3()
        content = chunks.whole(chunks.Meter(source, size, digest), size)
        sink.put_chunks([(digest.digest(), content)])
        return digest.digest()
    known = sink.recipe_of(base) if base else None
    if base and known and known.size <= size:
        id = _append(sink, source, size, base, known)
        if id:
            return id
        source.seek(0)
    digest = blake3(max_threads=blake3.AUTO)
    recipe = _extend(sink, NOTHING, chunks.Meter(source, size, digest), size)
    sink.put_recipe(digest.digest(), recipe)
    return digest.digest()


def _append(sink: Sink, source: Source, size: int, base: bytes, known: Recipe) -> bytes | None:
    """Keep what follows `base` in `source`; None if the source does not start with it.

    Pieces that are joined anew are read from the store, not from the file,
    which might have changed since its start was hashed.
    """
    digest = blake3(max_threads=blake3.AUTO)
    chunks.hash_next(source, known.size, digest)
    plan = growth(base, known)
    if digest.digest() != base or plan is None:
        return None
    if size == known.size:
        return base
    lead = b"".join(map(sink.read_blob, plan.again))
    meter = chunks.Meter(source, size - known.size, digest, lead)
    recipe = _extend(sink, plan.start, meter, len(lead) + size - known.size)
    sink.put_recipe(digest.digest(), recipe)
    return digest.digest()


def _extend(sink: Sink, start: Recipe, meter: chunks.Meter, size: int) -> Recipe:
    """Cut what `meter` serves, keep the chunks and list them after those of `start`."""
    ids, sizes = list(start.chunks), list(start.sizes)
    batch: list[tuple[bytes, bytes]] = []
    held = 0
    for chunk in chunks.cut(meter, size):
        id = blob_id(chunk)
        ids.append(id)
        sizes.append(len(chunk))
        batch.append((id, chunk))
        held += len(chunk)
        if held >= BATCH:
            sink.put_chunks(batch)
            batch, held = [], 0
    sink.put_chunks(batch)
    return start._replace(chunks=ids, sizes=sizes)
