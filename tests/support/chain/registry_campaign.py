"""A campaign of random calls against BrainRegistry.

Run `python -m tests.support.chain.registry_campaign --seed 1 --budget 600`.

Accounts do what hypothesis draws by the seed, the same for the same seed, and a model says
what may come of it. A difference is printed with the shortest steps that show it, and the
exit status is 1.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support import anvil_node
from tests.support.chain.registry_machine import RegistryMachine

ROUND_SETTINGS = settings(
    max_examples=20,
    stateful_step_count=50,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def make_parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m tests.support.chain.registry_campaign", description=__doc__
    )
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--budget", type=float, default=60.0, metavar="SECONDS")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Go on until the budget is spent; print how often each function ended how."""
    options = make_parser().parse_args(arguments)
    end = time.monotonic() + options.budget
    with anvil_node.run_anvil() as node:
        RegistryMachine.use_node(node)
        for number in itertools.count(options.seed):
            try:
                run_state_machine_as_test(seed(number)(RegistryMachine), settings=ROUND_SETTINGS)
            except AssertionError as error:
                _print_line(f"seed {number}: {error!r}\n" + "\n".join(error.__notes__))
                return 1
            if time.monotonic() > end:
                break
    for ending, times in sorted(RegistryMachine.outcome_counts.items()):
        _print_line(f"{times:8,}  {ending}")
    _print_line(
        f"{RegistryMachine.outcome_counts.total():,} calls,"
        f" seeds {options.seed} to {number}, none wrong"
    )
    return 0


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
