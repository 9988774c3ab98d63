"""The campaign of killed commits, without a kill: chance would decide its moments."""

from tests.campaigns.killed_commits import is_rest_of, run_kills
from tests.support import anvil_node


def test_each_round_commits_one_snapshot_by_one_transaction(tmp_path):
    with anvil_node.run_anvil() as node:
        result = run_kills(node, tmp_path, rounds=1, kills=0, seed=7)
    assert (result.wrong, result.skipped, result.transactions, result.wasted) == (0, 0, 2, 0)


def test_a_history_that_is_out_of_order_double_or_not_whole_is_noticed():
    assert is_rest_of("abc", "abc") and is_rest_of("ac", "abc")
    assert not any(is_rest_of(found, "abc") for found in ("ab", "acb", "abbc", "abcd", "xc"))
