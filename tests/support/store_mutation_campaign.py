"""A campaign of store mutations: every command on each changed store.

`python -m tests.support.store_mutation_campaign SEED COUNT` prints the failures; with `--unseen`,
it also prints what a deep verification does not see.
"""

import random
import shutil
import sys
import tempfile
from pathlib import Path

from brain_cli.invocation import run_cli

from tests.support.command_outcomes import ALL_COMMANDS, find_fault_in_outcome
from tests.support.store_mutations import apply_mutation, draw_mutations, make_brain


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _deep_verification_status(arguments: list[str]) -> int:
    status = run_cli(arguments)
    return status if status == 0 else 2


def _run_campaign(seed: int, count: int, show: bool = False) -> int:
    rng = random.Random(seed)
    bad = 0
    with tempfile.TemporaryDirectory() as place:
        whole, copy = Path(place) / "whole" / "agent", Path(place) / "agent"
        whole.parent.mkdir()
        make_brain(whole)
        source = draw_mutations(whole, rng)
        for _ in range(count):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(whole, copy, symlinks=True)
            change = [next(source) for _ in range(rng.choice((1, 1, 2)))]
            for one in change:
                apply_mutation(copy, one)
            if show and not find_fault_in_outcome(
                _deep_verification_status, copy, ("verify", "--deep")
            ):
                _print_line(f"unseen: {'; '.join(map(str, change))}")
            for arguments in ALL_COMMANDS:
                if wrong := find_fault_in_outcome(run_cli, copy, arguments):
                    bad += 1
                    _print_line(
                        f"{'; '.join(map(str, change))}\n  brain {' '.join(arguments)}: {wrong}"
                    )
    _print_line(f"seed {seed}: {count} changes, {bad} wrong")
    return bad


if __name__ == "__main__":
    sys.exit(bool(_run_campaign(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] == ["--unseen"])))
