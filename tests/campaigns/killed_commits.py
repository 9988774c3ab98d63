"""Kills `brain chain commit` at moments drawn by a seed, on a real node.

    python -m tests.campaigns.killed_commits [--rounds 60] [--kills 4] [--depth 3] [--seed N]

Two machines have a brain each and one account that pays. Each round, both learn a skill and
commit it to a contract. The command is killed (kill -9) up to `kills` times, alone or while a
second process of its machine does the same, with a node that mines at once, later, or takes up to
`depth` blocks back in between. Then both run to their ends, at the same time; one may find that
the other took its nonce, and runs again. The history of each brain must be in order, hold each
snapshot once at most, and end at the last. A commitment that a reorganisation took back may be
skipped, if the other machine used its nonce meanwhile: the next one covers it. Prints what
happened; ends with status 1 if a history is wrong, or a command fails. `--budget SECONDS` bounds
it.
"""

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

_MAX_REPEATS = 5
"""How often a command may run again because the other machine took its nonce."""
_COMMIT = ("chain", "commit", "--ledger", "dev", "--json")


class KillResult(NamedTuple):
    """What a run came to.

    `ends` counts how commands ended that were killed, or repeated. `wrong` counts histories that
    are out of order, hold something twice, or do not end at the last snapshot. `skipped` counts
    commitments that were taken back and that the next one covers, `transactions` what the
    account has on the chain, and `wasted` those of them that committed nothing.
    """

    rounds: int
    ends: Counter[str]
    wrong: int
    skipped: int
    transactions: int
    wasted: int


class _User:
    """A brain, the settings of its user, and the command line as a process."""

    def __init__(self, node: Anvil, folder: Path, finality: int) -> None:
        wallet = wallet_key("killed")
        self.node, self.brain = node, folder / "brain"
        node.set_balance(wallet.address)
        self.environment = os.environ | {
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "BRAIN_LEDGER_KEY": "0x" + bytes(wallet.key).hex(),
        }
        folder.mkdir()
        Brain.init(self.brain, author="agent").close()
        self.run("config", "ledger.dev.rpc", node.url)
        self.run("config", "ledger.dev.finality", str(finality))
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

    def learn(self, number: int) -> None:
        with Brain.open(self.brain, author="agent") as brain:
            brain.skills.upsert("s", f"---\nname: s\ndescription: d\n---\n{number}\n")

    def committed(self) -> list[str]:
        """Return the snapshots of the contract's history, oldest first."""
        status: dict[str, Any] = json.loads(
            self.run("chain", "status", "--ledger", "dev", "--json")
        )
        return [one["snapshot"] for one in status["commitments"]]


def kill_once(user: _User, draw: random.Random, longest: float, depth: int) -> list[str]:
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
        user.node.reorg(draw.randint(1, depth))
        ends.append("reorganisation")
    return ends


def commit_together(users: Sequence[_User], ends: Counter[str]) -> list[str]:
    """Commit on all machines at the same time; return the snapshots."""
    snapshots: dict[_User, str] = {}
    for _ in range(_MAX_REPEATS):
        running = [(user, user.start(*_COMMIT)) for user in users if user not in snapshots]
        for user, process in running:
            out, _ = process.communicate(timeout=TIMEOUT_SECONDS)
            last = json.loads(out.splitlines()[-1])
            if process.returncode == 0:
                snapshots[user] = last["snapshot"]
            else:
                ends[f"repeated after {last['error']['code']}"] += 1
        if len(snapshots) == len(users):
            break
    return [snapshots[user] for user in users]


def run_kills(
    node: Anvil,
    folder: Path,
    *,
    rounds: int,
    kills: int,
    seed: int,
    depth: int = 3,
    budget: float = 3600.0,
) -> KillResult:
    """Kill commits up to `kills` times a round, and compare with the chain.

    A block is final once more blocks follow than a reorganisation of `depth` takes back. The
    first round has no kill: it shows how long a commit takes. No round begins after
    `budget` seconds.
    """
    draw, ends, finality = random.Random(seed), Counter[str](), 4 * depth
    users = [_User(node, folder / name, finality) for name in ("one", "two")]
    node.mine(2 * finality)
    wanted, sent = [user.committed() for user in users], count_transactions(node)
    longest, end, done = 0.0, time.monotonic() + budget, 0
    while done < rounds and time.monotonic() < end:
        for user in users:
            user.learn(done)
        for _ in range(draw.randint(min(1, kills), kills) if longest else 0):
            ends.update(kill_once(draw.choice(users), draw, longest, depth))
        node.set_automine(True)
        node.mine()
        began = time.monotonic()
        for snapshots, snapshot in zip(wanted, commit_together(users, ends), strict=True):
            snapshots.append(snapshot)
        longest = longest or 1.2 * (time.monotonic() - began)
        done += 1
    node.mine(finality + 1)
    held = [user.committed() for user in users]
    made = sum(len(found) for found in held) - len(users)
    spent = count_transactions(node) - sent
    return KillResult(
        done,
        ends,
        sum(
            not is_rest_of(found, snapshots) for found, snapshots in zip(held, wanted, strict=True)
        ),
        2 * done - made,
        spent,
        spent - made,
    )


def is_rest_of(found: Sequence[str], wanted: Sequence[str]) -> bool:
    """Tell whether `found` is `wanted` without some, but with the last."""
    rest = iter(wanted)
    return all(one in rest for one in found) and found[-1] == wanted[-1]


def count_transactions(node: Anvil) -> int:
    """Return how many transactions the account of both machines has on the chain."""
    return int(node.call("eth_getTransactionCount", wallet_key("killed").address, "latest"), 16)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.killed_commits")
    for name, default in (("rounds", 60), ("kills", 4), ("depth", 3), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--budget", type=float, default=3600.0, metavar="SECONDS")
    given = parser.parse_args(arguments)
    with anvil_node.run_anvil() as node, tempfile.TemporaryDirectory() as folder:
        result = run_kills(node, Path(folder), **vars(given))
    told = ", ".join(f"{count} {end}" for end, count in sorted(result.ends.items()))
    sys.stdout.write(
        f"seed {given.seed}: {result.rounds} rounds of 2 commits ({told}): {result.wrong} histories"
        f" wrong, {result.skipped} commitments skipped, {result.transactions} transactions,"
        f" {result.wasted} of them wasted\n"
    )
    return int(bool(result.wrong) or (result.skipped > 0 and not result.ends["reorganisation"]))


if __name__ == "__main__":
    sys.exit(main())
