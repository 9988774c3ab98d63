"""Changing the store of a brain behind its back, with every checksum made anew.

It is what somebody can do who may write to `.brain` and knows this program.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from brain.store import facts, sums

Statement = tuple[str, Sequence[Any]]


def tamper(root: Path, *statements: Statement) -> None:
    """Run statements on the store of the brain at `root`."""
    with closing(apsw.Connection(str(root / ".brain" / "store.db"))) as db:
        for sql, args in statements:
            db.execute(sql, args).fetchall()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def rows(root: Path, sql: str, args: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return what the store of the brain at `root` answers."""
    with closing(apsw.Connection(str(root / ".brain" / "store.db"))) as db:
        return db.execute(sql, args).fetchall()


def pending_row(path: str, kind: int, blob: bytes, before: bytes = b"") -> Statement:
    """Return what plants a file that is still to be written."""
    checksum = sums.of_fields(path.encode(), b"%d" % kind, blob, before)
    return (
        "INSERT OR REPLACE INTO pending (path, kind, blob, before, checksum) VALUES (?,?,?,?,?)",
        (path, kind, blob, before, checksum),
    )


def set_fact(root: Path, name: str, value: bytes | None) -> None:
    """Set a fact, or take it out, and seal the facts anew."""
    found: dict[str, bytes] = dict(
        rows(root, "SELECT name, value FROM facts WHERE name != '' ORDER BY name")
    )
    found.pop(name, None)
    if value is not None:
        found[name] = value
    seal(root, found)


def seal(root: Path, found: dict[str, bytes]) -> None:
    """Make these the facts of the store."""
    fields = [part for name in sorted(found) for part in (name.encode(), found[name])]
    tamper(
        root,
        ("DELETE FROM facts", ()),
        *[("INSERT INTO facts VALUES (?, ?)", row) for row in sorted(found.items())],
        ("INSERT INTO facts VALUES (?, ?)", (facts.SEAL, sums.of_fields(*fields))),
    )
