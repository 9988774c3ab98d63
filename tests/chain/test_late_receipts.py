"""A node that knows a nonce to be used before it can tell by which transaction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.anvil import Anvil
from tests.chain.evm import account, configured, patient
from tests.chain.liar import lying_before
from tests.chain.registry import Registry, word

BRAIN = word("a brain whose receipts are late")
ONE, TWO = word("one snapshot"), word("the next one")


def test_a_receipt_that_is_late_is_no_transaction_of_somebody_else(
    node: Anvil, registry: Registry, tmp_path: Path
) -> None:
    late = [True]

    def withheld(said: Any, params: list[Any]) -> Any:
        return None if late and late.pop() else said

    with lying_before(node.url) as liar:
        config = configured(node, registry.address, rpc=liar.url)
        ledger = patient(config, tmp_path, account(node, "who waits for receipts"))
        ledger.open(BRAIN, ONE)
        liar.alter("eth_getTransactionReceipt", withheld)
        made = ledger.commit(BRAIN, TWO, ONE)
    assert (made.seq, made.snapshot) == (2, TWO)
