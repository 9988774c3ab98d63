"""The tables of experience in a database that many agents share; every row has its brain.

`brain_experience` has one row a brain. A transaction that gives out numbers first updates it, so
that rows become visible in the order of their numbers: a reader that stopped at a number misses
none.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text

TABLES_VERSION = 2

metadata = MetaData()


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


def _key(name: str) -> Column[int]:
    return Column(name, BigInteger, primary_key=True, autoincrement=False)


def _brain() -> Column[str]:
    return Column("brain", Text, primary_key=True)


versions = Table("brain_experience_version", metadata, Column("version", Integer, primary_key=True))
counters = Table(
    "brain_experience", metadata, _brain(), *map(_number, ("sequences", "work", "events"))
)
sequences = Table(
    "brain_sequences",
    metadata,
    _brain(),
    _key("number"),
    _number("at"),
    *map(_text, ("chat", "skills", "context_hash", "run")),
)
"""`skills` is a JSON array of texts."""
work = Table(
    "brain_work",
    metadata,
    _brain(),
    _key("number"),
    *map(_text, ("kind", "key")),
    _number("at"),
    *map(_number, ("is_done", "attempt", "until")),
    *map(_text, ("result", "data", "progress")),
    Index("brain_work_key", "brain", "kind", "key", unique=True),
    Index("brain_work_open", "brain", "kind", "is_done", "number"),
)
answers = Table(
    "brain_answers", metadata, _brain(), *map(_key, ("work", "number")), _text("answer")
)
"""`work` is the number of an item, `number` counts its answers."""
events = Table(
    "brain_events",
    metadata,
    _brain(),
    _key("number"),
    _number("at"),
    *map(_text, ("evolver", "name", "trigger_reason", "phase", "result")),
    Index("brain_events_evolver", "brain", "evolver", "number"),
)
notes = Table(
    "brain_notes", metadata, _brain(), Column("name", Text, primary_key=True), _text("text")
)
rates = Table(
    "brain_rates",
    metadata,
    _brain(),
    *(Column(name, Text, primary_key=True) for name in ("key", "name")),
    *map(_key, ("seconds", "period")),
    _number("count"),
)
