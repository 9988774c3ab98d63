"""Measures our gate beside those of SkillOpt and GEPA, which run from their wheels.

    python -m tests.campaigns.other_gates --python VENV/bin/python [--attempts 500] [--seed 1]

VENV has `pip install skillopt==0.2.0 gepa==0.1.4`. Every gate sees the same scripted attempts on
the same cases: useless edits, and those of a real small model (`small_model_shares.json`). As by
default, SkillOpt compares the shares of cases that pass once before and after, and GEPA three cases
drawn for each attempt. Ends with status 1 if ours lets more than 5 % of the useless edits by.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from brain.gating.decision import DEFAULT_RULES
from tests.campaigns.null_edits import (
    CASE_COUNTS,
    MAX_SHARE,
    NOISES,
    NULL_EDITS,
    Attempt,
    ScriptedRuns,
    attempt_edit,
    draw_probability,
    read_small_model,
)

_REMOTE = """
import json, sys
from gepa.proposer.base import CandidateProposal
from gepa.strategies.acceptance import StrictImprovementAcceptance
from skillopt.evaluation.gate import evaluate_gate

for line in sys.stdin:
    before, after, drawn = json.loads(line)
    old, new = sum(before) / len(before), sum(after) / len(after)
    skillopt = evaluate_gate("new", new, "old", old, "old", old, 0, 1).action != "reject"
    few = [[side[at] for at in drawn] for side in (before, after)]
    proposal = CandidateProposal({}, [0], drawn, few[0], few[1])
    print(json.dumps([skillopt, StrictImprovementAcceptance().should_accept(proposal, None)]))
"""
MINIBATCH = 3

Draw = Callable[[Random], ScriptedRuns]


def draw_edits() -> Iterator[tuple[str, bool, Draw]]:
    """Yield kinds of edits, whether they give these very cases nothing, and what draws one."""
    for name in ("no-op", "trade between cases", "one case for the others"):
        for noise, parameter in NOISES.items():

            def draw(rng: Random, edit: Any = NULL_EDITS[name], noise: float = parameter) -> Any:
                cases = rng.choice(CASE_COUNTS)
                before = [draw_probability(rng, noise) for _ in range(cases)]
                return ScriptedRuns(rng, before, edit(rng, before, noise))

            yield f"{name}, noise {noise}", True, draw
    edits = read_small_model()
    for label, is_wanted in (
        ("small model, useless edits without a gain", lambda one: one.is_null),
        ("small model, useless edits that gain", lambda one: not one.is_null and not one.is_useful),
        ("small model, better examples", lambda one: one.is_useful),
    ):
        chosen = [one for one in edits if is_wanted(one)]

        def choose(rng: Random, chosen: Any = chosen) -> ScriptedRuns:
            one = rng.choice(chosen)
            return ScriptedRuns(rng, list(one.before), list(one.after))

        yield label, all(one.is_null for one in chosen), choose


def run_others(python: Path, asked: Sequence[Any]) -> list[tuple[bool, bool]]:
    """Return what SkillOpt and GEPA do with each attempt."""
    lines = "".join(f"{json.dumps(one)}\n" for one in asked)
    done = subprocess.run(
        [python, "-c", _REMOTE], input=lines, capture_output=True, text=True, check=True
    )
    answers = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    assert len(answers) == len(asked)
    return [(skillopt, gepa) for skillopt, gepa in answers]


def attempt_all(draw: Draw, rng: Random) -> tuple[Attempt, list[Any]]:
    """Return what our gate does, and what the others are asked: their first look at the cases."""
    runs = draw(rng)
    ours = attempt_edit(runs, DEFAULT_RULES, False)
    sides = [[int(getattr(row, side)[0] == "p") for row in runs.rows] for side in _SIDES]
    return ours, [*sides, rng.sample(range(runs.cases), MINIBATCH)]


_SIDES = ("before", "after")


def report(python: Path, attempts: int, seed: int) -> Iterator[str]:
    """Yield the table, in Markdown; the last line says whether too many passed."""
    yield "| edits | ours admits | ours, provisional too | SkillOpt 0.2.0 | GEPA 0.1.4 |"
    yield "|---|---|---|---|---|"
    bad = []
    for label, is_null, draw in draw_edits():
        rng = Random(f"{seed} {label}")
        ours, asked = zip(*(attempt_all(draw, rng) for _ in range(attempts)), strict=True)
        others = run_others(python, asked)
        counts = [
            sum(one.gate == "admit" for one in ours),
            sum(one.is_live for one in ours),
            *(sum(one[at] for one in others) for at in (0, 1)),
        ]
        bad += [label] if is_null and counts[1] > MAX_SHARE * attempts else []
        shares = " | ".join(f"{100 * count / attempts:.1f} %" for count in counts)
        yield f"| {label} | {shares} |"
    yield f"\nToo many passed: {', '.join(bad)}" if bad else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if our gate let too many useless edits by."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--attempts", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    line = ""
    for line in report(options.python, options.attempts, options.seed):
        print(line, flush=True)
    return 1 if line else 0


if __name__ == "__main__":
    sys.exit(main())
