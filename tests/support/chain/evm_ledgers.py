"""EvmLedger on a real node, with keys whose accounts have money."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from brain.chain.evm import Account, EvmLedger, EvmLedgerConfig
from brain.chain.evm.evm_config import parse_config
from tests.support.anvil_node import Anvil
from tests.support.chain.registry_contract import RegistryContract, wallet_key
from tests.support.processes import TIMEOUT_SECONDS

FINAL_BLOCKS = 70
"""Blocks after which, by the node's default, a block is final: two epochs of 32, and some."""

FoundT = TypeVar("FoundT")


def funded_account(node: Anvil, name: str) -> Account:
    """Return an account with money."""
    made = Account(bytes(wallet_key(name).key))
    node.set_balance(made.address)
    return made


def ledger_config(node: Anvil, contract: str = "", **changes: Any) -> EvmLedgerConfig:
    """Return a ledger on a node, by a mapping as a user writes it."""
    answer = {
        "chain_id": node.chain,
        "genesis": node.block(0)["hash"],
        "rpc": node.url,
        "contract": contract.lower(),
    }
    return parse_config("local", answer | changes)


def open_patient_ledger(
    config: EvmLedgerConfig, folder: Path, key: Account | None = None, **options: Any
) -> EvmLedger:
    """Return a ledger that waits for a node which mines each transaction, a moment later."""
    return EvmLedger(config, folder, key, **{"patience": TIMEOUT_SECONDS} | options)


def open_registry_ledger(
    registry: RegistryContract, folder: Path, name: str = "owner", **changes: Any
) -> EvmLedger:
    """Return the ledger of a registry for the account of a name."""
    node = registry.node
    return open_patient_ledger(
        ledger_config(node, registry.address, **changes), folder, funded_account(node, name)
    )


def poll_until(result: Callable[[], FoundT]) -> FoundT:
    """Return the first thing found that is true, asking again and again for a while."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not (it := result()):
        assert time.monotonic() < deadline, "it did not come about"
    return it
