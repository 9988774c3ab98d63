"""A slice of the campaigns of whole grinds."""

from tests.campaigns.grinds import grind_lessons, grind_nothing, kill_grinds


def test_edits_that_change_nothing_are_not_promoted(tmp_path):
    assert sum(grind_nothing(tmp_path / f"{at}", f"1 {at}")[1] for at in range(12)) == 0


def test_the_gate_makes_of_the_same_lessons_what_helps(tmp_path):
    for at in range(2):
        before, after = grind_lessons(tmp_path / f"g{at}", f"1 {at}", is_gated=True)
        assert after > before
        before, after = grind_lessons(tmp_path / f"u{at}", f"1 {at}", is_gated=False)
        assert after < before


def test_processes_that_are_killed_pay_once_and_end_as_one_that_was_not(tmp_path):
    found = kill_grinds(tmp_path, cycles=12, kills=2, seed=1)
    assert found["kept"] and found["is_whole"]
    assert (found["again"], found["moved_tags"], found["differs"]) == (0, 0, [])
