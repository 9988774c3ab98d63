"""Whether one snapshot descends from another."""

import pytest

from brain import Brain
from brain.results import Ancestry


@pytest.fixture
def line(brain):
    """The ids of the snapshots of a brain, oldest first."""
    for number in range(3):
        brain.skills.upsert("Oracle", f"{number}\n", description="d")
    return [info.snapshot for info in brain.history.log()][::-1]


def test_descent_is_told_with_the_path(brain, line):
    expected = Ancestry(True, line[2], line[3], [line[3], line[2]])
    assert brain.history.check_ancestry("@~1") == expected
    same = Ancestry(True, line[1], line[1], [line[1]])
    assert brain.history.check_ancestry("@~2", "@~2") == same
    assert brain.history.check_ancestry("@", "@~3") == Ancestry(False, line[3], line[0], [])


def test_the_lineage_of_a_fork_reaches_its_origin(brain, line, tmp_path):
    brain.fork(tmp_path / "fork")
    with Brain.open(tmp_path / "fork") as fork:
        assert fork.history.check_ancestry(line[3]).descends
