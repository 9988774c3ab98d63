"""A brain of two snapshots, which tests of evidence commit."""

from __future__ import annotations

from brain.objects.snapshot import Snapshot
from brain.proofs.build import descent_proof, path_proof
from brain.proofs.document import render
from tests.proving import FEW, recorded

FIRST = recorded()
LAST = recorded([*FEW, "skills/d/SKILL.md"], brain=FIRST.id)
PATH = "skills/d/SKILL.md"
OLD_PATH = "skills/b.md"
CONTENT = PATH.encode()
"""What is at `PATH`."""


def _load(id: bytes) -> Snapshot:
    return {FIRST.id: FIRST.snapshot, LAST.id: LAST.snapshot}[id]


def path_text(path: str = PATH) -> bytes:
    """Return a proof of a path in the snapshot that has it."""
    return render(path_proof(*(FIRST if path == OLD_PATH else LAST), path))


def descent_text() -> bytes:
    """Return a proof that the last snapshot descends from the first."""
    return render(descent_proof(_load, FIRST.id, LAST.id))
