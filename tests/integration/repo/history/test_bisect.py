from pathlib import Path

import pytest

from brain import Brain, InvalidInput
from brain.repo.history.bisect import BisectCheck
from tests.support.brain_templates import copy_brain
from tests.support.refusals import raises_code


@pytest.fixture
def brain(tmp_path):
    return Brain.open(copy_brain(_make_brain, tmp_path / "agent"), author="tester")


def _make_brain(root: Path) -> None:
    with Brain.init(root, author="tester") as made:
        for n in range(20):
            made.skills.upsert("Counter", f"count {n}\n")
            made.skills.upsert(f"Extra {n}", "x\n")


def count(folder: Path) -> int:
    return int((folder / "skills/counter/SKILL.md").read_text().rsplit("count ", 1)[1])


@pytest.mark.parametrize("broken", [1, 7, 13, 19])
def test_the_first_snapshot_that_fails_is_found_in_few_steps(brain, broken):
    found = brain.history.bisect("@~39", lambda folder, _: count(folder) < broken)
    assert found.first_bad is not None
    history = {row.version: row.snapshot for row in brain.skills.history("counter")}
    assert found.first_bad == history[broken + 1]
    assert found.suspects == [found.first_bad]
    assert brain.history.show(found.first_bad).info.parents == [found.last_good]
    assert len(found.tested) <= 8


def test_each_candidate_is_laid_out_whole(brain):
    def check(folder: Path, snapshot: str) -> bool:
        there = {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()}
        assert {f"skills/{s.slug}/SKILL.md" for s in brain.skills.list(snapshot)} < there
        return len(there) < 15

    assert brain.history.bisect("@~39", check).first_bad is not None


def test_snapshots_that_cannot_be_told_leave_a_range(brain):
    def check(folder: Path, _: str) -> bool | None:
        n = count(folder)
        return None if 8 <= n <= 10 else n < 9

    found = brain.history.bisect("@~39", check)
    assert found.first_bad is None
    assert len(found.suspects) == 7
    assert {row.verdict for row in found.tested} == {"good", "bad", "untold"}


def test_neither_head_nor_folder_is_touched(brain):
    head = brain.head
    brain.history.bisect("@~39", lambda folder, _: count(folder) < 5)
    assert brain.head == head and brain.status().clean


def test_a_good_snapshot_that_does_not_come_before_the_bad_one_is_refused(brain):
    for good, bad in (("@", "@~3"), ("@", "@")):
        with raises_code("not_a_line", InvalidInput):
            brain.history.bisect(good, lambda folder, _: True, bad)


def test_a_search_without_an_earlier_snapshot_says_what_is_missing(brain, tmp_path):
    with pytest.raises(InvalidInput, match="the good and the bad snapshot are the same"):
        brain.history.bisect("@", lambda folder, _: True)
    new = Brain.init(tmp_path / "new", author="tester")
    with new, pytest.raises(InvalidInput, match="is the first snapshot") as caught:
        new.history.bisect("@", lambda folder, _: True)
    assert "two snapshots" in caught.value.hint


def test_the_ends_are_tested_before_anything_is_said(brain):
    tested: list[str] = []

    def check_with(verdicts: dict[str, bool | None]) -> BisectCheck:
        def check(_: Path, snapshot: str) -> bool | None:
            tested.append(snapshot)
            return verdicts[snapshot]

        return check

    good, bad = brain.history.resolve("@~5"), brain.head
    for verdicts, words, count in (
        ({bad: True}, "the bad snapshot, .* passes the check", 1),
        ({bad: None}, "the bad snapshot, .* cannot be tested", 1),
        ({bad: False, good: False}, "the good snapshot, .* fails the check", 2),
    ):
        tested.clear()
        with raises_code("wrong_end", InvalidInput, match=words):
            brain.history.bisect(good, check_with(verdicts))
        assert tested == [bad, good][:count]
