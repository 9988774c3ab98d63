"""Rows of the embedded ledger, with as many brains as there are skills."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.bench.arena import Arena
from tests.bench.contestants import COMMAND
from tests.bench.timing import Runner, Sample, Series, interleave

CHECK_EVIDENCE = "check-evidence"
EVIDENCE_VECTORS = Path(__file__).parents[1] / "vectors" / "evidence.json"


def batch(arena: Arena) -> dict[str, Series]:
    """All brains opened in a new log, in one transaction."""

    def turn(repeat: int) -> list[Sample]:
        return _asked(arena, "batch", arena.work / f"log-{repeat}", repeat)

    return interleave(arena.repeats, {"brain": turn})


def commit(arena: Arena) -> dict[str, Series]:
    """A commitment to a log of all brains; alone, and as one of a hundred that go together."""
    log = _log(arena)
    turns = {"brain": "commit", "brain by the hundred": "hundred"}
    return interleave(
        arena.repeats, {name: partial(_asked, arena, work, log) for name, work in turns.items()}
    )


def evidence(arena: Arena) -> dict[str, Series]:
    """The evidence of a commitment in a log of all brains, made and checked."""
    log = _log(arena)
    turns = {"brain": "evidence", "brain checks": "check"}
    return interleave(
        arena.repeats, {name: partial(_asked, arena, work, log) for name, work in turns.items()}
    )


def check_evidence(runner: Runner, work: Path, repeats: int) -> dict[str, Series]:
    """`brain verify` of a commitment in a log that is anchored on a chain; needs no brain."""
    vectors = json.loads(EVIDENCE_VECTORS.read_text("utf-8"))
    (anchored,) = [vector["input"] for vector in vectors if vector["name"] == "anchor"]
    file = work / "evidence.json"
    file.write_text(anchored["text"], "utf-8")
    known = [str(file), "--block-hash", anchored["block_hash"]]
    commands = {
        "brain": [str(COMMAND), "verify", *known],
        "python -m brain.chain.check": [sys.executable, "-m", "brain.chain.check", *known],
        "python": [sys.executable, "-c", "pass"],
    }

    def turn(command: list[str], _: int) -> Sample:
        return runner.timed(command)

    return interleave(repeats, {name: partial(turn, line) for name, line in commands.items()})


def _log(arena: Arena) -> Path:
    folder = arena.work / "log"
    if not folder.exists():
        _asked(arena, "batch", folder, 0)
    return folder


def _asked(arena: Arena, work: str, folder: Path, repeat: int) -> list[Sample]:
    said = arena.runner.module("ledger_worker", work, folder, arena.corpus.skills, repeat)
    return [Sample(wall=value / 1000) for value in json.loads(said)]


ROWS: dict[str, Callable[[Arena], dict[str, Series]]] = {
    "ledger-batch": batch,
    "ledger-commit": commit,
    "ledger-evidence": evidence,
}
