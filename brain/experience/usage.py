"""Uses of skills, and what is counted of them in `.brain/usage.db`, a file beside the store.

It is no part of the brain: no snapshot has it, and it may be deleted at any time, which only
starts the counts anew. Several processes and threads may count at once. A killed process
loses at most the use it was counting; a power cut may lose the last ones. A file that is damaged
or was written by another program is an error, never an empty one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from ..digest import NO_DIGEST, blob_id
from ..errors import printable_text
from ..store.connection import Connection, SqlRow
from ..store.side_database import SideDatabase, SideFileFormat

MAX_FAILURE_CHARS = 200
"""Characters of the text that is kept of the last failure."""
RECENT_INPUTS = 32
"""Inputs whose last outcome is kept, of those that a version was used with last."""
_KEY_BYTES = 8


def input_key(text: str) -> bytes:
    """Return what tells one input of a skill from others: 8 bytes, none for an empty one."""
    return blob_id(text.encode("utf-8", "surrogatepass"))[:_KEY_BYTES] if text else NO_DIGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUse:
    """One use of a version of a skill.

    `path` is the full path of its SKILL.md, and `version` "" if unknown. `program` is the id of
    the program that ran, 32 bytes, empty if the skill was only read. `at` is the time of the end
    in ms since 1970, UTC; `took` is the duration in ms, None if it was not measured. `failure`
    says in a line what failed. `outcome` is success, failure or unknown, which counts as a use, and
    as neither. `input` is the `input_key` of what it was used with; uses without
    one are each taken for a use with another input.
    """

    path: str
    version: str
    program: bytes = NO_DIGEST
    outcome: str
    at: int
    took: int | None = None
    failure: str = ""
    input: bytes = NO_DIGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageCounts:
    """What is counted of one version of a skill, with one program.

    Times are in ms since 1970, UTC, durations in ms. `consecutive_failures` are those since the
    last success. `recent` has the inputs that were used last, at most RECENT_INPUTS, oldest
    first, 9 bytes each: the key, and 1 if the last use with it succeeded, else 0. `timed` uses
    were measured: `took_total` and `took_max` are of these. `failed_at` and `failure` are of the
    last failure, 0 and "" without one.
    """

    path: str
    version: str
    program: bytes = NO_DIGEST
    uses: int = 0
    successes: int = 0
    failures: int = 0
    consecutive_failures: int = 0
    timed: int = 0
    took_total: int = 0
    took_max: int = 0
    failed_at: int = 0
    failure: str = ""
    first_use: int = 0
    last_use: int = 0
    recent: bytes = b""

    @property
    def trials(self) -> tuple[int, int]:
        """How many of the recent inputs succeeded and failed, however often each was used.

        What was counted before inputs were kept is counted by its uses.
        """
        if not self.recent:
            return self.successes, self.failures
        succeeded = sum(self.recent[_KEY_BYTES :: _KEY_BYTES + 1])
        return succeeded, len(self.recent) // (_KEY_BYTES + 1) - succeeded

    @property
    def mean(self) -> int:
        """The mean duration in ms, 0 if none was measured."""
        return round(self.took_total / self.timed) if self.timed else 0


def add_use(counts: UsageCounts, use: SkillUse) -> UsageCounts:
    """Return the counts with one more use."""
    failed, succeeded = use.outcome == "failure", use.outcome == "success"
    counted = replace(
        counts,
        uses=counts.uses + 1,
        successes=counts.successes + succeeded,
        failures=counts.failures + failed,
        consecutive_failures=0 if succeeded else counts.consecutive_failures + failed,
        first_use=min(counts.first_use, use.at) if counts.uses else use.at,
        last_use=max(counts.last_use, use.at),
    )
    if failed or succeeded:
        counted = replace(counted, recent=_add_input(counts, use.input, succeeded))
    if failed:
        text = printable_text(" ".join(use.failure.split()), MAX_FAILURE_CHARS - 1)
        counted = replace(counted, failed_at=use.at, failure=text[:MAX_FAILURE_CHARS])
    if use.took is None:
        return counted
    took = max(use.took, 0)
    return replace(
        counted,
        timed=counts.timed + 1,
        took_total=counts.took_total + took,
        took_max=max(counts.took_max, took),
    )


def _add_input(counts: UsageCounts, key: bytes, succeeded: bool) -> bytes:
    rows = [
        counts.recent[at : at + _KEY_BYTES + 1]
        for at in range(0, len(counts.recent), _KEY_BYTES + 1)
    ]
    if not rows:  # of earlier uses without inputs, failures may all have had the same
        known = min(counts.successes, RECENT_INPUTS)
        rows = [number.to_bytes(_KEY_BYTES, "big") + b"\1" for number in range(known)]
    key = key or (counts.uses + RECENT_INPUTS).to_bytes(_KEY_BYTES, "big")
    others = [row for row in rows if row[:_KEY_BYTES] != key]
    return b"".join([*others, key + bytes([succeeded])][-RECENT_INPUTS:])


# The file

USAGE_FILE_NAME = "usage.db"
USAGE_APPLICATION_ID = 0x62726E75
"""Marks the file (SQLite header, offset 68): "brnu"."""
USAGE_VERSION = 2
MAX_ROWS = 50_000
"""Versions of skills that are counted; beyond, the one that was unused for longest is dropped."""
MAX_RUNS = 50_000
"""Runs that are remembered, so that none is counted twice; the oldest are forgotten first."""
LOCK_TIMEOUT_SECONDS = 5.0
"""How long to wait for another process that counts."""

DELETE_HINT = (
    "delete .brain/usage.db: it holds only counts of uses, which begin anew, and nothing of the"
    " brain itself"
)

_TABLES = (
    """CREATE TABLE uses (
  number INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  version TEXT NOT NULL,
  program BLOB NOT NULL,
  uses INTEGER NOT NULL,
  successes INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  consecutive_failures INTEGER NOT NULL,
  timed INTEGER NOT NULL,
  took_total INTEGER NOT NULL,
  took_max INTEGER NOT NULL,
  histogram BLOB NOT NULL,
  failed_at INTEGER NOT NULL,
  failure TEXT NOT NULL,
  first_use INTEGER NOT NULL,
  last_use INTEGER NOT NULL,
  checksum BLOB NOT NULL,
  UNIQUE (path, version, program),
  UNIQUE (last_use, number)
) STRICT""",
    """CREATE TABLE runs (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE
) STRICT""",
    """CREATE TABLE inputs (
  number INTEGER PRIMARY KEY,
  recent BLOB NOT NULL,
  checksum BLOB NOT NULL
) STRICT""",
)
_FORMAT = SideFileFormat(
    file_name=USAGE_FILE_NAME,
    application_id=USAGE_APPLICATION_ID,
    version=USAGE_VERSION,
    tables=_TABLES,
    kind="file of uses",
    delete_hint=DELETE_HINT,
    timeout=LOCK_TIMEOUT_SECONDS,
    synchronous="NORMAL",  # the last counts are no loss worth an fsync each
    older_tables={1: _TABLES[:2]},
)
_COLUMNS = (
    "path, version, program, uses, successes, failures, consecutive_failures, timed, took_total,"
    " took_max, histogram, failed_at, failure, first_use, last_use, checksum"
)
_HISTOGRAM = _COLUMNS.split(", ").index("histogram")
"""The place of a column of older versions, which is neither read nor filled any more."""
_FIELDS = [name for name in _COLUMNS.split(", ")[:-1] if name != "histogram"]
_OLD_ROWS = f"SELECT number, NULL, NULL, {_COLUMNS} FROM uses"
_ROWS = (
    f"SELECT number, recent, inputs.checksum, {_COLUMNS.replace('checksum', 'uses.checksum')}"
    " FROM uses LEFT JOIN inputs USING (number)"
)
_get_fields = attrgetter(*_FIELDS)
_KEY = "path = ? AND version = ? AND program = ?"
_INSERT = f"INSERT INTO uses (number, {_COLUMNS}) VALUES (?{', ?' * len(_COLUMNS.split(','))})"
_CHANGES = ", ".join(f"{name} = ?" for name in _COLUMNS.split(", ")[3:])
_UPDATE = f"UPDATE uses SET {_CHANGES} WHERE {_KEY}"


class UsageStore:
    """The counts of one brain, in its folder `.brain`; the file is opened when it is needed.

    Every method may raise `StoreError`: `bad_store` for a file that is damaged, cut or foreign,
    `unsupported_version`, `read_only`, `cannot_open`, `no_space`; or `Locked`.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._file = SideDatabase(folder, _FORMAT)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def record_use(self, use: SkillUse) -> UsageCounts:
        """Count a use; return the counts of its version and program with it."""
        return self._file.write(lambda db: _count_use(db, use))

    def record_run(self, run: str, uses: Sequence[SkillUse]) -> bool:
        """Count the uses of a run, unless they are counted already; return whether they were not.

        `run` is any text that identifies the run.
        """
        return self._file.write(lambda db: _add_run(db, run, uses))

    def read_usage(self, path: str) -> list[UsageCounts]:
        """Return the counts of all versions and programs of the skill at a full path."""
        return self._read(" WHERE path = ?", path)

    def list_usage(self) -> list[UsageCounts]:
        """Return all counts."""
        return self._read(" ORDER BY path, number")

    def _read(self, which: str, *args: str) -> list[UsageCounts]:
        def read(db: Connection) -> list[UsageCounts]:
            # An old file, which this process may only read, has no inputs.
            is_old = not db.fetch_one("SELECT 1 FROM sqlite_schema WHERE name = 'inputs'", ())
            rows = _OLD_ROWS if is_old else _ROWS
            return list(map(_decode_row, db.fetch_all(f"{rows}{which}", args)))

        return self._file.read(read, [])


