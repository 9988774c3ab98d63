"""Commits through nodes that lie, hang and fail, and compares the outcome with the chain.

    python -m tests.campaigns.lying_nodes [--rounds 1] [--seed N] [--budget SECONDS] [--kind TEXT]

Each round tells every lie of `tests.support.chain.lies` to a user of 1 node, of 3 with a quorum
of 2, and of 5 with a quorum of 3. As many nodes lie as leave a quorum of honest ones, and at
times all. Meanwhile the user commits, asks for the status, the history and the head; then the
lies stop, and the same commitment is made again. Prints what happened; ends with status 1 if

- anything was reported as committed that the chain does not hold,
- a quorum reported as final what is not,
- a signed transaction could cost more than the caps,
- a commitment was lost or made twice, or failed when all nodes were honest again, or
- an operation of a quorum with honest nodes failed, or took more than 5 s.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from eth_account.typed_transactions import TypedTransaction
from hexbytes import HexBytes

from brain.chain.evm import Account, EvmLedger, EvmLedgerConfig
from brain.chain.ledger_protocol import FINALIZED, INCLUDED, SAFE, Commitment, LedgerHead
from brain.errors import BrainError
from tests.support import anvil_node
from tests.support.anvil_node import Anvil
from tests.support.chain.evm_ledgers import funded_account, ledger_config, open_patient_ledger
from tests.support.chain.lies import CONSPIRACIES, LIES, SLOW, Target
from tests.support.chain.lying_node import LyingNode, run_lying_node
from tests.support.chain.registry_contract import RegistryContract, decode_event, word_of

MAX_SECONDS = 5.0
"""Seconds an operation may take while a node hangs and a quorum answers."""
_PATIENCE_SECONDS = 1.0
_ALONE_TIMEOUT_SECONDS = 2.0
"""Seconds an answer of a single node may take: there is no other to go on with."""
_TAG_DEPTH = 64
"""Blocks on top of what this node calls final."""


class Quorum(NamedTuple):
    """So many of so many nodes have to agree."""

    least: int
    nodes: int

    def __str__(self) -> str:
        return f"{self.least} of {self.nodes}"


QUORUMS = (Quorum(1, 1), Quorum(2, 3), Quorum(3, 5))


@dataclass(slots=True, kw_only=True)
class LieResult:
    """What a run came to; the lists name the lies and quorums of what must not be."""

    runs: int = 0
    operations: int = 0
    refused: int = 0
    transactions: int = 0
    excess_wei: int = 0
    longest: float = 0.0
    longest_hanging: float = 0.0
    false_committed: list[str] = field(default_factory=list)
    false_final: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    held_up: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Tell whether anything happened that must not."""
        faults = (self.false_committed, self.false_final, self.lost, self.held_up)
        return any(faults) or bool(self.excess_wei) or self.longest_hanging > MAX_SECONDS


