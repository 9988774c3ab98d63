"""The ledgers that the conformance suite goes through; to add one, add it to `LEDGERS`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from brain.chain.protocol import Ledger
from brain.chain.tlog.ledger import EmbeddedLedger
from tests import anvil
from tests.chain.evm import account, configured, patient
from tests.chain.registry import Registry


class Place(NamedTuple):
    """A fresh ledger. `again` opens it once more, as another process would see it;
    `settle` makes everything that is committed so far final."""

    ledger: Ledger
    again: Callable[[], Ledger]
    settle: Callable[[], None]


@contextmanager
def embedded(folder: Path) -> Iterator[Place]:
    """A log in a folder."""
    with ExitStack() as opened:

        def again() -> Ledger:
            return opened.enter_context(EmbeddedLedger(folder / "log"))

        yield Place(again(), again, lambda: None)


@contextmanager
def evm(folder: Path) -> Iterator[Place]:
    """A contract on a real node, where two blocks on top make one final."""
    with anvil.running() as node:
        registry = Registry(node)
        config = configured(node, registry.address, finality=2)
        key = account(node, "of the suite")

        def again() -> Ledger:
            return patient(config, folder, key)

        yield Place(again(), again, lambda: node.mine(2))


LEDGERS: dict[str, Callable[[Path], AbstractContextManager[Place]]] = {
    "embedded": embedded,
    "evm": evm,
}
"""Name -> what makes a ledger in an empty folder, and tidies up after it."""
