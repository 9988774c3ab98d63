"""Uses of skills, and what is counted of them in `.brain/evolution.db`.

The counts are those of this copy of the brain, also if experience lies on a server. Several
processes and threads may count at once. A killed process loses at most the use it was counting; a
power cut may lose the last ones. Earlier releases counted in `.brain/usage.db`: what it holds is
read, and the first use moves it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass, field, replace

from ..digest import NO_DIGEST, blob_id
from ..errors import StoreError, printable_text
from ..store.connection import Connection, FileFormat, SqlRow
from ..store.database import delete_database
from .store import EXPERIENCE_FILE, SideDatabase

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
    last success. `recent` has the inputs that were used last, at most RECENT_INPUTS, oldest first,
    and says of each whether the last use with it succeeded. `timed` uses were measured:
    `took_total` and `took_max` are of these. `failed_at` and `failure` are of the last failure, 0
    and "" without one.

    The file does not hold the last two, which are added before a version is judged. `content`
    identifies what was used: the program id, or a digest of the text of a skill without a program;
    it is equal for a version and for a later one that brought it back. `can_return` says whether
    the version may be brought back: a program must have been admitted.
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
    recent: dict[str, bool] = field(default_factory=dict)
    content: bytes = NO_DIGEST
    can_return: bool = True

    @property
    def trials(self) -> tuple[int, int]:
        """How many of the recent inputs succeeded and failed, however often each was used.

        What was counted before inputs were kept is counted by its uses.
        """
        if not self.recent:
            return self.successes, self.failures
        succeeded = sum(self.recent.values())
        return succeeded, len(self.recent) - succeeded

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


def _add_input(counts: UsageCounts, key: bytes, succeeded: bool) -> dict[str, bool]:
    # Of earlier uses without inputs, failures may all have had the same.
    earlier = {f"earlier {n}": True for n in range(min(counts.successes, RECENT_INPUTS))}
    name = key.hex() or f"use {counts.uses}"
    others = [pair for pair in (counts.recent or earlier).items() if pair[0] != name]
    return dict([*others, (name, succeeded)][-RECENT_INPUTS:])


# The file

MAX_ROWS = 50_000
"""Versions of skills that are counted; beyond, the one that was unused for longest is dropped."""
MAX_RUNS = 50_000
"""Runs that are remembered, so that none is counted twice; the oldest are forgotten first."""
_FILE = EXPERIENCE_FILE._replace(
    timeout=5.0,
    synchronous="NORMAL",  # the last counts are no loss worth an fsync each
)
_OLD_FILE = FileFormat(
    file_name="usage.db",
    noun="a file of uses",
    label="the file of uses",
    folder="the folder .brain",
    damaged="delete .brain/usage.db: it holds only counts of uses, which begin anew, and nothing of"
    " the brain itself",
    application_id=0x62726E75,
    version=2,
    tables=(),
    older_tables={1: ()},
    timeout=5.0,
    synchronous="NORMAL",
    is_cut_refused=True,
)
_OLD_FIELDS = (
    "path version program uses successes failures consecutive_failures timed took_total took_max"
    " failed_at failure first_use last_use"
).split()
_ROWS = "SELECT path, version, program, counts FROM uses"


class UsageStore:
    """The counts of one brain, in its folder `.brain`; the file is opened when it is needed.

    Every method may raise `StoreError`: `bad_store` for a file that is damaged, cut or foreign,
    `unsupported_version`, `read_only`, `cannot_open`, `no_space`; or `Locked`.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = folder
        self._file = SideDatabase(folder, _FILE)
        self._old_path = os.path.join(folder, _OLD_FILE.file_name)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def record_use(self, use: SkillUse) -> UsageCounts:
        """Count a use; return the counts of its version and program with it."""
        with self._counting() as db:
            return _count_use(db, use)

    def record_run(self, run: str, uses: Sequence[SkillUse]) -> bool:
        """Count the uses of a run, unless they are counted already; return whether they were not.

        `run` is any text that identifies the run.
        """
        with self._counting() as db:
            if db.fetch_one("SELECT 1 FROM counted_runs WHERE id = ?", (run,)):
                return False
            db.execute("INSERT INTO counted_runs (id) VALUES (?)", (run,))
            db.execute(f"DELETE FROM counted_runs WHERE number <= last_insert_rowid() - {MAX_RUNS}")
            for use in uses:
                _count_use(db, use)
            return True

    def read_usage(self, path: str) -> list[UsageCounts]:
        """Return the counts of all versions and programs of the skill at a full path."""
        return self._read("WHERE path = ? ORDER BY number", path)

    def list_usage(self) -> list[UsageCounts]:
        """Return all counts."""
        return self._read("ORDER BY path, number")

    def _read(self, which: str, *args: str) -> list[UsageCounts]:
        found = self._read_old(which, *args)
        # A file of an older version, which this process may only read, counts no uses.
        if self._file.fetch_all("SELECT 1 FROM sqlite_schema WHERE name = 'uses'"):
            found += map(_decode_row, self._file.fetch_all(f"{_ROWS} {which}", args))
        return list({(one.path, one.version, one.program): one for one in found}.values())

    def _counting(self) -> AbstractContextManager[Connection]:
        if os.path.lexists(self._old_path):
            self._move_old()
        return self._file.transaction()

    def _read_old(self, which: str, *args: str) -> list[UsageCounts]:
        with closing(SideDatabase(self._folder, _OLD_FILE)) as old:
            recent = "x''"  # the first version kept no inputs
            if old.fetch_all("SELECT 1 FROM sqlite_schema WHERE name = 'inputs'"):
                recent = "(SELECT recent FROM inputs WHERE inputs.number = uses.number)"
            columns = ", ".join(_OLD_FIELDS)
            rows = old.fetch_all(f"SELECT ifnull({recent}, x''), {columns} FROM uses {which}", args)
        found = []
        for inputs, *fields in rows:
            starts = range(0, len(inputs), _KEY_BYTES + 1)
            last = {inputs[n : n + _KEY_BYTES].hex(): inputs[n + _KEY_BYTES] == 1 for n in starts}
            found.append(UsageCounts(**dict(zip(_OLD_FIELDS, fields, strict=True)), recent=last))
        return found

    def _move_old(self) -> None:
        counts = self._read_old("ORDER BY number")
        with closing(SideDatabase(self._folder, _OLD_FILE)) as old:
            runs = old.fetch_all("SELECT id FROM runs ORDER BY number")
        new = SideDatabase(self._folder, EXPERIENCE_FILE)  # durable before the old file goes
        with closing(new), new.transaction() as db:
            # Another process, or this one before it was killed, may have been here already.
            db.execute_many("INSERT OR IGNORE INTO counted_runs (id) VALUES (?)", runs)
            for one in counts:
                _write_row(db, one, "NOTHING")
        delete_database(self._old_path)


