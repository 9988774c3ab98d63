"""A slice of the campaign of lying nodes, with a fixed seed."""

from tests.campaigns.lying_nodes import run_lies
from tests.support import anvil_node
from tests.support.chain.lies import CONSPIRACIES, LIES

SLICE = ("tip of 1000000000000", "state: new head", "log: new event", "all agree, and all is final")


def test_no_lie_of_a_slice_makes_a_false_commitment_or_costs_more_than_the_caps(tmp_path):
    with anvil_node.run_anvil() as node:
        result = run_lies(node, tmp_path, rounds=1, seed=7, budget=600.0, kinds=SLICE)
    assert not result.failed, result
    assert result.runs == 3 * len(SLICE) - 1  # nobody is asked alone about a conspiracy
    assert result.transactions >= result.runs


def test_the_catalogue_holds_more_than_a_hundred_lies():
    assert len(LIES | CONSPIRACIES) >= 109
