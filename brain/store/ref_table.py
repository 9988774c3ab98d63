"""The table `facts`: refs, small settings and counters under one checksum.

Checksums of single rows would not notice a lost row, so one seal covers all: the checksum over
every name and value in order. The table is small, so reading all of it costs as much as one row.
"""

from __future__ import annotations

from ..errors import Conflict, StoreError, printable_text
from . import rows
from .connection import Connection, ConnectionHolder, ContentVersion
from .database import typed_columns

_FACT_COLUMNS = typed_columns("name TEXT, value BLOB")
_DAMAGED_HINT = "run `brain verify`, and restore the folder .brain from a copy"

SEAL_FACT = ""
"""Name of the row of the seal."""
REF_PREFIX = "ref:"
META_PREFIX = "meta:"
OPERATIONS_FACT = "operations"
"""Number and id of the latest operation."""
REDACTIONS_FACT = "redactions"
"""The number of redacted blobs; absent if there are none."""
COMPACTION_FACT = "traces"
"""Present while old pages may hold redacted content."""
EPOCH_FACT = "epoch"
"""The number of times that objects were removed."""

INTERNAL_FACTS = frozenset({OPERATIONS_FACT, REDACTIONS_FACT, COMPACTION_FACT, EPOCH_FACT})
"""Names of the facts that are neither refs nor settings."""


class FactReader(ConnectionHolder):
    """Reads the facts, again only after the database changed."""

    _facts_cache: tuple[ContentVersion | None, dict[str, bytes]] = None, {}

    def _current_facts(self) -> dict[str, bytes]:
        """Return all facts by name, sorted; do not change them. Raises as `load_facts`."""
        db = self._db
        version = db.content_version  # before the facts, which others may change meanwhile
        if self._facts_cache[0] != version:
            self._facts_cache = version, load_facts(db)
        return self._facts_cache[1]


def load_facts(db: Connection) -> dict[str, bytes]:
    """Return all facts by name, sorted.

    Raises `StoreError` (`corrupt_ref`) if the seal or a fact is wrong.
    """
    facts: dict[str, bytes] = dict(db.fetch_all(f"SELECT {_FACT_COLUMNS} FROM facts ORDER BY name"))
    if facts.pop(SEAL_FACT, None) != _compute_seal(facts):
        raise StoreError(
            "the refs of the store do not fit their checksum",
            code="corrupt_ref",
            hint=_DAMAGED_HINT,
        )
    for name, value in facts.items():
        if fault := rows.find_fact_error(name, value):
            raise StoreError(
                f"the fact {printable_text(name, 80)} of the store is damaged: {fault}",
                code="corrupt_ref",
                hint=_DAMAGED_HINT,
            )
    return facts


def create_seal(db: Connection) -> None:
    """Seal a store that has no facts yet."""
    db.execute("INSERT INTO facts (name, value) VALUES (?, ?)", (SEAL_FACT, _compute_seal({})))


def save_facts(db: Connection, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Write the differences between two states, and the new seal."""
    if before == after:
        return
    db.execute_many("DELETE FROM facts WHERE name = ?", [(name,) for name in before.keys() - after])
    changed = [(name, value) for name, value in after.items() if before.get(name) != value]
    changed.append((SEAL_FACT, _compute_seal(dict(sorted(after.items())))))
    db.execute_many("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", changed)


def _compute_seal(facts: dict[str, bytes]) -> bytes:
    return rows.row_checksum(*[part for name in facts for part in (name.encode(), facts[name])])


def select_refs(facts: dict[str, bytes]) -> dict[str, bytes]:
    """Return the refs among the facts."""
    return {
        name[len(REF_PREFIX) :]: facts[name]
        for name in sorted(facts)
        if name.startswith(REF_PREFIX)
    }


def increment_counter(facts: dict[str, bytes], name: str) -> None:
    """Add one to a counter; a missing counter is 0."""
    facts[name] = (int.from_bytes(facts.get(name, b""), "big") + 1).to_bytes(8, "big")


def compare_and_swap_ref(
    facts: dict[str, bytes], name: str, old: bytes | None, new: bytes | None
) -> None:
    """Compare and swap one ref; `Conflict` (`stale_ref`) if it is not at `old`."""
    if facts.get(REF_PREFIX + name) != old:
        raise Conflict(
            f"the ref {name!r} has moved meanwhile",
            code="stale_ref",
            hint="another writer came first; run the command again",
        )
    if new is None:
        facts.pop(REF_PREFIX + name, None)
    else:
        facts[REF_PREFIX + name] = new
