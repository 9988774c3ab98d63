"""Ask both implementations about mutants of the golden vectors.

    python -m tests.support.conformance.differential_campaign --seed 7 --count 100000

prints how many of each kind both took and both refused. For a disagreement it prints the
number of the mutant, which `--first N --count 1` asks again, and ends with status 1.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from brain.errors import BrainError
from tests.conformance.test_vectors import take
from tests.support.conformance import javascript_peer
from tests.support.conformance.differential_questions import QuestionSource
from tests.support.conformance.golden_vectors import GoldenVector
from tests.support.conformance.javascript_peer import Answer, JavascriptPeer, Question

BATCH_SIZE = 200
MAX_SHOWN = 3
"""Disagreements of one kind that are printed."""


class Disagreement(NamedTuple):
    """A question that the two implementations answer in different ways."""

    number: int
    question: Question
    ours: Answer
    theirs: Answer


def answer_question(question: Question) -> Answer:
    """Return what this project answers."""
    kind, given = question
    try:
        if kind == "tree":
            given = {"paths": given["paths"]}
        vector = GoldenVector("", kind, True, given, {"anything": True}, "")
        return {"ok": json.loads(json.dumps(take(vector)))}
    except BrainError as error:
        return {"refused": error.code}
    except KeyError:
        if kind != "tree-nodes":
            raise
        return {"refused": "a node is missing from the dict that holds them"}


def run_campaign(
    peer: JavascriptPeer, seed: int, first: int, count: int
) -> Iterator[tuple[str, str, Disagreement | None]]:
    """Yield the kind of each mutant, what became of it, and the disagreement if there is one."""
    questions = QuestionSource(seed)
    for start in range(first, first + count, BATCH_SIZE):
        numbers = range(start, min(start + BATCH_SIZE, first + count))
        asked = [questions.question(number) for number in numbers]
        peer.send(asked)
        answers = [answer_question(question) for question in asked]
        rows = zip(numbers, asked, answers, peer.receive(), strict=True)
        for number, question, mine, theirs in rows:
            same = mine == theirs if "ok" in mine else "refused" in theirs
            outcome = "taken" if "ok" in mine else "refused"
            disagreement = None if same else Disagreement(number, question, mine, theirs)
            yield question[0], outcome, disagreement


def main() -> int:
    """Run a campaign and print what came of it."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.conformance.differential_campaign"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100_000)
    given = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    wrong: Counter[str] = Counter()
    began = time.monotonic()
    with javascript_peer.run_javascript_peer() as peer:
        for kind, outcome, found in run_campaign(peer, given.seed, given.first, given.count):
            counts[kind, outcome] += 1
            if found is not None:
                wrong[kind] += 1
                if wrong[kind] <= MAX_SHOWN:
                    _print_line(json.dumps(found._asdict())[:4_000])
    for kind in sorted({kind for kind, _ in counts}):
        _print_line(
            f"{kind:14} {counts[kind, 'taken']:8} taken {counts[kind, 'refused']:8} refused"
        )
    took = time.monotonic() - began
    _print_line(
        f"seed {given.seed}: {counts.total()} mutants, {wrong.total()} disagreements, {took:.0f} s"
    )
    return int(wrong.total() > 0)


def _print_line(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
