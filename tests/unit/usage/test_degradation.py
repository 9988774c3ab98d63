"""When a version of a skill is degraded, rolled back or retired."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.experience.degradation import (
    ACTIONS,
    MIN_FAILED,
    MIN_TRIALS,
    TOO_LOW,
    find_interval,
    judge,
    wilson_interval,
)
from brain.experience.usage import UsageCounts
from tests.support.cases import read_cases

CASES = read_cases(__file__)

counts = st.integers(0, 400)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"), CASES["test_the_interval_is_that_of_the_literature"]
)
def test_the_interval_is_that_of_the_literature(successes, trials, low, high):
    """Values: R. G. Newcombe, Statistics in Medicine 17 (1998), 857 to 872, table I, method 3."""
    interval = wilson_interval(successes, trials)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@given(counts, counts)
def test_an_interval_holds_its_share_and_stays_within_0_and_1(good, bad):
    interval = wilson_interval(good, good + bad)
    share = good / (good + bad) if good + bad else 0.5
    assert 0 <= interval.low <= share <= interval.high <= 1


@given(counts, counts)
def test_the_bounds_of_successes_and_of_failures_mirror_each_other(good, bad):
    interval, mirrored = wilson_interval(good, good + bad), wilson_interval(bad, good + bad)
    assert interval.low == pytest.approx(1 - mirrored.high)


@given(counts, counts)
def test_one_more_success_raises_both_bounds_and_a_failure_lowers_them(good, bad):
    interval = wilson_interval(good, good + bad)
    better, worse = (
        wilson_interval(good + 1, good + bad + 1),
        wilson_interval(good, good + bad + 1),
    )
    assert better.low >= interval.low - 1e-12
    assert worse.high <= interval.high + 1e-12


def make_version(version: int, good: int, bad: int, content: int | None = None) -> UsageCounts:
    """Make a version whose content is its own unless `content` names another."""
    known = bytes([version if content is None else content])
    return UsageCounts(path="", version=str(version), content=known, successes=good, failures=bad)


@st.composite
def version_lists(draw: st.DrawFn) -> list[UsageCounts]:
    versions = []
    for number in range(1, draw(st.integers(1, 6)) + 1):
        good, bad = draw(st.integers(0, 30)), draw(st.integers(0, 30))
        version = make_version(number, good, bad, draw(_contents))
        versions.append(replace(version, can_return=draw(st.booleans())))
    return versions


_contents = st.integers(1, 4)


@given(version_lists(), st.booleans())
def test_nothing_is_done_before_three_inputs_failed(versions, protected):
    decision = judge(versions, protected=protected)
    assert decision.action in ACTIONS
    if versions[-1].failures < MIN_FAILED:
        assert decision.action == "keep"
    elif find_interval(versions[-1]).high < TOO_LOW:
        assert decision.action != "keep"


@given(version_lists())
def test_what_is_protected_is_never_changed(versions):
    assert judge(versions, protected=True).action in ("keep", "degraded")


@given(version_lists())
def test_a_degraded_version_goes_back_to_one_that_did_better_or_is_retired(versions):
    decision = judge(versions, protected=False)
    if decision.action == "roll_back":
        to = decision.to
        assert to is not None
        assert to.can_return
        assert sum(to.trials) >= MIN_TRIALS
        assert find_interval(to).low > find_interval(versions[-1]).high
        assert to.content != versions[-1].content
    else:
        assert decision.to is None
        assert decision.action in ("keep", "retire")


@given(version_lists())
def test_another_failure_never_makes_a_present_version_better(versions):
    *earlier, present = versions
    failed = replace(present, failures=present.failures + 1)
    order = {"keep": 0, "retire": 1, "roll_back": 2}
    before, after = (judge([*earlier, each], protected=False).action for each in (present, failed))
    assert order[after] >= order[before]


def test_a_skill_without_versions_is_kept():
    assert judge([], protected=False).action == "keep"


def test_the_last_better_version_comes_back_even_if_an_older_one_did_best():
    versions = [make_version(1, 90, 0), make_version(2, 30, 3), make_version(3, 0, 3)]
    assert judge(versions, protected=False).to == versions[1]


def test_a_version_that_broke_on_new_data_comes_back_when_its_fix_is_worse():
    versions = [make_version(1, 20, 3), make_version(2, 0, 3)]
    assert judge(versions, protected=False).to == versions[0]


def test_four_inputs_are_too_few_for_a_comparison():
    present = make_version(2, 0, 40)
    assert judge([make_version(1, 4, 0), present], protected=False).action == "retire"
    assert judge([make_version(1, 5, 0), present], protected=False).action == "roll_back"


@pytest.mark.parametrize(
    ("good", "bad", "action"), CASES["test_a_version_is_retired_by_its_share_of_failures"]
)
def test_a_version_is_retired_by_its_share_of_failures(good, bad, action):
    assert judge([make_version(1, good, bad)], protected=False).action == action


def test_content_that_came_back_and_failed_again_does_not_come_back_another_time():
    """Two versions that both fail on new data do not replace each other for ever."""
    versions = [make_version(1, 40, 0, 1), make_version(2, 40, 0, 2), make_version(3, 0, 3)]
    contents = []
    for number in range(4, 10):
        decision = judge(versions, protected=False)
        if decision.to is None:
            break
        contents.append(decision.to.content)
        versions.append(make_version(number, 0, 3, decision.to.content[0]))
    assert decision.action == "retire"
    assert contents == [b"\2", b"\1"]
