"""Steps that write every table of `evolution.db`: `python -m tests.support.experience_steps DIR`.

Prints the number of each step that is done; an error ends it with status 3 and the error's code.
"""

import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from brain.errors import BrainError
from brain.experience.store import AuditEvent, Item, RateLimit, SkillSequence, Store

LIMIT = RateLimit("daily", 86_400, 50)
EVENT = AuditEvent(1, "gaps", "x", "x", "x", "failed")
_NOW = 1000


def _on_next(action: Callable[[Item], object]) -> Callable[[Store], object]:
    def step(store: Store) -> None:
        with store.transaction():
            item = store.next("gaps", _NOW)
            assert item is not None
            action(item)

    return step


def _record(store: Store) -> None:
    store.record([SkillSequence("c", _NOW, ("a", "b"))] * 130)


STEPS: tuple[Callable[[Store], object], ...] = (
    lambda store: store.add_count("key", LIMIT, _NOW),
    _record,
    lambda store: store.add("gaps", "a gap", 5, {"n": 1}),
    lambda store: store.add("gaps", "another", 5, {"n": 1}),
    _on_next(lambda item: item.keep("answer", b"an answer " * 1000)),
    lambda store: store.log(EVENT),
    lambda store: store.change("state", lambda _: {"is": "here"}),
    _record,
    lambda store: store.change("state", lambda _: {"is": "there"}),
    _on_next(lambda item: item.count([LIMIT], _NOW)),
    _on_next(lambda item: item.finish({"done": True}, EVENT)),
)


def take_steps(store: Store, count: int) -> None:
    """Take the first steps."""
    for step in STEPS[:count]:
        step(store)


def read_state(store: Store) -> object:
    """Return all that a store holds."""
    tables = ("sequences", "work", "steps", "events", "rates", "facts")
    return [store._read(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]


_OLD_NUMBERS = "uses successes failures consecutive_failures timed took_total took_max"
_OLD_TABLES = (
    "uses (number INTEGER PRIMARY KEY, path TEXT NOT NULL, version TEXT NOT NULL,"
    f" program BLOB NOT NULL, {_OLD_NUMBERS.replace(' ', ' INTEGER NOT NULL, ')} INTEGER NOT NULL,"
    " histogram BLOB NOT NULL, failed_at INTEGER NOT NULL, failure TEXT NOT NULL,"
    " first_use INTEGER NOT NULL, last_use INTEGER NOT NULL, checksum BLOB NOT NULL,"
    " UNIQUE (path, version, program), UNIQUE (last_use, number))",
    "runs (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE)",
    "inputs (number INTEGER PRIMARY KEY, recent BLOB NOT NULL, checksum BLOB NOT NULL)",
)
_OLD_ROW = "NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, x'', ?, ?, ?, ?, x''"


def write_old_usage(folder: Path, version: int, *rows: tuple[object, ...]) -> None:
    """Write `usage.db` of earlier releases, version 1 or 2: counts by the columns, and a run.

    In version 2 the first of two inputs of the first row failed.
    """
    with closing(sqlite3.connect(folder / "usage.db")) as db:
        for table in _OLD_TABLES[: version + 1]:
            db.execute(f"CREATE TABLE {table} STRICT")
        db.executemany(f"INSERT INTO uses VALUES ({_OLD_ROW})", rows)
        db.execute("INSERT INTO runs (id) VALUES ('a run')")
        if version == 2:
            recent = b"12345678\0" + b"abcdefgh\1"
            db.execute("INSERT INTO inputs VALUES (1, ?, x'')", (recent,))
        db.execute(f"PRAGMA user_version = {version}")
        db.execute(f"PRAGMA application_id = {0x62726E75}")
        db.commit()


def main(folder: str) -> int:
    """Take all steps, one after the other."""
    store = Store(folder)
    for number, step in enumerate(STEPS, 1):
        try:
            step(store)
        except BrainError as error:
            sys.stderr.write(error.code)
            return 3
        os.write(1, f"{number}\n".encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
