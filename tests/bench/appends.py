"""The row of a memory that grows by a little."""

import random
from functools import partial
from pathlib import Path

from tests.bench.arena import Arena
from tests.bench.contestants import BrainCli, Git
from tests.bench.generate import memory_line
from tests.bench.timing import Sample, Series, Turn, interleave

APPENDS = 32
"""Appends over which the growth of brain's store is averaged."""
MEMORY = "memory/memories.jsonl"


def append(arena: Arena) -> dict[str, Series]:
    """1 KB more in the memory file, recorded; told the path, or looking through the folder."""
    rng = random.Random("append")

    def by_brain(arguments: tuple[str, ...], _: int) -> Sample:
        _append(arena.brain.folder, rng)
        return arena.brain.run("snapshot", "-m", "append", *arguments)

    def by_git(git: Git, added: str, _: int) -> Sample:
        _append(git.folder, rng)
        return git.commit(added)

    turns: dict[str, Turn] = {
        "brain": partial(by_brain, (MEMORY,)),
        "git": partial(by_git, arena.git, MEMORY),
        "git tuned": partial(by_git, arena.tuned, MEMORY),
        "brain whole folder": partial(by_brain, ()),
        "git add --all": partial(by_git, arena.git, "--all"),
    }
    timed = interleave(arena.repeats, turns)
    grown = interleave(
        1,
        {
            "brain": partial(_grown, arena.brain, turns["brain"], APPENDS),
            "git": partial(_grown, arena.git, turns["git"], arena.repeats),
            "git tuned": partial(_grown, arena.tuned, turns["git tuned"], arena.repeats),
        },
    )
    stored = {name: _with_stored(timed[name], series) for name, series in grown.items()}
    return timed | stored


def _append(folder: Path, rng: random.Random) -> None:
    with (folder / MEMORY).open("a") as memory:
        memory.write(memory_line(rng, 1024))


def _grown(contestant: BrainCli | Git, turn: Turn, turns: int, _: int) -> Sample:
    """Return what one turn adds to the store: the mean of some, since it grows by pages."""
    before = contestant.stored()
    for number in range(turns):
        turn(number)
    return Sample(stored=(contestant.stored() - before) // turns)


def _with_stored(timed: Series, grown: Series) -> Series:
    if timed.failure or grown.failure:
        return Series([], timed.failure or grown.failure)
    stored = grown.samples[0].stored
    return Series([sample._replace(stored=stored) for sample in timed.samples])
