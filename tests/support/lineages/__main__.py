"""Campaigns: `python -m tests.support.lineages model --seed 1 --budget 600`.

`writers` upserts in the requested number of processes and threads. `model` and `texts` draw
random work by the seed until the budget is spent. The exit status is 1 on any fault.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.lineages import concurrent_writers, line_merge_oracle
from tests.support.lineages.lineage_machine import LineageMachine

EXAMPLES_PER_ROUND = 20


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    made = argparse.ArgumentParser(prog="python -m tests.support.lineages", description=__doc__)
    made.add_argument("campaign", choices=["model", "texts", "writers"])
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--budget", type=float, default=60.0, metavar="SECONDS")
    made.add_argument("--processes", type=int, default=32)
    made.add_argument("--threads", type=int, default=32)
    made.add_argument("--times", type=int, default=200, help="upserts of each writer")
    made.add_argument("--merges", type=int, default=20, help="merges during the upserts")
    made.add_argument("--work", help="folder to work in")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a campaign, print its result, and return the exit status."""
    options = make_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        if options.campaign == "writers":
            return _run_writers(Path(folder), options)
        return _run_texts(Path(folder), options)


def _run_writers(folder: Path, options: argparse.Namespace) -> int:
    begun = time.monotonic()
    shape = (options.processes, options.threads, options.times, options.merges)
    done = concurrent_writers.run_writers(folder / "agent", *shape)
    seconds = time.monotonic() - begun
    for fault in done.faults:
        _print_line(fault)
    _print_line(
        f"{len(done.written)} writers of {options.times} upserts in {seconds:.0f} s, "
        f"the longest took {done.longest:.1f} s; {done.looks} looks, {len(done.faults)} wrong"
    )
    return 1 if done.faults else 0


def _run_texts(folder: Path, options: argparse.Namespace) -> int:
    until = time.monotonic() + options.budget
    number = rounds = wrong = 0
    while time.monotonic() < until:
        number = options.seed + rounds
        rounds += 1
        if options.campaign == "model":
            _run_model(number)
        else:
            for fault in line_merge_oracle.find_disagreements(folder, number, 200):
                wrong += 1
                _print_line(f"seed {number}: {fault}")
    _print_line(f"{rounds} rounds, {wrong} wrong")
    return 1 if wrong else 0


def _run_model(number: int) -> None:
    """Run random histories of a brain; a failure is raised with the steps to reproduce it."""
    drawn = type("Drawn", (LineageMachine,), {})
    seed(number)(drawn)
    wanted = settings(
        max_examples=EXAMPLES_PER_ROUND,
        stateful_step_count=60,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(drawn, settings=wanted)  # type: ignore[no-untyped-call]


def _print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
