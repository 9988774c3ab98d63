"""Machines that anchor their logs with one payer: a slice of the campaign of fleets."""

from tests.support.chain.batch_fleet import run_fleet


def test_every_commitment_of_a_fleet_with_one_payer_has_evidence(registry, tmp_path):
    result = run_fleet(registry, tmp_path, machines=2, brains=5, batches=6, seed=1)
    assert result.anchors == 6
    assert result.checked == result.commitments >= 10
    assert result.largest <= 16 << 10
