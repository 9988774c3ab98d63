"""Steps that write every table of `evolution.db`: `python -m tests.support.experience_steps DIR`.

Prints the number of each step that is done; an error ends it with status 3 and the error's code.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

from brain.errors import BrainError
from brain.experience.experience_protocol import (
    AuditEvent,
    ClaimedWork,
    RateLimit,
    SkillSequence,
    WorkItem,
)
from brain.experience.sqlite_experience import SqliteExperience

LIMIT = RateLimit(name="daily", seconds=86_400, most=50)
_NOW = 1000
_ITEM = WorkItem(kind="gaps", key="a gap", at=5, data="{}")
_CLAIM = ClaimedWork(item=_ITEM, attempt=1, until=_NOW + 50)


def _take(store: SqliteExperience) -> None:
    assert store.take("key", [LIMIT], _NOW) == ""


def _record(store: SqliteExperience) -> None:
    store.record_sequences([SkillSequence(chat="c", at=_NOW, skills=("a", "b"))] * 130)


def _append(store: SqliteExperience) -> None:
    texts: dict[str, Any] = dict.fromkeys(("evolver", "name", "trigger_reason", "phase"), "x")
    store.append_event(AuditEvent(at=_NOW, result="failed", **texts))


STEPS: tuple[Callable[[SqliteExperience], object], ...] = (
    _take,
    _record,
    lambda store: store.add_work(_ITEM),
    lambda store: store.claim_work("gaps", _NOW, 50, 3),
    lambda store: store.add_answer(_CLAIM, "an answer " * 1000),
    _take,
    _record,
    _append,
    lambda store: store.write_note("state", None, "here"),
    _record,
    lambda store: store.write_note("state", "here", "there"),
    lambda store: store.renew_work(_CLAIM, _NOW + 10, 50),
    _take,
)


def take_steps(store: SqliteExperience, count: int) -> None:
    """Take the first steps."""
    for step in STEPS[:count]:
        step(store)


def read_state(store: SqliteExperience) -> object:
    """Return all that a store holds."""
    return (
        [(one.number, one.sequence) for one in store.read_sequences()],
        store.list_work(),
        store.read_answers(_CLAIM),
        store.read_events(),
        store.read_note("state"),
        store.read("key", [LIMIT], _NOW),
    )


def main(folder: str) -> int:
    """Take all steps, one after the other."""
    store = SqliteExperience(folder)
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
