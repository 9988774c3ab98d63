"""Merges, and questions to a lineage, through the library, timed in the process that asks.

`python -m tests.bench.lineage_worker WORK FOLDER COUNT` prints a JSON list of
milliseconds; WORK is a key of `WORKS`.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from brain import Brain
from brain.objects import lineage
from brain.proofs.check import verify_proof_bytes
from brain.repo import lineage_cache

SIDE = 50
"""Skills changed on either side of a merge."""
VERSIONS = 200
"""Versions, and lines, of the skill that is blamed."""


def merges(folder: str, count: int) -> list[float]:
    """Time merges of two branches that changed skills of their own, files and all."""
    times = []
    with Brain.open(folder, author="bench") as brain:
        names = [skill.slug for skill in brain.skills.list()][: 2 * SIDE]
        for number in range(count):
            side = f"side-{number}"
            brain.branches.create(side)
            _change(brain, names[:SIDE], f"ours {number}\n")
            brain.branches.switch(side)
            _change(brain, names[SIDE:], f"theirs {number}\n")
            brain.branches.switch("main")
            times.append(_timed(lambda side=side: brain.merge.start(side).changed))
    return times


def _change(brain: Brain, names: list[str], text: str) -> None:
    for name in names:
        brain.skills.upsert(name, text)


def bases(folder: str, count: int) -> list[float]:
    """Time the merge base of the head and a branch that left it half way."""
    with Brain.open(folder) as brain:
        has_side = len(brain.branches.list().branches) > 1
        if not has_side:
            brain.branches.create("side", f"@~{sum(1 for _ in brain.history.log()) // 2}")
            brain.branches.switch("side")
            brain.skills.upsert("Aside", "x\n", description="d")
            brain.branches.switch("main")
    return [_opened(folder, _base) for _ in range(count)]


def _base(brain: Brain) -> object:
    session = brain._session
    head, side = (session.reader.read_ref(f"heads/{name}") or b"" for name in ("main", "side"))
    return lineage.find_merge_bases(
        session.load_snapshot, lineage_cache.list_merges(session), head, side
    )


def logs(folder: str, count: int) -> list[float]:
    """Time the log of the whole lineage."""
    return [_opened(folder, lambda brain: list(brain.history.log())) for _ in range(count)]


def blames(folder: str, count: int) -> list[float]:
    """Time who wrote each line of a skill that changed a line at a time; made if need be."""
    if not Path(folder).exists():
        lines = [f"Line {number}.\n\n" for number in range(VERSIONS)]
        with Brain.init(folder, author="bench") as brain:
            for number in range(VERSIONS):
                lines[number] = f"Line {number}, changed.\n\n"
                brain.skills.upsert("Blamed", "".join(lines), description="d")
    return [_opened(folder, lambda brain: brain.history.blame("blamed")) for _ in range(count)]


def proofs(folder: str, count: int) -> list[float]:
    """Time the proof of a file, in one open brain."""
    with Brain.open(folder) as brain:
        path = _some(brain)
        return [_timed(lambda: brain.proofs.prove_file(path)) for _ in range(count)]


def checks(folder: str, count: int) -> list[float]:
    """Time the check of that proof."""
    with Brain.open(folder) as brain:
        proof = brain.proofs.prove_file(_some(brain))
    return [_timed(lambda: verify_proof_bytes(proof)) for _ in range(count)]


def _some(brain: Brain) -> str:
    found = brain.skills.list()
    return found[len(found) // 2].path


def _opened(folder: str, ask: Callable[[Brain], object]) -> float:
    with Brain.open(folder) as brain:
        return _timed(lambda: ask(brain))


def _timed(ask: Callable[[], object]) -> float:
    start = time.perf_counter()
    assert ask()
    return (time.perf_counter() - start) * 1000


WORKS = {
    "merge": merges,
    "merge-base": bases,
    "log": logs,
    "blame": blames,
    "prove": proofs,
    "check": checks,
}


if __name__ == "__main__":
    print(json.dumps(WORKS[sys.argv[1]](sys.argv[2], int(sys.argv[3]))))
