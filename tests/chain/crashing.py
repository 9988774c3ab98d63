"""A commitment in a process of its own, killed at a moment that is named.

python -m tests.chain.crashing MOMENT URL GENESIS CONTRACT KEY FOLDER BRAIN SNAPSHOT PARENT
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from brain.chain.evm import EvmLedger, files
from brain.chain.evm.account import Account
from brain.chain.evm.config import parse
from brain.chain.evm.nodes import Nodes
from tests.chain.registry import Registry
from tests.patience import PATIENCE

MOMENTS = ("before the journal", "between sign and broadcast", "after the broadcast")


def die(*_: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(moment: str) -> None:
    """Have this process die at a moment."""
    told = Nodes.told

    def told_and_die(self: Nodes, raw: bytes) -> Any:
        told(self, raw)
        die()

    if moment == "before the journal":
        files.os.replace = die  # type: ignore[attr-defined]
    elif moment == "between sign and broadcast":
        Nodes.told = die  # type: ignore[method-assign]
    elif moment == "after the broadcast":
        Nodes.told = told_and_die  # type: ignore[assignment,method-assign]


def command(
    moment: str, registry: Registry, made: EvmLedger, key: Account, folder: Path, *ids: bytes
) -> list[str]:
    """Return the command that commits to a ledger in another process."""
    words = [
        moment,
        *made.config.urls,
        made.config.genesis,
        registry.address.lower(),
        bytes(key._key.key).hex(),
        str(folder),
        *(id.hex() for id in ids),
    ]
    return [sys.executable, "-m", "tests.chain.crashing", *words]


def crash(*commitment: Any) -> None:
    """Commit in another process that dies at a moment; return when it is dead."""
    ended = subprocess.run(command(*commitment), check=False, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def kill(after: float, *commitment: Any) -> None:
    """Commit in another process, and kill it so many seconds after it began."""
    with subprocess.Popen(
        command("at any moment", *commitment), stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        with suppress(subprocess.TimeoutExpired):
            child.wait(after)
        child.kill()


def main(moment: str, url: str, genesis: str, contract: str, key: str, *rest: str) -> None:
    folder, brain, *ids = rest
    said = {"chain_id": 31337, "genesis": genesis, "rpc": url, "contract": contract}
    config = parse("local", said)
    made = EvmLedger(config, Path(folder), Account(bytes.fromhex(key)), patience=PATIENCE)
    id, snapshots = bytes.fromhex(brain), [bytes.fromhex(one) for one in ids]
    head = made.head(id)
    assert head is not None
    arm(moment)
    print("ready", flush=True)  # noqa: T201
    for parent, snapshot in pairwise(snapshots[snapshots.index(head.snapshot) :]):
        made.commit(id, snapshot, parent)


if __name__ == "__main__":
    main(*sys.argv[1:])
