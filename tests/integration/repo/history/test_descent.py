"""Whether one snapshot descends from another, in a brain or by an exported lineage alone."""

import io

import pytest

from brain import Brain, InvalidInput, NotFound
from brain.repo.history import descent
from brain.results import Ancestry
from tests.support.refusals import raises_code


@pytest.fixture
def line(brain):
    """The ids of the snapshots of a brain, oldest first."""
    for number in range(3):
        brain.skills.upsert("Oracle", f"{number}\n", description="d")
    return [info.snapshot for info in brain.history.log()][::-1]


def asked(brain: Brain, old: str, new: str | None = None) -> Ancestry:
    """Ask an exported lineage."""
    return descent.find_descent_in_file(
        io.BytesIO(b"".join(brain.history.export_lineage())), old, new
    )


def test_descent_is_told_with_the_path_in_both_ways(brain, line):
    expected = Ancestry(True, line[2], line[3], [line[3], line[2]])
    assert brain.history.check_ancestry("@~1") == expected
    assert asked(brain, line[2]) == expected == asked(brain, line[2][:6], line[3][:6])
    same = Ancestry(True, line[1], line[1], [line[1]])
    assert brain.history.check_ancestry("@~2", "@~2") == same == asked(brain, line[1], line[1])
    none = Ancestry(False, line[3], line[0], [])
    assert brain.history.check_ancestry("@", "@~3") == none == asked(brain, line[3], line[0])


@pytest.mark.parametrize("text", ["main", "@", "", "abcde", "ABCDEF", "abcdeg"])
def test_an_exported_lineage_has_only_ids(brain, line, text):
    for ids in ((text, None), (line[0], text)):
        with raises_code("bad_revision", InvalidInput) as caught:
            asked(brain, *ids)
        assert caught.value.message == f"{text!r} is not the id of a snapshot"


def test_an_id_that_is_not_in_an_exported_lineage_is_not_found(brain, line):
    earlier = b"".join(brain.history.export_lineage("@~1"))
    with raises_code("no_revision", NotFound):
        descent.find_descent_in_file(io.BytesIO(earlier), line[3])
    assert descent.find_descent_in_file(io.BytesIO(earlier), line[0]).descendant == line[2]


def test_the_start_of_two_ids_is_ambiguous(brain, line, monkeypatch):
    monkeypatch.setattr(descent, "MIN_ID_DIGITS", 1)
    while len(line) < 17:  # so that two begin with the same digit
        brain.skills.upsert("Oracle", f"{len(line)} more\n")
        line.append(brain.head or "")
    digits = [id[0] for id in line]
    shared = max(digits, key=digits.count)
    with raises_code("ambiguous_id", InvalidInput):
        asked(brain, shared)
    for id in line:
        length = next(n for n in range(1, 64) if sum(o.startswith(id[:n]) for o in line) == 1)
        assert asked(brain, id[:length]).ancestor == id


def test_the_lineage_of_a_fork_reaches_its_origin(brain, line, tmp_path):
    brain.fork(tmp_path / "fork")
    with Brain.open(tmp_path / "fork") as fork:
        assert fork.history.check_ancestry(line[3]).descends
        assert asked(fork, line[3]) == fork.history.check_ancestry(line[3])
