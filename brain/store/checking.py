"""Reading every blob again: small ones batch by batch on several cores, then large ones.

Large blobs come in the order in which they were kept, so one that only grew is
hashed on from where the one before it ended. A thousand versions of a growing
file then cost little more than its last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from blake3 import blake3

from ..digest import EMPTY, blob_id
from ..errors import BrainError
from .codec import RECIPE, Decoder, Unpacked, corrupt
from .protocol import Row
from .recipe import Recipe

BATCH = 4 << 20
"""Bytes of rows unpacked at a time."""

Verdict = tuple[bytes, int, str]
"""Id, size and what is wrong with a blob."""


def check_small(rows: Iterator[Row], decoder: Decoder, large: list[bytes]) -> Iterator[Verdict]:
    """Judge all rows but recipes, whose ids are appended to `large`.

    One batch is unpacked by a worker while the one before is hashed.
    """
    with ThreadPoolExecutor(1, "check") as pool:
        ahead: Future[Unpacked] | None = None
        for batch in _batches(rows, large):
            task = pool.submit(decoder.plan(batch))
            if ahead:
                yield from map(_judge, ahead.result())
            ahead = task
        if ahead:
            yield from map(_judge, ahead.result())


def _batches(rows: Iterator[Row], large: list[bytes]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    held = 0
    for row in rows:
        if row[1] == RECIPE:
            large.append(row[0])
            continue
        batch.append(row)
        held += len(row[2])
        if held >= BATCH:
            yield batch
            batch, held = [], 0
    yield batch


def _judge(unpacked: tuple[bytes, bytes | BrainError]) -> Verdict:
    id, content = unpacked
    if isinstance(content, BrainError):
        return id, 0, content.message
    if blob_id(content) != id:
        return id, 0, corrupt(id, "its content does not hash to its id").message
    return id, len(content), ""


class LargeChecker:
    """Judges large blobs one by one.

    `recipe_of` and `read_chunk` raise typed errors for what is damaged or missing;
    `prefixes` are the blobs that others grew from.
    """

    def __init__(
        self,
        recipe_of: Callable[[bytes], Recipe],
        read_chunk: Callable[[bytes], bytes],
        prefixes: set[bytes],
    ) -> None:
        self._recipe_of = recipe_of
        self._read_chunk = read_chunk
        self._prefixes = prefixes
        self._ends = {EMPTY: (blake3(max_threads=blake3.AUTO), 0)}
        self._latest: dict[tuple[bytes, bytes], tuple[list[bytes], blake3, int]] = {}

    def judge(self, id: bytes) -> Verdict:
        """Read what has not been read of a blob and compare the whole with its id."""
        try:
            return id, self._size(id, self._recipe_of(id)), ""
        except BrainError as error:
            return id, 0, error.message

    def _size(self, id: bytes, recipe: Recipe) -> int:
        if recipe.prefix not in self._ends or not recipe.chunks:
            raise corrupt(id, "what it grew from is damaged or missing")
        start, start_size = self._ends[recipe.prefix]
        place = (recipe.prefix, recipe.chunks[0])
        done, digest, size = self._latest.get(place, ([], start, start_size))
        if recipe.chunks[: len(done)] != done:
            done, digest, size = [], start, start_size
        digest = digest.copy()
        for chunk in recipe.chunks[len(done) :]:
            content = self._read_chunk(chunk)
            digest.update(content)
            size += len(content)
        if digest.digest() != id or size != recipe.size:
            raise corrupt(id, "its content does not hash to its id")
        self._latest[place] = (recipe.chunks, digest, size)
        if id in self._prefixes:
            self._ends[id] = (digest, size)
        return size
