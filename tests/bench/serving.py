"""Rows of the server that agents talk to."""

import json
from collections.abc import Callable
from functools import partial

from tests.bench.arena import Arena
from tests.bench.contestants import COMMAND
from tests.bench.timing import Sample, Series, interleave

WRITES = 100
"""Skills that one run writes."""
STARTS = 3


def skill_manage(arena: Arena) -> dict[str, Series]:
    """A skill written over the protocol, from the call in the client to its answer."""
    return interleave(arena.repeats, {"brain": partial(_asked, arena, "write", WRITES)})


def start(arena: Arena) -> dict[str, Series]:
    """From starting the server to the list of its tools in the client."""
    return interleave(arena.repeats, {"brain": partial(_asked, arena, "start", STARTS)})


def _asked(arena: Arena, work: str, count: int, repeat: int) -> list[Sample]:
    shape = (arena.corpus.layout, arena.corpus.skills, count, repeat)
    said = arena.runner.module("mcp_worker", work, COMMAND, arena.brain.folder, *shape)
    return [Sample(wall=value / 1000) for value in json.loads(said)]


ROWS: dict[str, Callable[[Arena], dict[str, Series]]] = {
    "mcp-skill-manage": skill_manage,
    "mcp-start-up": start,
}
