"""What a user does about a transaction that stays pending, on a real node."""

import pytest

from tests.cli.test_commands import learn
from tests.cli.test_on_chain import agent, chain, done, node, use

__all__ = ["agent", "chain", "node", "use"]


@pytest.fixture
def pending(node, agent, cli, chain, monkeypatch):
    """The transaction of a commitment that waits for a block, since the node mines none."""
    from brain_cli.settings import evm_ledgers

    done(cli, "chain", "open", "--ledger", chain)
    monkeypatch.setattr(evm_ledgers, "TRANSACTION_TIMEOUT_SECONDS", 0.0)
    learn(cli, "shared", "one")
    node.set_automine(False)
    try:
        yield done(cli, "chain", "commit", "--ledger", chain)["transaction"]
    finally:
        node.mine()
        node.set_automine(True)


def test_a_pending_commitment_is_told_with_the_commands_that_mend_it(pending, cli, chain):
    told = cli("chain", "commit", "--ledger", chain)
    assert told.status == 0 and "`brain chain resend`" in told.out
    learn(cli, "shared", "two")
    told = cli("chain", "commit", "--ledger", chain, "--json")
    assert told.error["code"] == "pending"
    assert "brain chain cancel --ledger dev" in told.error["hint"]


def test_a_commitment_that_the_node_forgot_is_sent_again(pending, node, cli, chain):
    node.drop(pending)
    told = done(cli, "chain", "resend", "--ledger", chain)
    (mended,) = told["transactions"]
    assert (mended["transaction"], mended["kind"]) == (pending, "commit")
    assert told["sender"] == node.accounts[0].lower()
    assert cli("chain", "resend", "--ledger", chain).out.startswith("Nonce ")
    node.mine()
    assert done(cli, "chain", "resend", "--ledger", chain)["transactions"] == []
    assert cli("chain", "resend", "--ledger", chain).out == "No transaction is pending\n"
    assert done(cli, "chain", "status", "--ledger", chain)["seq"] == 2


def test_a_higher_price_is_offered_for_a_commitment(pending, node, cli, chain):
    faster = done(cli, "chain", "speed-up", "--ledger", chain)
    assert faster["transaction"] != pending
    node.mine()
    assert done(cli, "chain", "status", "--ledger", chain)["transaction"] == faster["transaction"]
    told = cli("chain", "speed-up", "--ledger", chain, "--json")
    assert told.status == 1 and told.error["code"] == "not_pending"


def test_a_commitment_is_cancelled(pending, node, cli, chain):
    cancelled = done(cli, "chain", "cancel", "--ledger", chain)
    assert (cancelled["kind"], cancelled["brain"]) == ("cancel", None)
    node.mine()
    status = done(cli, "chain", "status", "--ledger", chain)
    assert (status["seq"], status["behind"]) == (1, 1)
