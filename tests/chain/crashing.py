"""A commitment in a process of its own, killed at a moment that is named.

python -m tests.chain.crashing MOMENT URL GENESIS CONTRACT KEY FOLDER BRAIN SNAPSHOT PARENT
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from brain.chain.evm import EvmLedger, files
from brain.chain.evm.account import Account
from brain.chain.evm.config import parse
from brain.chain.evm.nodes import Nodes
from tests.chain.registry import Registry

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
    else:
        Nodes.told = told_and_die  # type: ignore[assignment,method-assign]


def crash(
    moment: str, registry: Registry, made: EvmLedger, key: Account, folder: Path, *ids: bytes
) -> None:
    """Commit in another process that dies at a moment; return when it is dead."""
    words = [
        moment,
        *made.config.urls,
        made.config.genesis,
        registry.address.lower(),
        bytes(key._key.key).hex(),
        str(folder),
        *(id.hex() for id in ids),
    ]
    command = [sys.executable, "-m", "tests.chain.crashing", *words]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def main(moment: str, url: str, genesis: str, contract: str, key: str, *rest: str) -> None:
    folder, *ids = rest
    said = {"chain_id": 31337, "genesis": genesis, "rpc": url, "contract": contract}
    made = EvmLedger(parse("local", said), Path(folder), Account(bytes.fromhex(key)))
    arm(moment)
    made.commit(*(bytes.fromhex(id) for id in ids))


if __name__ == "__main__":
    main(*sys.argv[1:])
