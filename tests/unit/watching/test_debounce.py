"""When a change is over; times are numbers here."""

from brain.watching.change_events import ObservedChanges
from brain.watching.debounce import Debouncer


def seen(*paths: str, writing: tuple[str, ...] = ()) -> ObservedChanges:
    return ObservedChanges(frozenset(paths), False, frozenset(writing))


def test_nothing_waits_until_something_changed():
    settling = Debouncer(2, 10)
    assert not settling and settling.seconds_left(5) is None
    settling.add_changes(ObservedChanges(), 5)
    assert not settling and settling.seconds_left(5) is None


def test_a_change_is_over_when_nothing_moved_for_the_quiet_time():
    settling = Debouncer(2, 10)
    settling.add_changes(seen("a"), 5)
    settling.add_changes(seen("b"), 6)
    assert (
        settling.seconds_left(6),
        settling.seconds_left(7),
        settling.seconds_left(8),
        settling.seconds_left(9),
    ) == (2, 1, 0, 0)
    assert settling.take_changes() == ["a", "b"]
    assert settling.seconds_left(9) is None


def test_a_change_that_goes_on_is_over_at_the_longest_time():
    settling = Debouncer(2, 10)
    for now in range(20, 30):
        settling.add_changes(seen("a"), now)
    assert settling.seconds_left(29) == 1


def test_a_file_that_is_still_written_to_is_waited_for():
    settling = Debouncer(2, 10)
    settling.add_changes(seen("a", writing=("a",)), 5)
    assert settling.seconds_left(9) == 6
    settling.add_changes(seen("a"), 9)
    assert settling.seconds_left(9) == 2


def test_a_file_that_stays_open_holds_up_no_later_change():
    settling = Debouncer(2, 10)
    settling.add_changes(seen("log", writing=("log",)), 0)
    assert settling.take_changes() == ["log"]
    settling.add_changes(seen("a", writing=("log",)), 20)
    assert settling.seconds_left(20) == 2


def test_of_paths_inside_each_other_the_outer_one_is_looked_at():
    settling = Debouncer(2, 10)
    settling.add_changes(seen("a/b/c", "a/b-c", "a/b", "d/e/f", "d"), 0)
    assert settling.take_changes() == ["a/b", "a/b-c", "d"]


def test_all_is_looked_at_once_anything_may_have_changed():
    settling = Debouncer(2, 10)
    settling.add_changes(seen("a"), 0)
    settling.add_changes(ObservedChanges(rescan_needed=True), 1)
    assert settling.take_changes() is None
    settling.add_changes(seen("a"), 2)
    assert settling.take_changes() == ["a"]
