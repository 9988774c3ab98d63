"""Kills `brain chain commit` at moments drawn by a seed, on a real node.

    python -m tests.campaigns.killed_commits [--rounds 60] [--kills 4] [--seed N] [--budget SECONDS]

Each round learns a skill and commits it to a contract. The command is killed (kill -9) up to four
times, alone or while a second process does the same, with a node that mines at once, later, or
takes its last blocks back in between. Then it runs to its end. Each snapshot must be committed
once, in order, and the account must have sent one transaction for each. Prints what happened;
ends with status 1 if a commitment is lost or double, or a command fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from brain import Brain
from tests.support import anvil_node
from tests.support.anvil_node import Anvil
from tests.support.chain.registry_contract import wallet_key
from tests.support.processes import TIMEOUT_SECONDS

_FINAL_BLOCKS = 12
"""More than a reorganisation takes back here, so that it is never an alarm."""
_MAX_REORG = 3
_COMMIT = ("chain", "commit", "--ledger", "dev", "--json")


class KillResult(NamedTuple):
    """What a run came to; `ends` counts how the commands that were to be killed ended."""

    rounds: int
    ends: Counter[str]
    lost: int
    doubled: int
    transactions: int


class _User:
    """A brain, the settings of its user, and the command line as a process."""

    def __init__(self, node: Anvil, folder: Path) -> None:
        wallet = wallet_key("killed")
        self.node, self.brain, self.address = node, folder / "brain", wallet.address
        node.set_balance(wallet.address)
        self.environment = os.environ | {
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "BRAIN_LEDGER_KEY": "0x" + bytes(wallet.key).hex(),
        }
        Brain.init(self.brain, author="agent").close()
        self.run("config", "ledger", "dev", "--rpc", node.url, "--finality", str(_FINAL_BLOCKS))
        self.run("chain", "deploy", "--ledger", "dev")
        self.run("chain", "open", "--ledger", "dev")

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "brain_cli", *words],
            cwd=self.brain,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, *words: str) -> bytes:
        """Return what a command prints; it has to succeed."""
        process = self.start(*words)
        out, _ = process.communicate(timeout=TIMEOUT_SECONDS)
        assert process.returncode == 0, out.decode()
        return out

    def transactions(self) -> int:
        return int(self.node.call("eth_getTransactionCount", self.address, "latest"), 16)

    def committed(self) -> list[str]:
        """Return the snapshots of the contract's history, oldest first."""
        status: dict[str, Any] = json.loads(
            self.run("chain", "status", "--ledger", "dev", "--json")
        )
        return [one["snapshot"] for one in status["commitments"]]


def kill_once(user: _User, draw: random.Random, longest: float) -> list[str]:
    """Start one or two commits, kill them, and move the chain; return how each ended."""
    user.node.set_automine(draw.random() < 0.5)
    running = [user.start(*_COMMIT) for _ in range(draw.choice((1, 1, 2)))]
    ends = []
    for process in running:
        with suppress(subprocess.TimeoutExpired):
            process.wait(draw.uniform(0.0, longest))
        ends.append("killed" if process.poll() is None else f"status {process.returncode}")
        process.kill()
        process.communicate(timeout=TIMEOUT_SECONDS)
    user.node.mine(draw.choice((0, 0, 1, 2)))
    if draw.random() < 0.2:
        user.node.reorg(draw.randint(1, _MAX_REORG))
        ends.append("reorganisation")
    return ends


def run_kills(
    node: Anvil, folder: Path, *, rounds: int, kills: int, seed: int, budget: float = 3600.0
) -> KillResult:
    """Kill commits up to `kills` times a round, and compare with the chain.

    The first round has no kill: it shows how long a commit takes. No round begins after
    `budget` seconds.
    """
    draw, user, ends = random.Random(seed), _User(node, folder), Counter[str]()
    node.mine(2 * _FINAL_BLOCKS)
    snapshots, sent = user.committed(), user.transactions()
    longest, end = 0.0, time.monotonic() + budget
    for number in range(rounds):
        if time.monotonic() > end:
            break
        with Brain.open(user.brain, author="agent") as brain:
            brain.skills.upsert("s", f"---\nname: s\ndescription: d\n---\n{number}\n")
        for _ in range(draw.randint(min(1, kills), kills) if longest else 0):
            ends.update(kill_once(user, draw, longest))
        node.set_automine(True)
        node.mine()
        began = time.monotonic()
        made = json.loads(user.run(*_COMMIT).splitlines()[-1])
        longest = longest or 1.2 * (time.monotonic() - began)
        snapshots.append(made["snapshot"])
    node.mine(_FINAL_BLOCKS + 1)
    held = user.committed()
    return KillResult(
        len(snapshots) - 1,
        ends,
        len(set(snapshots) - set(held)),
        len(held) - len(set(held)) + len(set(held) - set(snapshots)),
        user.transactions() - sent,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.killed_commits")
    for name, default in (("rounds", 60), ("kills", 4), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--budget", type=float, default=3600.0, metavar="SECONDS")
    given = parser.parse_args(arguments)
    with anvil_node.run_anvil() as node, tempfile.TemporaryDirectory() as folder:
        result = run_kills(node, Path(folder), **vars(given))
    told = ", ".join(f"{count} {end}" for end, count in sorted(result.ends.items()))
    sys.stdout.write(
        f"seed {given.seed}: {result.rounds} rounds ({told}): {result.lost} lost, "
        f"{result.doubled} double or foreign, {result.transactions} transactions\n"
    )
    return int(bool(result.lost or result.doubled or result.transactions != result.rounds))


if __name__ == "__main__":
    sys.exit(main())
