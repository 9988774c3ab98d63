"""What takes minutes: `python -m tests.campaigns --seed 1 --budget 900`, or `make campaigns`.

Runs the tests that are marked `campaign` (tests/targets.txt), and gives the seconds that are left
of the budget to what chance finds: the tests that draw values, in an order that is drawn too, and
a slice of every campaign. The same seed draws the same; without one it is drawn, and printed. What
fails is named at the end with the command that shows it again, and ends with status 1.
"""

import argparse
import os
import random
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import pytest

MARKED = "pytest -q -m campaign --dist loadfile --no-loadscope-reorder --numprocesses"
DRAWN = (
    "pytest -q -m hypothesis -p tests.campaigns.__main__ -p randomly --hypothesis-profile=campaigns"
)
MIN_SECONDS = 60.0
"""What chance gets, even where the marked tests took the whole budget."""


class Campaign(NamedTuple):
    """Arguments of `python -m` with places for `seed` and `seconds`, and a share of the time."""

    command: str
    share: float


CAMPAIGNS = (
    Campaign(
        f"{DRAWN} --hypothesis-seed={{seed}} --randomly-seed={{seed}} --seconds={{seconds}}", 6
    ),
    Campaign("tests.support.lineages model --seed {seed} --budget {seconds}", 3),
    Campaign("tests.support.lineages texts --seed {seed} --budget {seconds}", 1),
    Campaign("tests.attacks --seed {seed} --count 500", 2),
    Campaign("tests.support.conformance.differential_campaign --seed {seed} --count 5000", 1),
    Campaign("tests.support.faults --seed {seed} --budget {seconds}", 3),
    Campaign("tests.support.faults.power_cuts --seed {seed} --images 100", 1),
    Campaign("tests.support.mcp_message_campaign --seed {seed} --budget {seconds}", 2),
    Campaign("tests.support.chain.registry_campaign --seed {seed} --budget {seconds}", 2),
    Campaign("tests.support.chain.evidence_mutations --seed {seed} --count 1000", 1),
    Campaign("tests.support.chain.batch_fleet --seed {seed} --brains 5 --budget {seconds}", 1),
    Campaign("tests.campaigns.lying_nodes --seed {seed} --budget {seconds}", 1),
    Campaign("tests.campaigns.killed_commits --seed {seed} --budget {seconds}", 1),
    Campaign("tests.campaigns.killed_learners --seed {seed} --items 60 --kills 12", 1),
    Campaign(
        "tests.campaigns.grinds --seed {seed} --grinds 100 --lessons 10 --cycles 60 --kills 6", 1
    ),
    Campaign("tests.property.test_skills_index {seed} 2000", 1),
    Campaign("tests.campaigns.sandbox_leaks --seed {seed} --runs 500", 1),
)
"""Those that know no time are run with one seed after another, until theirs is over."""


def run(campaign: Campaign, seed: int, seconds: float) -> list[str]:
    """Run a campaign for about so many seconds; return the commands that failed."""
    failed = []
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        failed += run_once(campaign.command.format(seed=seed, seconds=round(left)), seed)
        seed += 1
    return failed


def run_once(command: str, seed: int) -> list[str]:
    """Run `python -m COMMAND`; return it if it failed."""
    say(f"== {command}")
    words = [sys.executable, "-m", *shlex.split(command)]
    hashes = str(seed % 2**32)
    done = subprocess.run(words, env={**os.environ, "PYTHONHASHSEED": hashes}, check=False)
    return [f"PYTHONHASHSEED={hashes} python -m {command}"] if done.returncode else []


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything, print what failed. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--budget", type=float, default=900.0, help="seconds")
    parser.add_argument("--workers", type=int, default=(os.cpu_count() or 1) + 1)
    options = parser.parse_args(arguments)
    say(f"seed {options.seed}, {options.budget:.0f} seconds")
    end = time.monotonic() + options.budget
    failed = run_once(f"{MARKED} {options.workers}", 0)
    left = max(end - time.monotonic(), MIN_SECONDS)
    each = left / sum(campaign.share for campaign in CAMPAIGNS)
    for campaign in CAMPAIGNS:
        failed += run(campaign, options.seed, each * campaign.share)
    say(
        f"seed {options.seed}: "
        + ("\n  ".join(["failed", *failed]) if failed else "nothing failed")
    )
    return 1 if failed else 0


def say(line: str) -> None:
    """Print a line before what a process prints that starts now."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


# As a plugin of pytest, it ends the tests in time.


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--seconds`."""
    parser.addoption("--seconds", type=float, help="pass over the tests that are left by then")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to count: what imports all tests may take as long as a short run."""
    session.config.stash[END] = time.monotonic() + session.config.getoption("--seconds")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Pass over a test once the time is up."""
    return True if time.monotonic() > item.config.stash[END] else None


END = pytest.StashKey[float]()


if __name__ == "__main__":
    sys.exit(main())
