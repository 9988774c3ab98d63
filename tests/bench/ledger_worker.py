"""Work of the embedded ledger, timed in the process that does it.

`python -m tests.bench.ledger_worker WORK FOLDER BRAINS REPEAT` prints a JSON list of
milliseconds; WORK is a key of `WORKS`.
"""

import json
import random
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from brain.chain.ledger_protocol import NO_PARENT, CommitRequest
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from brain.chain.tlog.note import verify_inclusion

COUNT = 200
"""Commitments, or pieces of evidence, of one run."""
HUNDRED = 100


def batches(log: EmbeddedLedger, brains: int, _: int) -> list[float]:
    """Time the opening of all brains at once."""
    wishes = [CommitRequest(_id(number), _id(number, 0), NO_PARENT) for number in range(brains)]
    return [_timed(lambda: log.commit_many(wishes))]


def commits(log: EmbeddedLedger, brains: int, repeat: int) -> list[float]:
    """Time single commitments to brains drawn by lot."""
    return [_timed(lambda wish=wish: log.commit(*wish)) for wish in _wishes(log, brains, repeat)]


def hundreds(log: EmbeddedLedger, brains: int, repeat: int) -> list[float]:
    """Time commitments that go by the hundred, and return the share of each hundred's one."""
    wishes = _wishes(log, brains, repeat)
    return [
        _timed(lambda some=wishes[start : start + HUNDRED]: log.commit_many(some)) / HUNDRED
        for start in range(0, len(wishes) - HUNDRED + 1, HUNDRED)
    ]


def evidence(log: EmbeddedLedger, brains: int, repeat: int) -> list[float]:
    """Time the making of evidence for brains drawn by lot."""
    drawn = _drawn(brains, repeat)
    log.evidence(_id(0), _id(0, 0))  # loads what signatures need
    return [_timed(lambda n=n: log.evidence(_id(n), _id(n, 0))) for n in drawn]


def checks(log: EmbeddedLedger, brains: int, repeat: int) -> list[float]:
    """Time the check of that evidence."""
    times = []
    for number in _drawn(brains, repeat):
        told = log.evidence(_id(number), _id(number, 0))["log"]
        path = [bytes.fromhex(hash) for hash in told["path"]]
        data = bytes.fromhex(told["entry"])
        given = told["checkpoint"], told["key"], told["index"], data, path
        times.append(_timed(lambda given=given: verify_inclusion(*given)))
    return times


def _wishes(log: EmbeddedLedger, brains: int, repeat: int) -> list[CommitRequest]:
    wishes = []
    for number in _drawn(brains, repeat):
        head = log.head(_id(number))
        assert head is not None
        wishes.append(CommitRequest(_id(number), _id(number, head.seq, repeat), head.snapshot))
    return wishes


def _drawn(brains: int, repeat: int) -> list[int]:
    return random.Random(repeat).sample(range(brains), min(COUNT, brains))


def _id(*of: int) -> bytes:
    return sha256(repr(of).encode()).digest()


def _timed(ask: Callable[[], object]) -> float:
    start = time.perf_counter()
    assert ask()
    return (time.perf_counter() - start) * 1000


WORKS = {
    "batch": batches,
    "commit": commits,
    "hundred": hundreds,
    "evidence": evidence,
    "check": checks,
}


if __name__ == "__main__":
    with EmbeddedLedger(Path(sys.argv[2])) as opened:
        print(json.dumps(WORKS[sys.argv[1]](opened, *map(int, sys.argv[3:]))))
