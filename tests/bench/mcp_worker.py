"""Writing skills as an agent does: the SDK of the protocol, a server on pipes, the client's clock.

`python -m tests.bench.mcp_worker WORK COMMAND FOLDER LAYOUT SKILLS COUNT SEED` prints a
JSON list of milliseconds; WORK is "write" (each write of a skill) or "start" (from nothing
to the first list of tools).
"""

import asyncio
import json
import random
import sys
import time

from mcp import Client, StdioServerParameters

from tests.bench.generate import Corpus, body


def _milliseconds(start: float) -> float:
    return (time.perf_counter() - start) * 1000


async def write(
    server: StdioServerParameters, corpus: Corpus, count: int, seed: str
) -> list[float]:
    """Time writes of random skills, each durable when its answer is there."""
    rng = random.Random(seed)
    times = []
    async with Client(server) as client:
        for _ in range(count):
            given = {
                "action": "edit",
                "name": corpus.slug(rng.randrange(corpus.skills)),
                "content": body(rng),
            }
            start = time.perf_counter()
            result = await client.call_tool("skill_manage", given)
            times.append(_milliseconds(start))
            assert not result.is_error, result
    return times


async def start(server: StdioServerParameters, _: Corpus, count: int, __: str) -> list[float]:
    """Time sessions until the client knows the tools."""
    times = []
    for _ in range(count):
        begun = time.perf_counter()
        async with Client(server) as client:
            await client.list_tools()
            times.append(_milliseconds(begun))
    return times


WORKS = {"write": write, "start": start}


def main(
    work: str, command: str, folder: str, layout: str, skills: str, count: str, seed: str
) -> None:
    """Do the work and print its times."""
    server = StdioServerParameters(command=command, args=["-C", folder, "mcp"])
    corpus = Corpus(layout, int(skills), 0)
    print(json.dumps(asyncio.run(WORKS[work](server, corpus, int(count), seed))))


if __name__ == "__main__":
    main(*sys.argv[1:])
