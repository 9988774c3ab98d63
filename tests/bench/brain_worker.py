"""Upserts and diffs through the library, timed in the process that does them.

`python -m tests.bench.brain_worker WORK FOLDER LAYOUT SKILLS COUNT SEED` prints a JSON list
of milliseconds; WORK is a key of `WORKS`.
"""

import json
import random
import sys
import time
from functools import partial

from brain import Brain
from brain.gating.case_files import Case
from brain.repo.learning.change import ProposedChange, SkillsAt
from tests.bench.generate import Corpus, body, words
from tests.support.gated_brains import GREETING, ScriptedRunner, add_cases, set_mode

CHANGES = 10
"""Changed skills between two snapshots that are compared."""
GATE_CASES = 12
"""Held-out cases of the skill that attempts change."""


def upserts(folder: str, corpus: Corpus, count: int, rng: random.Random) -> list[float]:
    """Time upserts of random skills, each durable when the call returns."""
    times = []
    with Brain.open(folder, author="bench") as brain:
        for _ in range(count):
            slug, text = corpus.slug(rng.randrange(corpus.skills)), body(rng)
            start = time.perf_counter()
            brain.skills.upsert(slug, text)
            times.append((time.perf_counter() - start) * 1000)
    return times


def diffs(folder: str, corpus: Corpus, count: int, rng: random.Random) -> list[float]:
    """Time diffs in one open brain, each of the upserts that were made before it."""
    times = []
    with Brain.open(folder, author="bench") as brain:
        for _ in range(count):
            for number in rng.sample(range(corpus.skills), CHANGES):
                brain.skills.upsert(corpus.slug(number), body(rng))
            times.append(_diff(brain, 0))
    return times


def first_diffs(folder: str, corpus: Corpus, count: int, rng: random.Random) -> list[float]:
    """Time diffs of what `diffs` left, each in a brain just opened."""
    times = []
    for number in range(count):
        with Brain.open(folder, author="bench") as brain:
            times.append(_diff(brain, number * CHANGES))
    return times


def _diff(brain: Brain, back: int) -> float:
    start = time.perf_counter()
    found = brain.history.diff(f"@~{back + CHANGES}", f"@~{back}")
    took = (time.perf_counter() - start) * 1000
    assert len(found.changes) == CHANGES
    return took


def selections(folder: str, corpus: Corpus, count: int, rng: random.Random) -> list[float]:
    """Time selections by BM25 for tasks of 20 words, in one open brain, but for the first."""
    times = []
    with Brain.open(folder, author="bench") as brain:
        brain.skills.select(words(rng, 20), by="bm25")
        for _ in range(count):
            task = words(rng, 20)
            start = time.perf_counter()
            found = brain.skills.select(task, by="bm25")
            times.append((time.perf_counter() - start) * 1000)
            assert found
    return times


def attempts(folder: str, corpus: Corpus, count: int, rng: random.Random) -> list[float]:
    """Time attempts to change a skill with 12 held-out cases, by a learner in this process.

    Every other change helps and is admitted; the others are kept as attempts.
    """
    times = []
    slug = corpus.slug(0)
    with Brain.open(folder, author="bench") as brain:
        set_mode(brain, "gated")
        add_cases(brain, slug, GATE_CASES)
        for number in range(count):
            brain.skills.upsert(slug, body(rng))
            text = body(rng) + ("Say hello.\n" if number % 2 else "Wave.\n")
            change = ProposedChange(name=slug, evolver="grind", body=text)
            gate = brain.gate.open(runner=ScriptedRunner(partial(_follow, slug)))
            start = time.perf_counter()
            outcome = gate.propose(change)
            times.append((time.perf_counter() - start) * 1000)
            assert outcome.done == ("admitted" if number % 2 else "rejected"), outcome
    return times


def _follow(slug: str, skills: SkillsAt, case: Case, number: int) -> str:
    return GREETING if "Say hello" in (skills.text(slug) or "") else "go away"


WORKS = {
    "upsert": upserts,
    "diff": diffs,
    "first-diff": first_diffs,
    "select": selections,
    "attempt": attempts,
}


def main(work: str, folder: str, layout: str, skills: str, count: str, seed: str) -> None:
    """Do the work and print its times."""
    corpus = Corpus(layout, int(skills), 0)
    print(json.dumps(WORKS[work](folder, corpus, int(count), random.Random(seed))))


if __name__ == "__main__":
    main(*sys.argv[1:])
