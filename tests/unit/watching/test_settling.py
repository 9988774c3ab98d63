"""When a change is over; times are numbers here."""

from __future__ import annotations

from brain.watching.events import Seen
from brain.watching.settling import Settling


def seen(*paths: str, writing: tuple[str, ...] = ()) -> Seen:
    return Seen(frozenset(paths), False, frozenset(writing))


def test_nothing_waits_until_something_changed() -> None:
    settling = Settling(2, 10)
    assert not settling and settling.left(5) is None
    settling.note(Seen(), 5)
    assert not settling and settling.left(5) is None


def test_a_change_is_over_when_nothing_moved_for_the_quiet_time() -> None:
    settling = Settling(2, 10)
    settling.note(seen("a"), 5)
    settling.note(seen("b"), 6)
    assert (settling.left(6), settling.left(7), settling.left(8), settling.left(9)) == (2, 1, 0, 0)
    assert settling.take() == ["a", "b"]
    assert settling.left(9) is None


def test_a_change_that_goes_on_is_over_at_the_longest_time() -> None:
    settling = Settling(2, 10)
    for now in range(20, 30):
        settling.note(seen("a"), now)
    assert settling.left(29) == 1


def test_a_file_that_is_still_written_to_is_waited_for() -> None:
    settling = Settling(2, 10)
    settling.note(seen("a", writing=("a",)), 5)
    assert settling.left(9) == 6
    settling.note(seen("a"), 9)
    assert settling.left(9) == 2


def test_a_file_that_stays_open_holds_up_no_later_change() -> None:
    settling = Settling(2, 10)
    settling.note(seen("log", writing=("log",)), 0)
    assert settling.take() == ["log"]
    settling.note(seen("a", writing=("log",)), 20)
    assert settling.left(20) == 2


def test_of_paths_inside_each_other_the_outer_one_is_looked_at() -> None:
    settling = Settling(2, 10)
    settling.note(seen("a/b/c", "a/b-c", "a/b", "d/e/f", "d"), 0)
    assert settling.take() == ["a/b", "a/b-c", "d"]


def test_all_is_looked_at_once_anything_may_have_changed() -> None:
    settling = Settling(2, 10)
    settling.note(seen("a"), 0)
    settling.note(Seen(everything=True), 1)
    assert settling.take() is None
    settling.note(seen("a"), 2)
    assert settling.take() == ["a"]
