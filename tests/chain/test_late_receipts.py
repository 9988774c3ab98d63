"""A node that knows a nonce to be used before it can tell by which transaction."""

from typing import Any

from tests.support.chain.evm_ledgers import funded_account, ledger_config, open_patient_ledger
from tests.support.chain.lying_node import run_lying_node
from tests.support.chain.registry_contract import word_of

BRAIN = word_of("a brain whose receipts are late")
ONE, TWO = word_of("one snapshot"), word_of("the next one")


def test_a_receipt_that_is_late_is_no_transaction_of_somebody_else(node, registry, tmp_path):
    late = [True]

    def withheld(answer: Any, params: list[Any]) -> Any:
        return None if late and late.pop() else answer

    with run_lying_node(node.url) as liar:
        config = ledger_config(node, registry.address, rpc=liar.url)
        ledger = open_patient_ledger(
            config, tmp_path, funded_account(node, "who waits for receipts")
        )
        ledger.open(BRAIN, ONE)
        liar.alter("eth_getTransactionReceipt", withheld)
        made = ledger.commit(BRAIN, TWO, ONE)
    assert (made.seq, made.snapshot) == (2, TWO)
