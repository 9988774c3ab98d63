"""A brain with a long lineage, each of whose snapshots upserts one of a few skills.

`python -m tests.bench.lineage KIND FOLDER SNAPSHOTS` makes it, a thousand snapshots in one
transaction and without the files, since what is measured is what reads them. KIND is
`plain`, or `signed`: a trust file then comes first, and its one key signs each snapshot.
"""

import sys
from pathlib import Path

from brain import Brain
from brain.objects import operation
from brain.objects.tree_node import FILE, TreeEntry
from brain.repo.transaction import WriteTransaction, locked_write_transaction
from brain.trust import ed25519
from brain.trust.ed25519 import format_key
from tests.bench.arena import Arena

SKILLS = 100
TOGETHER = 1000
SEED = bytes(range(32))
"""The private key that signs."""


def long_lineage(arena: Arena, kind: str = "plain") -> Path:
    """Return the brain of as many snapshots as there are skills, made once."""
    folder = arena.work / f"lineage-{kind}"
    if not folder.exists():
        arena.runner.module("lineage", kind, folder, arena.corpus.skills)
    return folder


def plain(folder: Path, snapshots: int) -> None:
    """Make a brain of that many snapshots, the genesis included, in a new folder."""
    folder.mkdir(parents=True)
    with Brain.init(folder, author="bench") as brain:
        _grow(brain, snapshots - 1)


def signed(folder: Path, snapshots: int) -> None:
    """Make such a brain whose snapshots are signed, the one of the trust file included."""
    folder.mkdir(parents=True)
    with Brain.init(folder, author="bench", sign_with=lambda: SEED) as brain:
        brain.trust.add(format_key(ed25519.public_key(SEED)), "bench")
        _grow(brain, snapshots - 2)


KINDS = {"plain": plain, "signed": signed}


def _grow(brain: Brain, snapshots: int) -> None:
    for start in range(0, snapshots, TOGETHER):
        with locked_write_transaction(brain._session, "upsert", "many upserts") as mine:
            for number in range(start, min(start + TOGETHER, snapshots)):
                _upsert(mine, number)


def _upsert(mine: WriteTransaction, number: int) -> None:
    slug, version = f"skill-{number % SKILLS:02d}", number // SKILLS + 1
    text = f"---\nname: {slug}\ndescription: d\nversion: {version}\n---\n{number}\n".encode()
    path = f"skills/{slug}/SKILL.md"
    entry = TreeEntry(path, FILE, mine.store_tx.put_blob(text), len(text))
    before = str(version - 1) if version > 1 else ""
    mine.record_snapshot({path: entry}, operation.upsert_operation(slug, before, str(version)))


if __name__ == "__main__":
    KINDS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
