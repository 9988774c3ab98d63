"""Steps that write every table of `evolution.db`: `python -m tests.support.experience_steps DIR`.

Prints the number of each step that is done; an error ends it with status 3 and the error's code.
"""

import os
import sys
from collections.abc import Callable

from brain.errors import BrainError
from brain.experience.store import AuditEvent, Item, RateLimit, SkillSequence, Store

LIMIT = RateLimit("daily", 86_400, 50)
EVENT = AuditEvent(1, "gaps", "x", "x", "x", "failed")
_NOW = 1000


def _start(store: Store) -> Item:
    item = store.next("gaps", _NOW)
    assert item is not None
    return item


def _record(store: Store) -> None:
    store.record([SkillSequence("c", _NOW, ("a", "b"))] * 130)


STEPS: tuple[Callable[[Store], object], ...] = (
    lambda store: store.add_count("key", LIMIT, _NOW),
    _record,
    lambda store: store.add("gaps", "a gap", 5, {"n": 1}),
    lambda store: store.add("gaps", "another", 5, {"n": 1}),
    lambda store: store.atomically(lambda: _start(store).keep("answer", b"an answer " * 1000)),
    lambda store: store.log(EVENT),
    lambda store: store.change("state", lambda _: {"is": "here"}),
    _record,
    lambda store: store.change("state", lambda _: {"is": "there"}),
    lambda store: store.atomically(lambda: _start(store).count([LIMIT], _NOW)),
    lambda store: store.atomically(lambda: _start(store).finish({"done": True}, EVENT)),
)


def take_steps(store: Store, count: int) -> None:
    """Take the first steps."""
    for step in STEPS[:count]:
        step(store)


def read_state(store: Store) -> object:
    """Return all that a store holds."""
    tables = ("sequences", "work", "steps", "events", "rates", "facts")
    return [store._read(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]


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
