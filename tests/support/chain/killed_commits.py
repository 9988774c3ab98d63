"""Commit to a contract in another process that is killed at a named moment.

python -m tests.support.chain.killed_commits MOMENT URL GENESIS CONTRACT KEY FOLDER BRAIN SNAPSHOT
PARENT
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from brain.chain.evm import EvmLedger
from brain.chain.evm.account import Account
from brain.chain.evm.evm_config import parse_config
from brain.chain.evm.nodes import NodeQuorum
from tests.support.chain.registry_contract import RegistryContract
from tests.support.processes import TIMEOUT_SECONDS

KILL_MOMENTS = ("before the journal", "between sign and broadcast", "after the broadcast")


def kill_this_process(*_: Any, **_named: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def arm_kill_moment(moment: str) -> None:
    """Have this process die at a moment."""
    result = NodeQuorum.broadcast

    def told_and_die(self: NodeQuorum, raw: bytes) -> Any:
        result(self, raw)
        kill_this_process()

    if moment == "before the journal":
        os.replace = kill_this_process
    elif moment == "between sign and broadcast":
        NodeQuorum.broadcast = kill_this_process  # type: ignore[method-assign]
    elif moment == "after the broadcast":
        NodeQuorum.broadcast = told_and_die  # type: ignore[assignment,method-assign]


def commit_command(
    moment: str,
    registry: RegistryContract,
    made: EvmLedger,
    key: Account,
    folder: Path,
    *ids: bytes,
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
    return [sys.executable, "-m", "tests.support.chain.killed_commits", *words]


def commit_and_crash(*commitment: Any) -> None:
    """Commit in another process that dies at a moment; return when it is dead."""
    ended = subprocess.run(commit_command(*commitment), check=False, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def commit_and_kill_after(after: float, *commitment: Any) -> None:
    """Commit in another process, and kill it so many seconds after it began."""
    with subprocess.Popen(
        commit_command("at any moment", *commitment), stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        with suppress(subprocess.TimeoutExpired):
            child.wait(after)
        child.kill()


def main(moment: str, url: str, genesis: str, contract: str, key: str, *rest: str) -> None:
    folder, brain, *ids = rest
    answer = {"chain_id": 31337, "genesis": genesis, "rpc": url, "contract": contract}
    config = parse_config("local", answer)
    made = EvmLedger(config, Path(folder), Account(bytes.fromhex(key)), patience=TIMEOUT_SECONDS)
    id, snapshots = bytes.fromhex(brain), [bytes.fromhex(one) for one in ids]
    head = made.head(id)
    assert head is not None
    arm_kill_moment(moment)
    print("ready", flush=True)  # noqa: T201
    for parent, snapshot in pairwise(snapshots[snapshots.index(head.snapshot) :]):
        made.commit(id, snapshot, parent)


if __name__ == "__main__":
    main(*sys.argv[1:])
