"""The rows of the benchmark: each puts the contestants to one kind of work.

A row takes an arena and returns the series of every contestant. The rows run in the order
of `ROWS`; each leaves the folders in a state that the next can go on from.
"""

import json
import random
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.bench.appends import append
from tests.bench.arena import Arena
from tests.bench.brain_worker import CHANGES
from tests.bench.contestants import COMMAND, BrainCli, Git, allocated
from tests.bench.generate import body, words
from tests.bench.ledgers import ROWS as LEDGER_ROWS
from tests.bench.merges import ROWS as LINEAGE_ROWS
from tests.bench.serving import ROWS as SERVING_ROWS
from tests.bench.timing import Failed, Runner, Sample, Series, Turn, interleave
from tests.bench.verifying import ROWS as VERIFY_ROWS

Outcome = dict[str, Series]

IN_PROCESS = 200
"""Upserts of one run of a worker."""
SELECTED = 100
"""Selections of one run of a worker."""
ATTEMPTS = 20
"""Attempts of one run of a worker."""
LOGGED = 1000
"""Snapshots that the log prints."""
START_UP = "start-up"
"""This needs no generated brain, nor do `check-evidence` and `session-step`."""
FIRST = "first-snapshot"
SLOW = (FIRST, "restore")
"""Rows that write every file; large brains repeat them less often."""


def start_up(runner: Runner, repeats: int) -> Outcome:
    """`brain --version` against an interpreter that does nothing, and git; needs no brain."""
    commands = {
        "brain": [str(COMMAND), "--version"],
        "python": [sys.executable, "-c", "pass"],
        "git": ["git", "--version"],
    }

    def turn(command: list[str], _: int) -> Sample:
        return runner.timed(command)

    return interleave(repeats, {name: partial(turn, line) for name, line in commands.items()})


def first_snapshot(arena: Arena) -> Outcome:
    """Everything recorded for the first time; b3sum, reading and hashing only, is the limit."""
    files = arena.work / "files.txt"
    names = sorted(str(file) for file in arena.brain.folder.rglob("*") if file.is_file())
    files.write_text("\0".join(names))
    hashing = ["xargs", "-0", "-a", str(files), "b3sum", "--num-threads", "1"]
    return interleave(
        arena.slow_repeats,
        {
            "brain": lambda _: arena.brain.first(),
            "git": lambda _: arena.git.first(),
            "git tuned": lambda _: arena.tuned.first(),
            "b3sum": lambda _: arena.runner.timed(hashing),
        },
    )


def store(arena: Arena) -> Outcome:
    """The bytes stored after the first snapshot."""

    def loose(_: int) -> Sample:
        return Sample(stored=allocated(arena.first_state(".git")))

    return interleave(
        1,
        {
            "brain": lambda _: Sample(stored=arena.stored_brain.stored()),
            "git": loose,
            "git after gc": lambda _: Sample(stored=arena.packed_git.stored()),
        },
    )


def status(arena: Arena) -> Outcome:
    """Status of a folder in which nothing changed; a first run of each is not counted."""
    turns: dict[str, Turn] = {
        "brain": lambda _: arena.brain.run("status"),
        "git": lambda _: arena.git.run("status"),
        "git tuned": lambda _: arena.tuned.run("status"),
    }
    interleave(2, turns)
    return interleave(arena.quick_repeats, turns)


def upsert(arena: Arena) -> Outcome:
    """A new body for one existing skill, by command; git is told the path, or finds it."""
    rng = random.Random("upsert")

    def by_brain(_: int) -> Sample:
        text = arena.work / "body.md"
        text.write_text(body(rng))
        slug = arena.corpus.slug(rng.randrange(arena.corpus.skills))
        return arena.brain.run("skill", "upsert", slug, "-f", text)

    def by_git(git: Git, everything: bool, _: int) -> Sample:
        path = arena.corpus.path(rng.randrange(arena.corpus.skills))
        (git.folder / path).write_text(body(rng))
        return git.commit("--all" if everything else path)

    return interleave(
        arena.quick_repeats,
        {
            "brain": by_brain,
            "git": partial(by_git, arena.git, False),
            "git tuned": partial(by_git, arena.tuned, False),
            "git add --all": partial(by_git, arena.git, True),
        },
    )


def upsert_in_process(arena: Arena) -> Outcome:
    """The same through the libraries; pygit2 writes no file and does not sync."""
    return interleave(arena.repeats, _upserting(arena, IN_PROCESS))


def _upserting(arena: Arena, count: int) -> dict[str, Turn]:
    shape = (arena.corpus.layout, arena.corpus.skills, count)

    def by_brain(repeat: int) -> list[Sample]:
        folder = arena.brain.folder
        return _samples(arena.runner.module("brain_worker", "upsert", folder, *shape, repeat))

    def by_pygit2(repeat: int) -> list[Sample]:
        git = arena.work / "pygit2"
        if not git.exists():
            arena.copy(arena.packed_git.control, git.name)
        return _samples(arena.runner.module("pygit2_worker", git, *shape, repeat))

    return {"brain": by_brain, "pygit2": by_pygit2}


def _samples(milliseconds: str) -> list[Sample]:
    return [Sample(wall=value / 1000) for value in json.loads(milliseconds)]