class _Run:
    """One lie to one user, with a brain of its own."""

    def __init__(
        self, campaign: _Campaign, name: str, quorum: Quorum, liars: int, folder: Path
    ) -> None:
        self.campaign, self.quorum, self.liars = campaign, quorum, liars
        self.result = campaign.result
        self.title = f"{name} ({quorum}, {liars} lying)"
        self.folder, self.name = folder, name
        self.brain = word_of(self.title + str(folder))
        self.snapshots = [word_of(f"{self.title} {number}") for number in range(2)]
        self.nodes = campaign.nodes[: quorum.nodes]

    def ledger(self) -> EvmLedger:
        """Return the ledger as a process of its own opens it."""
        alone = self.quorum.nodes == 1
        options = {"timeout": _ALONE_TIMEOUT_SECONDS} if alone else {}
        config = self.campaign.config(self.nodes, self.quorum)
        return open_patient_ledger(
            config, self.folder, self.campaign.account, patience=_PATIENCE_SECONDS, **options
        )

    def play(self, draw: random.Random) -> None:
        """Open the brain, commit among lies, and again without."""
        opened = self.ledger()
        opened.open(self.brain, self.snapshots[0])
        self.campaign.node.mine(draw.choice((0, 1, _TAG_DEPTH + 6)))
        target = Target(
            opened.config.contract, opened.sender, opened.registry_id(self.brain),
            2, self.snapshots[1], self.snapshots[0],
        )  # fmt: skip
        for liar in draw.sample(self.nodes, self.liars):
            (LIES | CONSPIRACIES)[self.name](liar, target)
        lied_to = self.ledger()
        self._observe(lambda: lied_to.commit(self.brain, self.snapshots[1], self.snapshots[0]))
        for operation in (
            lambda: lied_to.status(self.brain, self.snapshots[1]),
            lambda: lied_to.history(self.brain),
            lambda: lied_to.head(self.brain),
        ):
            self._observe(operation)
        for node in self.nodes:
            node.stop_lying()
        self._recover()
        self._count_wei()

    def _observe(self, operation: Callable[[], Any]) -> None:
        """Do something among lies, and compare what is reported with the chain."""
        result, held = self.result, len(self._held())
        began = time.monotonic()
        reported: Any = None
        error: BrainError | None = None
        try:
            reported = operation()
        except BrainError as raised:
            error = raised
        seconds = time.monotonic() - began
        result.operations += 1
        result.longest = max(result.longest, seconds)
        is_honest_quorum = self.quorum.nodes - self.liars >= self.quorum.least
        if is_honest_quorum and self.name in SLOW:
            result.longest_hanging = max(result.longest_hanging, seconds)
        if error is not None:
            result.refused += 1
            if is_honest_quorum:
                result.held_up.append(f"{self.title}: {error.code}: {error.message}")
            return
        if isinstance(reported, LedgerHead | None) and not is_honest_quorum:
            return  # what all nodes say of the head alone is not taken for a commitment
        if isinstance(reported, list) and is_honest_quorum and len(reported) < held:
            result.lost.append(f"{self.title}: the history has {len(reported)} of {held}")
        for one in reported if isinstance(reported, list) else [reported]:
            self._compare(one)

    def _compare(self, reported: Commitment | LedgerHead | None) -> None:
        if reported is None:
            self.result.false_committed.append(f"{self.title}: never opened")
            return
        held = self._held()
        if isinstance(reported, Commitment) and reported.status not in (INCLUDED, SAFE, FINALIZED):
            return
        if not 0 < reported.seq <= len(held) or held[reported.seq - 1][0] != reported.snapshot:
            self.result.false_committed.append(self.title)
        elif isinstance(reported, Commitment) and reported.status == FINALIZED:
            last = self.campaign.node.block_number() - _TAG_DEPTH
            if held[reported.seq - 1][1] > last and self.quorum.nodes > 1:
                self.result.false_final.append(self.title)

    def _held(self) -> list[tuple[bytes, int]]:
        """Return the commitments that the chain holds, with their blocks."""
        id = self.ledger().registry_id(self.brain)
        query = {"fromBlock": "0x0", "address": self.campaign.registry.address}
        logs = self.campaign.node.call("eth_getLogs", query | {"topics": [None, "0x" + id.hex()]})
        committed = [(decode_event(log), int(log["blockNumber"], 16)) for log in logs]
        return [(event.fields[1], block) for event, block in committed if event.name == "Committed"]

    def _recover(self) -> None:
        """Commit again when all nodes are honest; it has to be there once."""
        self.campaign.node.mine()
        try:
            made = self.ledger().commit(self.brain, self.snapshots[1], self.snapshots[0])
            recovered = made.status in (INCLUDED, SAFE, FINALIZED)
        except BrainError as error:
            self.result.lost.append(f"{self.title}: {error.code}: {error.message}")
            return
        if not recovered or [snapshot for snapshot, _ in self._held()] != self.snapshots:
            self.result.lost.append(self.title)

    def _count_wei(self) -> None:
        """Add up what signed transactions could cost above the caps."""
        config = self.campaign.config(self.nodes, self.quorum)
        for raw in {raw for node in self.nodes for raw in node.transactions}:
            fields = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
            price, gas = int(fields["maxFeePerGas"]), int(fields["gas"])
            self.result.transactions += 1
            self.result.excess_wei += max(price - config.max_fee, 0) * gas
            self.result.excess_wei += max(price * gas + int(fields["value"]) - config.max_cost, 0)
        for node in self.nodes:
            node.transactions.clear()


