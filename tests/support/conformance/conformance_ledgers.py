"""The ledgers that the conformance suite runs on; to add one, add it to `LEDGERS`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from brain.chain.ledger_protocol import Ledger
from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from tests.support import anvil_node
from tests.support.chain.evm_ledgers import funded_account, ledger_config, open_patient_ledger
from tests.support.chain.registry_contract import RegistryContract


class LedgerCase(NamedTuple):
    """A fresh ledger. `again` opens it once more, as another process would see it;
    `settle` makes everything that is committed so far final."""

    ledger: Ledger
    reopen: Callable[[], Ledger]
    settle: Callable[[], None]


@contextmanager
def embedded_case(folder: Path) -> Iterator[LedgerCase]:
    """A log in a folder."""
    with ExitStack() as opened:

        def again() -> Ledger:
            return opened.enter_context(EmbeddedLedger(folder / "log"))

        yield LedgerCase(again(), again, lambda: None)


@contextmanager
def evm_case(folder: Path) -> Iterator[LedgerCase]:
    """A contract on a real node, where two blocks on top make one final."""
    with anvil_node.run_anvil() as node:
        registry = RegistryContract(node)
        config = ledger_config(node, registry.address, finality=2)
        key = funded_account(node, "of the suite")

        def again() -> Ledger:
            return open_patient_ledger(config, folder, key)

        yield LedgerCase(again(), again, lambda: node.mine(2))


LEDGERS: dict[str, Callable[[Path], AbstractContextManager[LedgerCase]]] = {
    "embedded": embedded_case,
    "evm": evm_case,
}
"""Name -> what makes a ledger in an empty folder, and tidies up after it."""
