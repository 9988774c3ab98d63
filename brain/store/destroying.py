"""Destroying the content of one blob, and of nothing else.

Large blobs share their chunks, and grow out of one another: what others are made of
is put together otherwise first. So every other blob reads as it did.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..digest import blob_id
from . import recipe as recipes
from . import traces
from .codec import RECIPE
from .lineage import Named
from .recipe import Recipe
from .schema import columns

if TYPE_CHECKING:
    from .writing import SqliteTransaction


_RECIPE = columns("id BLOB, data BLOB")


def destroy(tx: SqliteTransaction, blob: bytes, named: Named) -> None:
    """Take a blob out of the store with all that no other one needs of it."""
    db = tx._db
    db.run("PRAGMA secure_delete=ON")
    codec, data = tx._blob_row(blob)
    found = traces.find(db, tx.stream_blob(blob))
    others = _recipes(tx)
    gone = {blob}
    if codec == RECIPE:
        del others[blob]
        own = tx._recipe(blob, data)
        _regrow(tx, others, blob, own)
        free = set(own.chunks).difference(*(recipe.chunks for recipe in others.values()))
        gone |= free - named(free) if free else set()
    else:
        _split(tx, others, blob)
    db.run_many("DELETE FROM blobs WHERE id = ?", [(id,) for id in gone])
    traces.remove(db, found)


def _recipes(tx: SqliteTransaction) -> dict[bytes, Recipe]:
    rows = tx._db.all(f"SELECT {_RECIPE} FROM blobs WHERE codec = ?", (RECIPE,))
    return {id: tx._recipe(id, data) for id, data in rows}


def _regrow(tx: SqliteTransaction, others: dict[bytes, Recipe], blob: bytes, own: Recipe) -> None:
    """Let what grew from the blob `own` begin with the chunks of it instead."""
    for id, recipe in list(others.items()):
        if recipe.depth and recipe.prefix == blob:
            chunks, sizes = own.chunks + recipe.chunks, own.sizes + recipe.sizes
            _replace(tx, others, id, own._replace(chunks=chunks, sizes=sizes))


def _split(tx: SqliteTransaction, others: dict[bytes, Recipe], blob: bytes) -> None:
    """Cut in two, in the recipes that have it, a chunk that is a file of its own."""
    holders = [id for id, recipe in others.items() if blob in recipe.chunks]
    if not holders:
        return
    content = tx.read_blob(blob)
    half = len(content) // 2
    parts = [(blob_id(part), part) for part in (content[:half], content[half:])]
    tx.put_chunks(parts)
    for id in holders:
        pieces = list(_pieces(others[id], blob, [(part, len(data)) for part, data in parts]))
        chunks, sizes = [id for id, _ in pieces], [size for _, size in pieces]
        _replace(tx, others, id, others[id]._replace(chunks=chunks, sizes=sizes))


def _pieces(
    recipe: Recipe, blob: bytes, parts: list[tuple[bytes, int]]
) -> Iterator[tuple[bytes, int]]:
    for piece in zip(recipe.chunks, recipe.sizes, strict=True):
        if piece[0] == blob:
            yield from parts
        else:
            yield piece


def _replace(tx: SqliteTransaction, others: dict[bytes, Recipe], id: bytes, recipe: Recipe) -> None:
    others[id] = recipe
    tx._db.run("UPDATE blobs SET data = ? WHERE id = ?", (recipes.pack(id, recipe), id))
