"""The campaign of killed commits, without a kill: chance would decide its moments."""

from __future__ import annotations

from pathlib import Path

from tests.campaigns.killed_commits import run_kills
from tests.support import anvil_node


def test_each_round_commits_one_snapshot_by_one_transaction(tmp_path: Path) -> None:
    with anvil_node.run_anvil() as node:
        result = run_kills(node, tmp_path, rounds=2, kills=0, seed=7)
    assert (result.rounds, result.lost, result.doubled, result.transactions) == (2, 0, 0, 4)
