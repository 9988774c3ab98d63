"""Reading blobs: small ones from one row, large ones by their recipe.

Content is checked against its id on every read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from blake3 import blake3

from .. import limits
from ..digest import blob_id
from ..errors import BrainError, InvalidInput, NotFound, StoreError
from . import recipe as recipes
from .codec import RECIPE, Decoder, corrupt
from .protocol import LARGE, Checked, ExpectedSize
from .recipe import NOTHING, Recipe
from .redactions import RedactionReader
from .schema import columns

_CONTENT = columns("codec INTEGER, data BLOB")
_ROW = columns("id BLOB, codec INTEGER, data BLOB")

BATCH = 256
"""Rows read at a time; content of one batch is held in memory."""


def absent(id: bytes) -> NotFound:
    """Return the error for an object that is not in the store."""
    return NotFound(f"object {id.hex()} is not in the store", code="missing_object")


class BlobReader(RedactionReader):
    """The part of `Reader` that deals with blobs."""

    _decoder: Decoder

    def blob_size(self, id: bytes) -> int:
        """See `Reader.blob_size`."""
        codec, data = self._blob_row(id)
        if codec == RECIPE:
            return self._recipe(id, data).size
        return len(self._content(id, codec, data))

    def read_blob(self, id: bytes, size: int | None = None) -> bytes:
        """See `Reader.read_blob`."""
        codec, data = self._blob_row(id)
        if codec != RECIPE:
            return self._content(id, codec, data)
        recipe = self._recipe(id, data, size)
        if recipe.size > limits.MAX_WHOLE_BYTES:
            raise InvalidInput(
                f"blob {id.hex()} has {recipe.size} bytes",
                code="too_large",
                hint=f"up to {limits.MAX_WHOLE_BYTES} bytes are read as a whole",
            )
        return b"".join(self._assemble(id, recipe))

    def stream_blob(self, id: bytes, size: int | None = None) -> Iterator[bytes]:
        """See `Reader.stream_blob`."""
        codec, data = self._blob_row(id)
        if codec == RECIPE:
            yield from self._assemble(id, self._recipe(id, data, size))
        else:
            yield self._content(id, codec, data)

    def read_blobs(self, ids: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """See `Reader.read_blobs`; yields in storage order within a batch."""
        wanted = list(dict.fromkeys(ids))
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            rows = list(self._db.among(f"SELECT {_ROW} FROM blobs WHERE id IN ({{keys}})", batch))
            for id in set(batch).difference(row[0] for row in rows):
                raise self._unlisted(id)
            for id, codec, data in rows:
                if codec == RECIPE:  # left out, but not on the word of a flipped bit
                    self._recipe(id, data)
            for id, content in self._decoder.plan([row for row in rows if row[1] != RECIPE])():
                fails = isinstance(content, StoreError)
                yield id, self.read_blob(id) if fails else _proven(id, content)

    def _unlisted(self, id: bytes) -> NotFound | StoreError:
        """Return the error for a blob that a look-up did not bring."""
        listed = self._db.one("SELECT 1 FROM blobs WHERE id = ?", (id,))
        return corrupt(id, "the index leads to another row") if listed else self._gone(id)

    def _gone(self, id: bytes) -> NotFound:
        """Return the error for a blob that is not here."""
        return self._lost(id) or absent(id)

    def _blob_row(self, id: bytes) -> tuple[int, bytes]:
        row = self._db.one(f"SELECT {_CONTENT} FROM blobs WHERE id = ?", (id,))
        if row is None:
            raise self._gone(id)
        return row[0], row[1]

    def _content(self, id: bytes, codec: int, data: bytes) -> bytes:
        """Return the content of a row, or of what it is by now: a redaction may pack anew."""
        try:
            return _proven(id, self._decoder.decode(id, codec, data))
        except StoreError:
            now = self._blob_row(id)
            if now == (codec, data):
                raise
            return _proven(id, self._decoder.decode(id, *now))

    def _recipe(self, id: bytes, data: bytes, size: int | None = None) -> Recipe:
        """Return a recipe once it makes as many bytes as a large blob has, and as `size` says.

        Its chunks are then held to the sizes it lists, so nothing longer comes of it.
        """
        try:
            recipe = recipes.parse(id, data)
        except ValueError as error:
            raise corrupt(id, str(error)) from error
        if not LARGE <= recipe.size <= limits.MAX_FILE_BYTES:
            raise corrupt(id, f"a recipe of {recipe.size} bytes")
        if size is not None and recipe.size != size:
            raise corrupt(id, f"its recipe makes {recipe.size} bytes, not {size}")
        return recipe

    def recipe_of(self, id: bytes) -> Recipe | None:
        """Return how a blob is put together, None if it is not here.

        A small blob is a recipe of itself, so that it too can be appended to.
        """
        row = self._db.one(f"SELECT {_CONTENT} FROM blobs WHERE id = ?", (id,))
        if row is None:
            return None
        if row[0] == RECIPE:
            return self._recipe(id, row[1])
        return NOTHING._replace(chunks=[id], sizes=[len(self._content(id, *row))])

    def _pieces(self, id: bytes, recipe: Recipe) -> list[tuple[bytes, int]]:
        """Return (chunk, size) of a whole blob, its prefixes resolved."""
        levels = [recipe]
        while levels[-1].depth:
            below = levels[-1].prefix
            codec, data = self._blob_row(below)
            if codec != RECIPE:
                raise corrupt(id, "its prefix is no recipe")
            deeper = self._recipe(below, data)
            if not recipes.can_follow(levels[-1], deeper):
                raise corrupt(id, "its prefix does not fit")
            levels.append(deeper)
        levels.reverse()
        return [piece for each in levels for piece in zip(each.chunks, each.sizes, strict=True)]

    def _assemble(self, id: bytes, recipe: Recipe) -> Iterator[bytes]:
        """Yield the chunks of a blob; the last one once the whole is proven."""
        digest = blake3()
        held = b""
        for chunk, size in self._pieces(id, recipe):
            content = self._chunk(id, chunk, size)
            digest.update(content)
            if held:
                yield held
            held = content
        if digest.digest() != id:
            raise corrupt(id, "its content does not hash to its id")
        yield held

    def _chunk(self, id: bytes, chunk: bytes, size: int) -> bytes:
        """Return a chunk of the blob `id`, which no recipe can stand for."""
        try:
            codec, data = self._blob_row(chunk)
        except NotFound as error:
            raise corrupt(id, f"its chunk {chunk.hex()} is missing") from error
        content = self._content(chunk, codec, data)
        if len(content) != size:
            raise corrupt(id, "a chunk has the wrong size")
        return content

    def check_recipes(self) -> Checked:
        """See `Reader.check_recipes`."""
        sizes: list[tuple[bytes, int]] = []
        faults: list[tuple[bytes, str]] = []
        chunks: dict[bytes, bytes] = {}
        rows = self._db.all(f"SELECT {_ROW} FROM blobs WHERE codec = ? ORDER BY number", (RECIPE,))
        for id, _, data in rows:
            try:
                recipe = self._recipe(id, data)
                if recipe.depth and not recipes.can_follow(
                    recipe, self._whole_recipe(recipe.prefix)
                ):
                    raise corrupt(id, "its prefix does not fit")
            except BrainError as error:
                faults.append((id, error.message))
                continue
            sizes.append((id, recipe.size))
            chunks.update((chunk, id) for chunk in recipe.chunks)
        lost = self._missing_blobs(chunks)
        faults += [
            (chunks[at], corrupt(chunks[at], f"its chunk {at.hex()} is missing").message)
            for at in sorted(lost)
        ]
        return Checked(sizes, faults, [])

    def _missing_blobs(self, ids: Iterable[bytes]) -> set[bytes]:
        left = set(ids)
        sql = "SELECT id FROM blobs WHERE id IN ({keys})"
        return left.difference(id for (id,) in self._db.among(sql, list(left)))

    def judge_large(self, large: list[bytes], expected: ExpectedSize) -> Iterator[Checked]:
        """Read the blobs in `large` again; see `Reader.check_blobs`."""
        from .checking import LargeChecker

        prefixes = set()
        for id in large:
            with suppress(BrainError):
                prefixes.add(self._whole_recipe(id).prefix)
        checker = LargeChecker(self._whole_recipe, self._chunk, prefixes, expected)
        yield from map(checker.judge, large)

    def _whole_recipe(self, id: bytes) -> Recipe:
        codec, data = self._blob_row(id)
        if codec != RECIPE:
            raise corrupt(id, "it is no recipe")
        return self._recipe(id, data)


def _proven(id: bytes, content: bytes | StoreError) -> bytes:
    if isinstance(content, StoreError):
        raise content
    if blob_id(content) != id:
        raise corrupt(id, "its content does not hash to its id")
    return content
