"""Trust levels of commitments and batches, by the command line."""

import pytest

from tests.cli.test_on_chain import done


@pytest.mark.parametrize(("nodes", "level"), [(1, "L1"), (2, "L2")])
def test_a_final_batch_has_the_level_of_a_final_commitment(nodes, level, node, cli, chain):
    on = ("--ledger", chain)
    urls = (node.url, node.url.replace("127.0.0.1", "localhost"))[:nodes]
    named = [option for url in urls for option in ("--rpc", url)]
    done(cli, "config", "ledger", chain, *named, "--quorum", str(nodes))
    assert done(cli, "chain", "batch", ".", *on)["anchored"]["status"] == "included"
    assert done(cli, "chain", "status", *on)["trust_level"] == "L1"
    node.mine(2)
    assert done(cli, "chain", "status", *on)["trust_level"] == level
    done(cli, "chain", "open", *on)
    node.mine(2)
    assert done(cli, "chain", "status", *on)["trust_level"] == level
