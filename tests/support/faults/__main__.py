"""A campaign of faults: `python -m tests.support.faults --seed 1 --budget 600`.

Kills and errors are drawn by the seed, the same for the same seed. Every failure is
printed with the call that shows it again; the exit status is 1 if there is one.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.faults import fault_campaign
from tests.support.faults.fault_points import error_points, kill_points, parse_point
from tests.support.faults.strace_runner import StraceRunner
from tests.support.faults.write_scenarios import SCENARIOS

FAULT_KINDS = {"kills": kill_points, "errors": error_points}


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    made = argparse.ArgumentParser(prog="python -m tests.support.faults", description=__doc__)
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--budget", type=float, default=60.0, metavar="SECONDS")
    made.add_argument("--commands", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    made.add_argument("--kinds", nargs="+", choices=FAULT_KINDS, default=list(FAULT_KINDS))
    made.add_argument("--point", nargs="+", type=parse_point, help="only these points")
    made.add_argument("--work", help="folder to work in; one in memory saves time")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Strike, print what came of it. Return the exit status."""
    options = make_parser().parse_args(arguments)
    begun = time.monotonic()
    with (
        tempfile.TemporaryDirectory(dir=options.work) as folder,
        StraceRunner(Path(folder)) as tracer,
    ):
        arena = fault_campaign.FaultArena(Path(folder), tracer)
        drawn = options.point or [
            point
            for kind in options.kinds
            for point in fault_campaign.draw_points(
                arena, options.commands, FAULT_KINDS[kind], options.seed
            )
        ]
        struck = []
        for each in fault_campaign.inject_all(arena, drawn, begun + options.budget):
            struck.append(each)
            for line in fault_campaign.describe_failures([each]):
                _print_line(line)
    for line in fault_campaign.outcome_table(struck):
        _print_line(line)
    wrong = sum(bool(each.wrong) for each in struck)
    seconds = time.monotonic() - begun
    _print_line(f"{len(struck)} of {len(drawn)} points, {wrong} wrong, {seconds:.0f} s")
    return 1 if wrong else 0


def _print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
