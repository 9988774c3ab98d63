"""What agents went through, and what there is to learn from it: `.brain/evolution.db`.

It is no part of the brain: no snapshot has it, and it may be deleted at any time. With a URL in the
user's settings it lies in PostgreSQL instead, where agents on several machines share it, but for
the counts of uses (`usage.py`). Times are ms since 1970, and each write is durable when its method
returns.

A process that learns holds `Store.learning()`, and works off items: it takes the next one, keeps
each step that was paid for before it uses it, and ends the item together with its audit. After a
kill the kernel, or the server, lets go of the lock, and the next process goes on at once.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import Conflict, InvalidInput, Locked, NotFound, StoreError, printable_text
from ..store.connection import Connection, FileFormat, SqlRow
from ..store.database import OUTDATED, open_as_allowed, read_version
from ..util.files import LockTimeout, lock_file

if TYPE_CHECKING:
    from .postgres import PostgresDatabase, PostgresTransaction
    from .settings import ExperienceSettings

MAX_SEQUENCES = 1_000_000
"""Sequences that are kept; the oldest are forgotten first."""
MAX_WORK = 10_000
"""Items that are kept; those that are done are forgotten first, oldest first."""
MAX_EVENTS = 100_000
"""Events that are kept; the oldest are forgotten first."""
_MAX_TEXT_CHARS = 4_000
_MAX_PERIODS = 1_000
_ROWS_PER_READ = 10_000

TABLES = (
    """CREATE TABLE sequences (
  number INTEGER PRIMARY KEY,
  chat TEXT NOT NULL,
  at INTEGER NOT NULL,
  skills TEXT NOT NULL,
  context_hash TEXT NOT NULL,
  run TEXT NOT NULL,
  UNIQUE (run, number)
) STRICT""",
    """CREATE TABLE work (
  number INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  at INTEGER NOT NULL,
  data TEXT NOT NULL,
  starts INTEGER NOT NULL,
  waits_since INTEGER NOT NULL,
  not_before INTEGER NOT NULL,
  is_done INTEGER NOT NULL,
  result TEXT NOT NULL,
  UNIQUE (kind, key),
  UNIQUE (kind, is_done, number)
) STRICT""",
    """CREATE TABLE steps (
  work INTEGER NOT NULL,
  name TEXT NOT NULL,
  value BLOB NOT NULL,
  UNIQUE (work, name)
) STRICT""",
    """CREATE TABLE events (
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  evolver TEXT NOT NULL,
  name TEXT NOT NULL,
  trigger_reason TEXT NOT NULL,
  phase TEXT NOT NULL,
  result TEXT NOT NULL
) STRICT""",
    """CREATE TABLE rates (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  period INTEGER NOT NULL,
  count INTEGER NOT NULL,
  UNIQUE (kind, name, period)
) STRICT""",
    """CREATE TABLE facts (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID""",
)
_USAGE_TABLES = (
    """CREATE TABLE uses (
  number INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  version TEXT NOT NULL,
  program BLOB NOT NULL,
  last_use INTEGER NOT NULL,
  counts TEXT NOT NULL,
  UNIQUE (path, version, program),
  UNIQUE (last_use, number)
) STRICT""",
    """CREATE TABLE counted_runs (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE
) STRICT""",
)
_LABEL = "the file of experience"
EXPERIENCE_FILE = FileFormat(
    file_name="evolution.db",
    noun="a file of experience",
    label=_LABEL,
    folder="the folder .brain",
    damaged="delete .brain/evolution.db: it holds only what agents went through, and the counts of"
    " uses and of attempts to learn, and nothing of the brain itself",
    application_id=0x62726E78,  # "brnx"
    version=4,
    tables=TABLES + _USAGE_TABLES,
    older_tables={3: TABLES},
    outdated=(1, 2),
    timeout=30.0,
    synchronous="FULL",  # an answer of a model is worth an fsync
    is_cut_refused=True,
)
_REPLACED = "store_replaced"


class SideDatabase:
    """A database file in the folder `.brain` that may be deleted at any time; threads may share it.

    It is opened when it is needed, and made anew after somebody deleted it; each write is one
    transaction. A file that is damaged or foreign is an error, never an empty one. Methods may
    raise `StoreError`: `bad_store` for a file that is damaged, cut or foreign,
    `unsupported_version`, `read_only`, `cannot_open`, `no_space`; or `Locked`.
    """

    def __init__(self, folder: str | os.PathLike[str], format: FileFormat) -> None:
        self._path = os.path.join(os.fspath(folder), format.file_name)
        self._format = format
        self._lock = threading.Lock()
        self._db: Connection | None = None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._drop_connection()

    def fetch_all(self, sql: str, args: Sequence[object] = ()) -> list[SqlRow]:
        """Return the rows of a statement, none without a file."""
        with self._lock:
            try:
                if self._db is not None:
                    self._db.check_files()
            except StoreError:
                self._drop_connection()
            try:
                self._db = self._db or self._open_file(create=False)
            except StoreError as error:
                if error.code in (OUTDATED, _REPLACED):
                    return []
                raise
            return self._db.fetch_all(sql, args)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Write in one transaction; the file is created if it is missing."""
        with self._lock:
            try:
                db = self._begin()
            except StoreError as error:
                if error.code == OUTDATED:
                    os.rename(self._path, f"{self._path}.old")
                elif error.code != _REPLACED:
                    raise
                self._drop_connection()  # somebody deleted the file, as is allowed
                db = self._begin()
            try:
                older = self._format.older_tables.get(read_version(db))
                if older is not None:  # the first writer adds what is missing
                    for sql in self._format.tables[len(older) :]:
                        db.execute(sql)
                    db.execute(f"PRAGMA user_version={self._format.version}")
                yield db
                db.commit()
            finally:
                db.roll_back()

    def _begin(self) -> Connection:
        self._db = self._db or self._open_file(create=True)
        self._db.begin()
        return self._db

    def _open_file(self, create: bool) -> Connection:
        try:
            return open_as_allowed(self._path, self._format, create=create)
        except (NotFound, FileNotFoundError) as error:
            raise StoreError(
                f"{self._format.file_name} was deleted meanwhile", code=_REPLACED, hint="try again"
            ) from error

    def _drop_connection(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


class SkillSequence(NamedTuple):
    """The skills that one message used, in order, without repetitions removed.

    `context_hash` is the hex digest of the message, not its text. `run` is the id of its receipt,
    "" without one.
    """

    chat: str
    at: int
    skills: tuple[str, ...]
    context_hash: str = ""
    run: str = ""


class AuditEvent(NamedTuple):
    """One event of an evolver; `result` is success, skipped, rejected or failed."""

    at: int
    evolver: str
    name: str
    trigger_reason: str
    phase: str
    result: str


class RateLimit(NamedTuple):
    """At most `most` attempts in each period of `seconds`, counted from 1970 (a day, an hour)."""

    name: str
    seconds: int
    most: int

    def period(self, now: int) -> int:
        """Return the number of the period that a time lies in."""
        return now // 1000 // self.seconds

    def end(self, now: int) -> int:
        """Return when that period ends."""
        return (self.period(now) + 1) * self.seconds * 1000


class Work(NamedTuple):
    """An item of the queue; `kind` is an evolver, and `key` is unique in it.

    `data` says what to learn from; `result` is what became of it, None if it is not done.
    """

    kind: str
    key: str
    at: int
    data: dict[str, Any]
    result: dict[str, Any] | None


class Store:
    """The experience of one brain, opened when it is first needed; threads may share it.

    Methods raise `StoreError`: `bad_store`, `unsupported_version`, `read_only`, `cannot_open` or
    `no_space` for the file, `experience_unavailable` for a server; or `Locked`.
    """

    def __init__(
        self, folder: str | os.PathLike[str], database: PostgresDatabase | None = None
    ) -> None:
        self._folder = folder
        self._server = database
        self._database = database or SideDatabase(folder, EXPERIENCE_FILE)
        self._lock = threading.RLock()
        self._open: Connection | PostgresTransaction | None = None

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return self._server.label if self._server else f"in .brain/{EXPERIENCE_FILE.file_name}"

    def close(self) -> None:
        """Close the file, or the connection."""
        self._database.close()

    @contextmanager
    def learning(self) -> Iterator[None]:
        """Hold the learning of this brain. Raises `Locked` (`learning`) if another process does."""
        try:
            with (
                self._server.learning()
                if self._server is not None
                else lock_file(os.path.join(self._folder, "learning.lock"), 0, "ignore")
            ):
                yield
        except LockTimeout:
            raise Locked(
                "another process learns from this brain",
                code="learning",
                hint="it does all that is due: wait until it ends, or end it",
            ) from None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make one transaction of all calls of this store inside."""
        with self._lock:
            if self._open is not None:
                yield
                return
            with self._database.transaction() as db:
                self._open = db
                try:
                    yield
                finally:
                    self._open = None

    def _write(self, sql: str, *args: object) -> None:
        with self.transaction():
            assert self._open is not None
            self._open.execute(sql, args)

    def _read(self, sql: str, *args: object) -> list[tuple[Any, ...]]:
        with self._lock:
            return (self._open or self._database).fetch_all(sql, args)

    # Sequences

    def record(self, sequences: Sequence[SkillSequence], *, once: bool = False) -> bool:
        """Record sequences in this order, all or none; with `once`, unless their run is known."""
        if not sequences:
            return False
        run = storable_text(sequences[0].run)
        with self.transaction():
            if once and self._read("SELECT 1 FROM sequences WHERE run = ? LIMIT 1", run):
                return False
            for one in sequences:
                chat, hash, known = map(storable_text, (one.chat, one.context_hash, one.run))
                self._write(
                    "INSERT INTO sequences (chat, at, skills, context_hash, run)"
                    " VALUES (?, ?, ?, ?, ?)",
                    *(chat, one.at, json.dumps(one.skills), hash, known),
                )
            self._forget_old("sequences", MAX_SEQUENCES)
        return True

    def sequences(self, since: int = 0) -> Iterator[SkillSequence]:
        """Yield the sequences that are not before `since`, in the order of recording."""
        last = 0
        while True:
            rows = self._read(
                "SELECT number, chat, at, skills, context_hash, run FROM sequences"
                f" WHERE number > ? AND at >= ? ORDER BY number LIMIT {_ROWS_PER_READ}",
                *(last, since),
            )
            for _, chat, at, skills, context_hash, run in rows:
                yield SkillSequence(chat, at, tuple(json.loads(skills)), context_hash, run)
            if len(rows) < _ROWS_PER_READ:
                return
            last = rows[-1][0]

    # Work

    def add(self, kind: str, key: str, at: int, data: Mapping[str, Any]) -> bool:
        """Add an item; return False if one of its kind and key is known, done or not."""
        key = storable_text(key)
        with self.transaction():
            if self._read("SELECT 1 FROM work WHERE kind = ? AND key = ?", kind, key):
                return False
            ((items,),) = self._read("SELECT count(*) FROM work")
            if items >= MAX_WORK:
                done = self._read("SELECT min(number) FROM work WHERE is_done = 1")[0][0]
                if done is None:
                    raise InvalidInput(
                        f"{MAX_WORK} items wait already, and none of them is done",
                        code="bad_experience",
                        hint="nothing was stored; let `brain evolve run` work them off",
                    )
                self._write("DELETE FROM work WHERE number = ?", done)
            self._write(
                "INSERT INTO work"
                " (kind, key, at, data, starts, waits_since, not_before, is_done, result)"
                " VALUES (?, ?, ?, ?, 0, 0, 0, 0, '')",
                *(kind, key, at, json.dumps(data)),
            )
            return True

    def next(self, kind: str, now: int) -> Item | None:
        """Start the oldest item that is not done and need not wait; None if there is none.

        Only for a process that holds `learning()`.
        """
        if not self._read("SELECT 1 FROM work WHERE kind = ? AND is_done = 0 LIMIT 1", kind):
            return None  # without a write, which would make the file
        with self.transaction():
            rows = self._read(
                "SELECT number, key, at, data, starts + 1 FROM work WHERE kind = ? AND is_done = 0"
                # A clock that was set back since an item waits makes it wait no longer.
                " AND (not_before <= ? OR waits_since > ?) ORDER BY number LIMIT 1",
                *(kind, now, now),
            )
            if not rows:
                return None
            number, key, at, data, starts = rows[0]
            self._write("UPDATE work SET starts = ? WHERE number = ?", starts, number)
            return Item(self, number, Work(kind, key, at, json.loads(data), None), starts)

    def items(self, kind: str) -> list[Work]:
        """Return the items of a kind, oldest first; those that are done have no data any more."""
        rows = self._read(
            "SELECT key, at, data, result FROM work WHERE kind = ? ORDER BY number", kind
        )
        return [
            Work(kind, key, at, json.loads(data), json.loads(result) if result else None)
            for key, at, data, result in rows
        ]

    def waiting(self, kind: str = "") -> list[int]:
        """Return the times of the items of a kind, or of all, that are not done, oldest first."""
        rows = self._read(
            "SELECT at FROM work WHERE is_done = 0 AND (kind = ? OR ? = '') ORDER BY number",
            *(kind, kind),
        )
        return [at for (at,) in rows]

    def counts(self, kind: str, limits: Sequence[RateLimit], now: int) -> dict[str, int]:
        """Return how many attempts count at present, by the name of the limit."""
        counted = {}
        for limit in limits:
            rows = self._read(
                "SELECT count FROM rates WHERE kind = ? AND name = ? AND period = ?",
                *(kind, limit.name, limit.period(now)),
            )
            counted[limit.name] = rows[0][0] if rows else 0
        return counted

    def add_count(self, kind: str, limit: RateLimit, now: int, more: int = 1) -> None:
        """Count `more` in the present period of a limit."""
        with self.transaction():
            key = kind, limit.name, limit.period(now)
            self._write(
                "INSERT INTO rates (kind, name, period, count) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (kind, name, period) DO UPDATE SET count = rates.count + ?",
                *(*key, more, more),
            )
            self._write(
                "DELETE FROM rates WHERE kind = ? AND name = ? AND period <= ?",
                *(kind, limit.name, limit.period(now) - _MAX_PERIODS),
            )

    def wake(self) -> None:
        """Let no item wait for a time any more."""
        self._write("UPDATE work SET not_before = 0 WHERE is_done = 0 AND not_before > 0")

    # The audit, and facts

    def log(self, *events: AuditEvent) -> None:
        """Append events to the audit; the oldest are forgotten beyond a limit."""
        with self.transaction():
            for event in events:
                texts = (storable_text(text, _MAX_TEXT_CHARS) for text in event[1:])
                self._write(
                    f"INSERT INTO events ({', '.join(event._fields)}) VALUES (?, ?, ?, ?, ?, ?)",
                    *(event.at, *texts),
                )
            self._forget_old("events", MAX_EVENTS)

    def events(self, evolver: str = "", last: int = 100) -> list[AuditEvent]:
        """Return the last events, of one evolver or of all, oldest first."""
        rows = self._read(
            f"SELECT {', '.join(AuditEvent._fields)} FROM events"
            f" WHERE evolver = ? OR ? = '' ORDER BY number DESC LIMIT {max(last, 0):d}",
            *(evolver, evolver),
        )
        return [AuditEvent(*row) for row in rows[::-1]]

    def fact(self, name: str) -> dict[str, Any]:
        """Return a small document by name, empty without one."""
        rows = self._read("SELECT value FROM facts WHERE name = ?", name)
        found: dict[str, Any] = json.loads(rows[0][0]) if rows else {}
        return found

    def facts(self, prefix: str) -> dict[str, dict[str, Any]]:
        """Return the documents whose names begin with a prefix, by the rest of their names."""
        rows = self._read(
            f"SELECT name, value FROM facts WHERE substr(name, 1, {len(prefix):d}) = ?", prefix
        )
        return {name[len(prefix) :]: json.loads(value) for name, value in rows}

    def change(
        self, name: str, change: Callable[[dict[str, Any]], dict[str, Any] | None]
    ) -> dict[str, Any]:
        """Replace a document by what `change` makes of it; None leaves it, {} forgets it."""
        with self.transaction():
            old = self.fact(name)
            new = change(old)
            if new is None or new == old:
                return old
            self._write("DELETE FROM facts WHERE name = ?", name)
            if new:
                self._write("INSERT INTO facts VALUES (?, ?)", name, json.dumps(new))
            return new

    def _forget_old(self, table: str, most: int) -> None:
        self._write(
            f"DELETE FROM {table} WHERE number <= (SELECT max(number) FROM {table}) - {most:d}"
        )


class Item:
    """An item that this process works on. `starts` counts the processes that began it, with this.

    What is kept of it is kept until it is done, also if this process is killed. Methods that write
    raise `Conflict` (`work_lost`) if the item is gone, as when somebody deleted the store.
    """

    def __init__(self, store: Store, number: int, work: Work, starts: int) -> None:
        self.store = store
        self.kind, self.key, self.at, self.data, _ = work
        self.starts = starts
        self._number = number

    def find(self, name: str) -> bytes | None:
        """Return what was kept of a step, None if nothing was."""
        rows = self.store._read(
            "SELECT value FROM steps WHERE work = ? AND name = ?", self._number, name
        )
        return bytes(rows[0][0]) if rows else None

    def keep(self, name: str, value: bytes = b"") -> None:
        """Keep a step, instead of what was kept of it before."""
        with self.store.transaction():
            self.confirm()
            self.store._write(
                "INSERT INTO steps VALUES (?, ?, ?)"
                " ON CONFLICT (work, name) DO UPDATE SET value = excluded.value",
                *(self._number, name, value),
            )

    def once(self, name: str, make: Callable[[], bytes]) -> bytes:
        """Return what was kept of a step; without it, make it and keep it first."""
        value = self.find(name)
        if value is None:
            value = make()
            self.keep(name, value)
        return value

    def forget(self, prefix: str) -> None:
        """Forget the steps whose names begin with a prefix."""
        which = f"work = ? AND substr(name, 1, {len(prefix):d}) = ?"
        self.store._write(f"DELETE FROM steps WHERE {which}", self._number, prefix)

    def count(self, limits: Sequence[RateLimit], now: int) -> RateLimit | None:
        """Count the item once under all limits, or under none: then return the one reached."""
        with self.store.transaction():
            if self.find("counted") is not None:
                return None
            counted = self.store.counts(self.kind, limits, now)
            for limit in limits:
                if counted[limit.name] >= limit.most:
                    return limit
            for limit in limits:
                self.store.add_count(self.kind, limit, now)
            self.keep("counted")
            return None

    def wait(self, now: int = 0, until: int = 0) -> None:
        """Leave the item for later, by default for the next process; this start does not count."""
        self._update("starts = starts - 1, waits_since = ?, not_before = ?", now, until)

    def finish(
        self, result: Mapping[str, Any], *events: AuditEvent, keep_data: bool = False
    ) -> None:
        """End the item, with its events in the audit, in one transaction."""
        with self.store.transaction():
            data = "" if keep_data else ", data = '{}'"
            self._update(f"is_done = 1, result = ?{data}", json.dumps(result))
            self.forget("")
            self.store.log(*events)

    def confirm(self) -> None:
        """Check that the item is still that of this process, before something follows from it."""
        key = self._number, self.kind, self.key
        if not self.store._read(
            "SELECT 1 FROM work WHERE number = ? AND kind = ? AND key = ? AND is_done = 0", *key
        ):
            raise Conflict(
                f"{printable_text(self.kind, 40)} {printable_text(self.key, 80)} is gone from the"
                " store of experience",
                code="work_lost",
                hint="somebody deleted the store, or another process ended the item",
            )

    def _update(self, changes: str, *args: object) -> None:
        with self.store.transaction():
            self.confirm()
            self.store._write(f"UPDATE work SET {changes} WHERE number = ?", *args, self._number)


def storable_text(text: str, most: int = 512) -> str:
    """Return a text as every database takes it, cut to a length."""
    return text.replace("\0", "")[:most].encode("utf-8", "replace").decode()


def open_store(
    folder: str | os.PathLike[str], brain: str, settings: ExperienceSettings | None
) -> Store:
    """Return the store of a brain: in `folder`, its `.brain`, or where the user's settings say.

    `brain` is its id in hex. The environment overrides the settings (BRAIN_EXPERIENCE_URL). Raises
    `InvalidInput` (`bad_experience_url`), `StoreError` (`not_installed`).
    """
    from .settings import ExperienceSettings, override_from_environment

    url = override_from_environment(settings or ExperienceSettings()).url
    if not url:
        return Store(folder)
    try:
        from .postgres import PostgresDatabase
    except ImportError as error:
        raise StoreError(
            f"this store of experience needs a package that is not installed: {error.name}",
            code="not_installed",
            hint="pip install 'agent-brain[experience]'",
        ) from error
    return Store(folder, PostgresDatabase(url, brain, TABLES))
