"""A brain with a long lineage, each of whose snapshots upserts one of a few skills.

`python -m tests.bench.lineage FOLDER SNAPSHOTS` makes it, a thousand snapshots in one
transaction and without the files, since what is measured is what reads them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from brain import Brain
from brain.actions.turn import Turn, turn
from brain.objects import operation
from brain.objects.entry import FILE, Entry

from .arena import Arena
from .contestants import BrainCli
from .timing import Sample, Series, interleave

SKILLS = 100
TOGETHER = 1000


def verify_lineage(arena: Arena) -> dict[str, Series]:
    """As many snapshots as there are skills, verified from the last one back to the first."""

    def by_brain(_: int) -> Sample:
        return BrainCli(arena.runner, long_lineage(arena)).run("verify")

    return interleave(arena.repeats, {"brain": by_brain})


def long_lineage(arena: Arena) -> Path:
    """Return the brain of as many snapshots as there are skills, made once."""
    folder = arena.work / "lineage"
    if not folder.exists():
        arena.runner.module("lineage", folder, arena.corpus.skills)
    return folder


def make(folder: Path, snapshots: int) -> None:
    """Make a brain of that many snapshots, the genesis included, in a new folder."""
    folder.mkdir(parents=True)
    with Brain.init(folder, author="bench") as brain:
        for start in range(0, snapshots - 1, TOGETHER):
            with turn(brain._session, "upsert", "many upserts") as mine:
                for number in range(start, min(start + TOGETHER, snapshots - 1)):
                    _upsert(mine, number)


def _upsert(mine: Turn, number: int) -> None:
    slug, version = f"skill-{number % SKILLS:02d}", number // SKILLS + 1
    text = f"---\nname: {slug}\ndescription: d\nversion: {version}\n---\n{number}\n".encode()
    path = f"skills/{slug}/SKILL.md"
    entry = Entry(path, FILE, mine.tx.put_blob(text), len(text))
    before = str(version - 1) if version > 1 else ""
    mine.commit({path: entry}, operation.upsert(slug, before, str(version)))


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]))
