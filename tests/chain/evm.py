"""EvmLedger as the tests drive it: on a real node, with keys that have money on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from brain.chain.evm import Account, EvmLedger, LedgerConfig
from brain.chain.evm.config import parse
from tests.anvil import Anvil
from tests.chain.registry import Registry, wallet
from tests.patience import PATIENCE

FINAL = 70
"""Blocks after which, by the node's default, a block is final: two epochs of 32, and some."""

Found = TypeVar("Found")


def account(node: Anvil, name: str) -> Account:
    """Return an account with money."""
    made = Account(bytes(wallet(name).key))
    node.set_balance(made.address)
    return made


def configured(node: Anvil, contract: str = "", **changes: Any) -> LedgerConfig:
    """Return a ledger on a node, by a mapping as a user writes it."""
    said = {
        "chain_id": node.chain,
        "genesis": node.block(0)["hash"],
        "rpc": node.url,
        "contract": contract.lower(),
    }
    return parse("local", said | changes)


def patient(
    config: LedgerConfig, folder: Path, key: Account | None = None, **options: Any
) -> EvmLedger:
    """Return a ledger that waits for a node which mines each transaction, a moment later."""
    return EvmLedger(config, folder, key, **{"patience": PATIENCE} | options)


def ledger(registry: Registry, folder: Path, name: str = "owner", **changes: Any) -> EvmLedger:
    """Return the ledger of a registry for the account of a name."""
    node = registry.node
    return patient(configured(node, registry.address, **changes), folder, account(node, name))


def until(found: Callable[[], Found]) -> Found:
    """Return the first thing found that is true, asking again and again for a while."""
    deadline = time.monotonic() + PATIENCE
    while not (it := found()):
        assert time.monotonic() < deadline, "it did not come about"
    return it
