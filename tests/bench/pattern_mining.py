"""How long it takes to find the patterns in very many recorded sequences.

`python -m tests.bench.pattern_mining --sequences 1000000` records them in a store of its own:
habits with skills by chance before them, or such alone. It prints seconds: to read and mine
all of them, and then each time with 1,000 new ones; and the most memory that it had, in MiB.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
import tempfile
import time
from collections.abc import Iterator

from brain.evolve.patterns.pattern_reader import PatternReader
from brain.experience.experience_protocol import SkillSequence
from brain.experience.sqlite_experience import SqliteExperience

NOW = 1_700_000_000_000
WEEK = 7 * 86_400_000
NEW = 1_000


def draw_sequences(count: int, seed: int, begin: int, end: int) -> Iterator[SkillSequence]:
    """Yield sequences of 200 skills in 1,000 chats, in the order of their times."""
    draw = random.Random(seed)
    names = [f"skill-{number}" for number in range(200)]
    habits = [draw.choices(names, k=draw.randint(2, 6)) for _ in range(60)]
    for number in range(count):
        skills = draw.choices(names, k=draw.randint(1, 4))
        if draw.random() < 0.5:
            skills += draw.choice(habits)
        at = begin + (end - begin) * number // count
        yield SkillSequence(chat=f"chat-{draw.randrange(1000)}", at=at, skills=tuple(skills))


def measure(count: int, rounds: int, seed: int) -> dict[str, object]:
    """Return the seconds that each step takes, and what was found."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteExperience(folder)
        rows = draw_sequences(count, seed, NOW - WEEK, NOW)
        while chunk := [one for _, one in zip(range(50_000), rows, strict=False)]:
            store.record_sequences(chunk)
        gc.collect()
        reader = PatternReader()
        began = time.perf_counter(), time.process_time()
        found = reader.find(store, NOW)
        whole = time.perf_counter() - began[0], time.process_time() - began[1]
        steps = []
        for number in range(rounds):
            now = NOW + 60_000 * number
            store.record_sequences(list(draw_sequences(NEW, seed + 1 + number, now, now + 1)))
            began = time.perf_counter(), time.process_time()
            reader.find(store, now)
            steps.append((time.perf_counter() - began[0], time.process_time() - began[1]))
        store.close()
    return {
        "sequences": count,
        "patterns": len(found.patterns),
        "seconds": round(whole[0], 3),
        "cpu_seconds": round(whole[1], 3),
        "new": NEW,
        "seconds_with_new": [round(step[0], 4) for step in steps],
        "cpu_seconds_with_new": [round(step[1], 4) for step in steps],
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for name, value in measure(options.sequences, options.rounds, options.seed).items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
