"""A fleet of machines that anchor their logs with one payer, and evidence of all of it.

Run `python -m tests.support.chain.batch_fleet`.

    python -m tests.support.chain.batch_fleet --machines 4 --brains 50 --batches 200 --seed 7

Each machine has a log, settings and brains of its own; all share a key that pays, a contract
and a node. Batches come faster than blocks become final. In the end, every anchor has to be in
the history of its log, and every commitment of every brain has evidence that holds with the
hash of a block that the node gives.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from brain import Brain, check_evidence, commit_batch
from brain.chain.anchored_log import AnchoredLog
from brain.chain.evidence import offline_check
from brain.chain.evm import EvmLedger
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from tests.support import anvil_node
from tests.support.chain.evm_ledgers import funded_account, ledger_config, open_patient_ledger
from tests.support.chain.registry_contract import RegistryContract

FINAL_BLOCKS = 12
"""Blocks on top that make one final, more than there are between most batches."""


class FleetResult(NamedTuple):
    """What a run came to: `checked` pieces of evidence, all of which hold."""

    anchors: int
    commitments: int
    checked: int
    largest: int


class _Machine:
    """A folder with a log, the state of a ledger, and brains."""

    def __init__(self, folder: Path, registry: RegistryContract, brains: int) -> None:
        self._folder, self._registry = folder, registry
        self.brains = [folder / f"brain {number}" for number in range(brains)]
        for path in self.brains:
            Brain.init(path).close()
        self.anchored: list[bytes] = []

    def log(self) -> EmbeddedLedger:
        return EmbeddedLedger(self._folder / "log")

    def chain(self) -> EvmLedger:
        """Return the ledger as a process of its own opens it."""
        node = self._registry.node
        config = ledger_config(node, self._registry.address, finality=FINAL_BLOCKS)
        return open_patient_ledger(config, self._folder / "chain", funded_account(node, "payer"))

    def batch(self, draw: random.Random) -> None:
        """Change some brains, and commit and anchor all."""
        for path in draw.sample(self.brains, draw.randint(1, min(4, len(self.brains)))):
            with Brain.open(path) as brain:
                brain.skills.upsert(
                    "s", "---\nname: s\ndescription: d\n---\n" + draw.randbytes(4).hex()
                )
        with self.log() as log:
            result = commit_batch(self.brains, log, self.chain())
            assert not result.left, result.left
            assert result.anchored is not None
            text = log.checkpoint().split("\n\n")[0] + "\n"
        checkpoint = offline_check.checkpoint_hash(text)
        if checkpoint not in self.anchored:
            self.anchored.append(checkpoint)


def run_fleet(
    registry: RegistryContract,
    folder: Path,
    *,
    machines: int,
    brains: int,
    batches: int,
    seed: int,
    budget: float = 3600.0,
) -> FleetResult:
    """Run batches in an order drawn by the seed; raise `AssertionError` for what is missing."""
    draw, node = random.Random(seed), registry.node
    fleet = [_Machine(folder / f"machine {n}", registry, brains) for n in range(machines)]
    end = time.monotonic() + budget
    for _ in range(batches):
        draw.choice(fleet).batch(draw)
        node.mine(draw.choice((0, 0, 1, 3)))
        if time.monotonic() > end:
            break
    node.mine(FINAL_BLOCKS + 1)
    results = [_check_machine(machine, registry) for machine in fleet]
    return FleetResult(
        sum(len(machine.anchored) for machine in fleet),
        sum(commitments for commitments, _ in results),
        sum(len(sizes) for _, sizes in results),
        max((size for _, sizes in results for size in sizes), default=0),
    )


def _check_machine(machine: _Machine, registry: RegistryContract) -> tuple[int, list[int]]:
    """Return the number of commitments of a machine, and the sizes of evidence of each."""
    if not machine.anchored:
        return 0, []
    chain, sizes, commitments = machine.chain(), [], 0
    with machine.log() as log:
        log_id, key = offline_check.log_id(log.key), log.key
        history = chain.anchors.history(chain.sender, log_id)
        assert [anchor.checkpoint for anchor in history] == machine.anchored
        assert chain.anchors.anchored_checkpoint(chain.sender, log_id) == machine.anchored[-1]
        held = AnchoredLog(log, chain)
        assert held.verify() == []
        for path in machine.brains:
            with Brain.open(path) as brain:
                committed = brain.ledger.status(held).commitments
                for one in committed:
                    data = brain.ledger.build_evidence(held, one.snapshot)
                    block = registry.node.block(_block_number(data))["hash"]
                    known = {"block_hash": block, "log_key": key}
                    found = check_evidence(data, owner=chain.sender, **known)
                    assert (found.trust_level, found.snapshot) == ("L3", one.snapshot)
                    sizes.append(len(data))
                with_log = brain.ledger.status(log).commitments
                assert [one.snapshot for one in committed] == [one.snapshot for one in with_log]
                commitments += len(with_log)
    return commitments, sizes


def _block_number(data: bytes) -> int:
    chain = check_evidence(data).chain
    assert chain is not None
    return chain.block


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a fleet, and print what it came to."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.chain.batch_fleet")
    for name, default in (("machines", 4), ("brains", 50), ("batches", 200), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--budget", type=float, default=3600.0, metavar="SECONDS")
    given = parser.parse_args(arguments)
    began = time.monotonic()
    with anvil_node.run_anvil() as node, tempfile.TemporaryDirectory() as folder:
        result = run_fleet(RegistryContract(node), Path(folder), **vars(given))
    took = time.monotonic() - began
    sys.stdout.write(
        f"seed {given.seed}: {result.anchors} anchors, {result.commitments} commitments,"
        f" {result.checked} with evidence that holds, of at most {result.largest} bytes,"
        f" {took:.0f} s\n"
    )


if __name__ == "__main__":
    main()