class _Campaign:
    """A chain, five proxies before its node, and an account with money."""

    def __init__(self, node: Anvil, nodes: list[LyingNode]) -> None:
        self.node, self.nodes = node, nodes
        self.registry = RegistryContract(node)
        self.account: Account = funded_account(node, "among liars")
        self.result = LieResult()
        node.mine(_TAG_DEPTH + 6)

    def config(self, nodes: Sequence[LyingNode], quorum: Quorum) -> EvmLedgerConfig:
        urls = [node.url for node in nodes]
        return ledger_config(self.node, self.registry.address, rpc=urls, quorum=quorum.least)


def run_lies(
    node: Anvil, folder: Path, *, rounds: int, seed: int, budget: float, kinds: Sequence[str]
) -> LieResult:
    """Tell each of these lies to each kind of user, so many times; stop after `budget` seconds."""
    draw, end = random.Random(seed), time.monotonic() + budget
    with ExitStack() as stack:
        most = max(quorum.nodes for quorum in QUORUMS)
        nodes = [stack.enter_context(run_lying_node(node.url)) for _ in range(most)]
        campaign = _Campaign(node, nodes)
        runs = [(kind, quorum) for kind in kinds for quorum in QUORUMS] * rounds
        draw.shuffle(runs)
        for number, (kind, quorum) in enumerate(runs):
            if kind in CONSPIRACIES and quorum.nodes == 1:
                continue
            if time.monotonic() > end:
                break
            liars = max(quorum.nodes - quorum.least, 1)
            if kind not in CONSPIRACIES and kind not in SLOW and draw.random() < 0.15:
                liars = quorum.nodes
            campaign.result.runs += 1
            _Run(campaign, kind, quorum, liars, folder / str(number)).play(draw)
    return campaign.result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.lying_nodes")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=3600.0, metavar="SECONDS")
    parser.add_argument("--kind", default="", help="only lies whose names contain this")
    given = parser.parse_args(arguments)
    kinds = [kind for kind in LIES | CONSPIRACIES if given.kind in kind]
    with anvil_node.run_anvil() as node, tempfile.TemporaryDirectory() as folder:
        result = run_lies(
            node, Path(folder), rounds=given.rounds, seed=given.seed, budget=given.budget,
            kinds=kinds,
        )  # fmt: skip
    _report(given.seed, len(kinds), result)
    return int(result.failed)


def _report(seed: int, kinds: int, result: LieResult) -> None:
    lines = [
        f"seed {seed}: {result.runs} runs of {kinds} lies, {result.operations} operations,"
        f" {result.refused} refused, {result.transactions} transactions",
        f"{len(result.false_committed):6}  falsely committed",
        f"{len(result.false_final):6}  falsely final for a quorum",
        f"{result.excess_wei:6}  wei above the caps",
        f"{len(result.lost):6}  lost, double, or not committed when all were honest again",
        f"{len(result.held_up):6}  operations failed although a quorum was honest",
        f"{result.longest_hanging:6.1f}  s at most where a node hangs and a quorum answers"
        f" ({result.longest:.1f} s at most in all)",
    ]
    for name in ("false_committed", "false_final", "lost", "held_up"):
        lines += [f"{name}: {one}" for one in getattr(result, name)]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
