"""A campaign of faults: `python -m tests.faults --seed 1 --budget 600`.

Kills and errors are drawn by the seed, the same for the same seed. Every failure is
printed with the call that shows it again; the exit status is 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from . import campaign
from .points import errors, kills, parse
from .scenarios import SCENARIOS
from .tracer import Tracer

KINDS = {"kills": kills, "errors": errors}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    made = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--budget", type=float, default=60.0, metavar="SECONDS")
    made.add_argument("--commands", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    made.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    made.add_argument("--point", nargs="+", type=parse, help="only these points")
    made.add_argument("--work", help="folder to work in; one in memory saves time")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Strike, print what came of it. Return the exit status."""
    options = parser().parse_args(arguments)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(dir=options.work) as folder, Tracer(Path(folder)) as tracer:
        arena = campaign.Arena(Path(folder), tracer)
        drawn = options.point or [
            point
            for kind in options.kinds
            for point in campaign.points(arena, options.commands, KINDS[kind], options.seed)
        ]
        struck = []
        for each in campaign.strike_all(arena, drawn, begun + options.budget):
            struck.append(each)
            for line in campaign.failures([each]):
                _say(line)
    for line in campaign.table(struck):
        _say(line)
    wrong = sum(bool(each.wrong) for each in struck)
    seconds = time.monotonic() - begun
    _say(f"{len(struck)} of {len(drawn)} points, {wrong} wrong, {seconds:.0f} s")
    return 1 if wrong else 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