def _add_run(db: Connection, run: str, uses: Iterable[SkillUse]) -> bool:
    if db.fetch_one("SELECT 1 FROM runs WHERE id = ?", (run,)):
        return False
    db.execute("INSERT INTO runs (id) VALUES (?)", (run,))
    db.execute(f"DELETE FROM runs WHERE number <= (SELECT max(number) FROM runs) - {MAX_RUNS}")
    for use in uses:
        _count_use(db, use)
    return True


def _count_use(db: Connection, use: SkillUse) -> UsageCounts:
    key = use.path, use.version, use.program
    row = db.fetch_one(f"{_ROWS} WHERE {_KEY}", key)
    new = UsageCounts(path=use.path, version=use.version, program=use.program)
    counted = add_use(_decode_row(row) if row else new, use)
    values = _encode_row(counted)
    if row is None:
        number = _take_number(db)
        db.execute(_INSERT, (number, *values))
    else:
        number = row[0]
        db.execute(_UPDATE, (*values[len(key) :], *key))
    recent = _FORMAT.encode_row([number, counted.recent])
    db.execute("INSERT OR REPLACE INTO inputs VALUES (?, ?, ?)", recent)
    return counted


def _take_number(db: Connection) -> int:
    """Return a free row number up to `MAX_ROWS`; at worst that of a row that is dropped."""
    ((last,),) = db.fetch_all("SELECT ifnull(max(number), 0) FROM uses")
    if last < MAX_ROWS:
        return int(last) + 1
    ((number,),) = db.fetch_all("SELECT number FROM uses ORDER BY last_use, number LIMIT 1")
    db.execute("DELETE FROM uses WHERE number = ?", (number,))
    return int(number)


def _encode_row(counts: UsageCounts) -> tuple[object, ...]:
    fields = list(_get_fields(counts))
    fields.insert(_HISTOGRAM, b"")
    return _FORMAT.encode_row(fields)


def _decode_row(row: SqlRow) -> UsageCounts:
    """Return the counts of a row of `_ROWS`. Raises `StoreError` if it was changed."""
    number, recent, checksum, *rest = row
    fields: list[Any] = _FORMAT.decode_row(tuple(rest))
    del fields[_HISTOGRAM]
    inputs = b"" if checksum is None else _FORMAT.decode_row((number, recent, checksum))[1]
    return UsageCounts(**dict(zip(_FIELDS, fields, strict=True)), recent=inputs)