def _count_use(db: Connection, use: SkillUse) -> UsageCounts:
    row = db.fetch_one(
        f"{_ROWS} WHERE path = ? AND version = ? AND program = ?",
        (use.path, use.version, use.program),
    )
    if row is None:
        db.execute(
            "DELETE FROM uses WHERE number = (SELECT number FROM uses ORDER BY last_use, number)"
            f" AND (SELECT count(*) FROM uses) >= {MAX_ROWS}"
        )
    new = UsageCounts(path=use.path, version=use.version, program=use.program)
    counted = add_use(_decode_row(row) if row else new, use)
    _write_row(db, counted, "UPDATE SET last_use = excluded.last_use, counts = excluded.counts")
    return counted


def _write_row(db: Connection, counts: UsageCounts, otherwise: str) -> None:
    """Write a row; `otherwise` says what to do if there is one of its version and program."""
    fields = asdict(counts)
    del fields["content"], fields["can_return"]  # what a judge adds
    key = [fields.pop(name) for name in ("path", "version", "program")]
    db.execute(
        "INSERT INTO uses (path, version, program, last_use, counts) VALUES (?, ?, ?, ?, ?)"
        f" ON CONFLICT (path, version, program) DO {otherwise}",
        (*key, counts.last_use, json.dumps(fields)),
    )


def _decode_row(row: SqlRow) -> UsageCounts:
    path, version, program, counts = row
    try:
        return UsageCounts(path=path, version=version, program=program, **json.loads(counts))
    except (ValueError, TypeError) as error:
        raise StoreError(f"a row of {_FILE.file_name} is damaged", hint=_FILE.damaged) from error
