"""Refs and small settings: a handful of rows under one seal.

A checksum on each row would not notice a row that a fault made vanish, so one
seal covers all of them: the checksum over every name and value in order. The
set is small, so reading it whole costs no more than reading one row.
"""

from __future__ import annotations

from ..errors import Conflict, StoreError, printable
from . import bounds, sums
from .connection import Connection
from .schema import columns

_FACT = columns("name TEXT, value BLOB")
_DAMAGED = "run `brain verify`, and restore the folder .brain from a copy"

SEAL = ""
"""Name of the row that holds the seal."""
REF = "ref:"
META = "meta:"
OPERATIONS = "operations"
"""Name of the fact that holds number and id of the latest operation."""
REDACTIONS = "redactions"
"""Name of the fact that holds how many blobs were redacted; absent if none."""
TRACES = "traces"
"""Name of the fact that is there while old pages may hold what was redacted."""
EPOCH = "epoch"
"""Name of the fact that holds how often something was taken out of the store."""


KNOWN = frozenset({OPERATIONS, REDACTIONS, TRACES, EPOCH})
"""Names of the facts that are neither refs nor settings."""


def load(db: Connection) -> dict[str, bytes]:
    """Return all facts by name, sorted.

    Raises `StoreError` (`corrupt_ref`) if the seal does not fit, or one cannot be right.
    """
    facts: dict[str, bytes] = dict(db.all(f"SELECT {_FACT} FROM facts ORDER BY name"))
    if facts.pop(SEAL, None) != _seal(facts):
        raise StoreError(
            "the refs of the store do not fit their checksum",
            code="corrupt_ref",
            hint=_DAMAGED,
        )
    for name, value in facts.items():
        if wrong := bounds.of_fact(name, value):
            raise StoreError(
                f"the fact {printable(name, 80)} of the store is damaged: {wrong}",
                code="corrupt_ref",
                hint=_DAMAGED,
            )
    return facts


def begin(db: Connection) -> None:
    """Seal a store that has no facts yet."""
    db.run("INSERT INTO facts (name, value) VALUES (?, ?)", (SEAL, _seal({})))


def save(db: Connection, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Write what differs between two states, and the new seal."""
    if before == after:
        return
    db.run_many("DELETE FROM facts WHERE name = ?", [(name,) for name in before.keys() - after])
    changed = [(name, value) for name, value in after.items() if before.get(name) != value]
    changed.append((SEAL, _seal(dict(sorted(after.items())))))
    db.run_many("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", changed)


def _seal(facts: dict[str, bytes]) -> bytes:
    return sums.of_fields(*[part for name in facts for part in (name.encode(), facts[name])])


def refs(facts: dict[str, bytes]) -> dict[str, bytes]:
    """Return the refs among the facts."""
    return {name[len(REF) :]: facts[name] for name in sorted(facts) if name.startswith(REF)}


def raised(facts: dict[str, bytes], name: str) -> bytes:
    """Return the count that a fact holds, absent for 0, plus one."""
    return (int.from_bytes(facts.get(name, b""), "big") + 1).to_bytes(8, "big")


def move(facts: dict[str, bytes], name: str, old: bytes | None, new: bytes | None) -> None:
    """Compare and swap one ref; `Conflict` (`stale_ref`) if it is not at `old`."""
    if facts.get(REF + name) != old:
        raise Conflict(
            f"the ref {name!r} has moved meanwhile",
            code="stale_ref",
            hint="another writer came first; run the command again",
        )
    if new is None:
        facts.pop(REF + name, None)
    else:
        facts[REF + name] = new
