"""Upserts and diffs through the library, timed in the process that does them.

`python -m tests.bench.brain_worker upsert|diff FOLDER LAYOUT SKILLS COUNT SEED` prints a
JSON list of milliseconds.
"""

from __future__ import annotations

import json
import random
import sys
import time

from brain import Brain

from .generate import Corpus, body


def upserts(folder: str, corpus: Corpus, count: int, rng: random.Random) -> list[float]:
    """Time upserts of random skills, each durable when the call returns."""
    times = []
    with Brain.open(folder, author="bench") as brain:
        for _ in range(count):
            slug, text = corpus.slug(rng.randrange(corpus.skills)), body(rng)
            start = time.perf_counter()
            brain.upsert_skill(slug, text)
            times.append((time.perf_counter() - start) * 1000)
    return times


def diffs(folder: str, corpus: Corpus, count: int, rng: random.Random) -> list[float]:
    """Time the diff of the last two snapshots, each on a brain just opened."""
    times = []
    for _ in range(count):
        with Brain.open(folder, author="bench") as brain:
            start = time.perf_counter()
            brain.diff("@~1", "@")
            times.append((time.perf_counter() - start) * 1000)
    return times


def main(work: str, folder: str, layout: str, skills: str, count: str, seed: str) -> None:
    """Do the work and print its times."""
    done = {"upsert": upserts, "diff": diffs}[work]
    corpus = Corpus(layout, int(skills), 0)
    print(json.dumps(done(folder, corpus, int(count), random.Random(seed))))


if __name__ == "__main__":
    main(*sys.argv[1:])