def log(arena: Arena) -> Outcome:
    """The log of 1,000 snapshots, made in-process beforehand."""
    made = interleave(1, _upserting(arena, LOGGED))
    git = Git.default(arena.runner, arena.work / "pygit2")
    return interleave(
        arena.quick_repeats,
        {
            "brain": _after(made["brain"], lambda _: arena.brain.run("log", "-n", str(LOGGED))),
            "git": _after(made["pygit2"], lambda _: git.run("log", f"-n{LOGGED}")),
        },
    )


def _after(prepared: Series, turn: Turn) -> Turn:
    """Return the turn, or one that fails as its preparation did."""

    def failing(_: int) -> Sample:
        raise Failed(prepared.failure)

    return failing if prepared.failure else turn


def diff(arena: Arena) -> Outcome:
    """The diff of two snapshots with 10 changed skills between them."""
    numbers = random.Random("diff").sample(range(arena.corpus.skills), CHANGES)
    for contestant in (arena.brain, arena.git):
        for number in numbers:
            with (contestant.folder / arena.corpus.path(number)).open("a") as file:
                file.write("\nChanged by hand.\n")
    recorded = interleave(
        1,
        {
            "brain": lambda _: arena.brain.run("snapshot", "-m", "ten changes"),
            "git": lambda _: arena.git.commit("--all"),
        },
    )
    compared = ("diff", "--name-status", "HEAD~1", "HEAD")
    commands: dict[str, Turn] = {
        "brain": _after(recorded["brain"], lambda _: arena.brain.run("diff", "@~1", "@")),
        "git": _after(recorded["git"], lambda _: arena.git.run(*compared)),
    }
    # These write snapshots of their own, so they come when the commands are done.
    in_process: dict[str, Turn] = {
        "brain in-process": partial(_diffing, arena, "diff"),
        "brain in-process, just opened": partial(_diffing, arena, "first-diff"),
    }
    timed = interleave(arena.quick_repeats, commands)
    return timed | interleave(arena.repeats, in_process)


def _diffing(arena: Arena, work: str, repeat: int) -> list[Sample]:
    folder, corpus = arena.brain.folder, arena.corpus
    arguments = (folder, corpus.layout, corpus.skills, 20, repeat)
    return _samples(arena.runner.module("brain_worker", work, *arguments))


def restore(arena: Arena) -> Outcome:
    """All files into a folder that has none, from the state of the first snapshot."""

    brain = BrainCli(arena.runner, arena.work / "restored-brain")
    git = Git.default(arena.runner, arena.work / "restored-git")

    def by_brain(_: int) -> Sample:
        shutil.rmtree(brain.folder, ignore_errors=True)
        arena.copy(arena.stored_brain.control, "restored-brain/.brain")
        return brain.run("restore", "@")

    def by_git(_: int) -> Sample:
        shutil.rmtree(git.folder, ignore_errors=True)
        arena.copy(arena.packed_git.control, "restored-git/.git")
        (git.control / "index").unlink(missing_ok=True)
        return git.run("checkout", "--quiet", "--force", "main")

    outcome = interleave(arena.slow_repeats, {"brain": by_brain, "git after gc": by_git})
    same = interleave(1, {"brain": partial(_compare, arena, brain.folder)})
    return outcome if outcome["brain"].failure or not same["brain"].failure else outcome | same


def _compare(arena: Arena, restored: Path, _: int) -> Sample:
    """Fail unless every restored byte is that of the generated brain."""
    own = ("--exclude=.brain", "--exclude=manifest.yaml")
    arena.runner.output("diff", "--recursive", "--brief", *own, arena.source, restored)
    return Sample()


def index(arena: Arena) -> Outcome:
    """The Level-0 index of all skills."""
    return interleave(arena.quick_repeats, {"brain": lambda _: arena.brain.run("index")})


def select_bm25(arena: Arena) -> Outcome:
    """The skills for a task by BM25: by command, and in a brain that is open."""
    shape = (arena.corpus.layout, arena.corpus.skills, SELECTED)
    rng = random.Random("select")

    def by_command(_: int) -> Sample:
        return arena.brain.run("index", "--task", words(rng, 20), "--by", "bm25")

    def in_process(repeat: int) -> list[Sample]:
        folder = arena.brain.folder
        return _samples(arena.runner.module("brain_worker", "select", folder, *shape, repeat))

    interleave(1, {"brain": by_command})  # makes the index of words, which is kept
    return interleave(arena.quick_repeats, {"brain": by_command, "brain in-process": in_process})


def gate_attempt(arena: Arena) -> Outcome:
    """A change tried on 12 held-out cases and recorded, by a learner that takes no time."""
    shape = (arena.corpus.layout, arena.corpus.skills, ATTEMPTS)

    def in_process(repeat: int) -> list[Sample]:
        folder = arena.brain.folder
        return _samples(arena.runner.module("brain_worker", "attempt", folder, *shape, repeat))

    return interleave(arena.quick_repeats, {"brain": in_process})


ROWS: dict[str, Callable[[Arena], Outcome]] = {
    FIRST: first_snapshot,
    "store": store,
    "status": status,
    "upsert": upsert,
    "upsert-in-process": upsert_in_process,
    "diff": diff,
    "append": append,
    "index": index,
    "select-bm25": select_bm25,
    "log": log,
    "gate-attempt": gate_attempt,
    **VERIFY_ROWS,
    **LINEAGE_ROWS,
    **LEDGER_ROWS,
    **SERVING_ROWS,
    "restore": restore,
}
