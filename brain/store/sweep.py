"""Taking out of the store what nothing needs any more, and giving its space back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import StoreError
from .codec import RECIPE
from .connection import Connection
from .protocol import Kind
from .schema import columns

if TYPE_CHECKING:
    from .writing import SqliteTransaction

_RECIPE = columns("id BLOB, data BLOB")
_ORDER = (Kind.SNAPSHOT, Kind.BUNDLE, Kind.NODE)
"""What refers to others goes first, so that nothing ever refers to what is gone."""


def incomplete(what: str) -> StoreError:
    """Return the error for a store that lacks something which it needs."""
    return StoreError(
        f"nothing was removed, for the store is not whole: {what}",
        code="incomplete",
        hint="see `brain verify --deep`, and restore the folder .brain from a copy",
    )


def sweep(tx: SqliteTransaction, kept: set[bytes], most: int) -> int:
    """Remove at most so many objects that are not `kept`; see `Transaction.sweep`."""
    db = tx._db
    whole = kept | _parts(tx, kept)
    objects = list(islice(_objects(db, whole), most))
    blobs = list(islice(_blobs(db, whole), most - len(objects)))
    db.run_many("DELETE FROM objects WHERE number = ?", objects)
    db.run_many("DELETE FROM blobs WHERE number = ?", blobs)
    if objects or blobs:
        _clean_up(db)
    return len(objects) + len(blobs)


def _parts(tx: SqliteTransaction, kept: set[bytes]) -> set[bytes]:
    """Return the chunks and prefixes, all the way down, that large blobs among `kept` have."""
    rows = tx._db.all(f"SELECT {_RECIPE} FROM blobs WHERE codec = ?", (RECIPE,))
    recipes = {id: tx._recipe(id, data) for id, data in rows}
    parts: set[bytes] = set()
    stack = [id for id in recipes if id in kept]
    while stack:
        recipe = recipes[stack.pop()]
        parts.update(recipe.chunks)
        if recipe.depth and recipe.prefix not in parts:
            parts.add(recipe.prefix)
            if recipe.prefix in recipes:
                stack.append(recipe.prefix)
    if missing := tx.missing(parts):
        raise incomplete(f"chunk {min(missing).hex()} is missing")
    return parts


def _objects(db: Connection, kept: set[bytes]) -> Iterator[tuple[int]]:
    sql = f"SELECT number, {columns('id BLOB')} FROM objects WHERE kind = ? ORDER BY number DESC"
    for kind in _ORDER:
        yield from [(number,) for number, id in db.stream(sql, (kind,)) if id not in kept]


def _blobs(db: Connection, kept: set[bytes]) -> Iterator[tuple[int]]:
    sql = f"SELECT number, {columns('id BLOB')} FROM blobs ORDER BY number DESC"
    yield from [(number,) for number, id in db.stream(sql) if id not in kept]


def _clean_up(db: Connection) -> None:
    """Drop what was noted about objects that are gone."""
    db.run("DELETE FROM signatures WHERE snapshot NOT IN (SELECT id FROM objects)")


def compact(db: Connection, path: str) -> bool:
    """Give free pages back and leave no old page behind; see `Store.compact`."""
    try:
        rewritten = _has_room(path)
        if rewritten:
            _rewrite(db)
        ((busy, _, _),) = db.all("PRAGMA wal_checkpoint(TRUNCATE)")
    except StoreError as error:
        if error.code != "no_space":
            raise
        return False
    return rewritten and not busy


def _rewrite(db: Connection) -> None:
    db.run("PRAGMA temp_store=FILE")  # it takes as much as the store
    try:
        db.run("VACUUM")
    finally:
        db.run("PRAGMA temp_store=MEMORY")


def _has_room(path: str) -> bool:
    """Tell whether the store fits on its disk twice more: in a file aside, and in the log."""
    return shutil.disk_usage(os.path.dirname(path)).free > 2 * os.stat(path).st_size
