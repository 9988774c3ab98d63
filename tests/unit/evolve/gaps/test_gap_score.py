"""The score of a failed goal: the signals, their weights, and the threshold."""

import pytest

from brain.experience.gaps import (
    ERROR_KEYWORDS,
    OpenGap,
    has_error_keyword,
    has_reflection_keyword,
)
from tests.support.cases import read_cases

CASES = read_cases(__file__)


@pytest.mark.parametrize(
    ("failures", "in_error", "in_reflections", "percent"),
    [
        (0, False, False, 0),
        (1, False, False, 20),
        (2, False, False, 40),
        (3, False, False, 60),
        (300, False, False, 60),
        (1, True, False, 40),
        (1, False, True, 40),
        (1, True, True, 60),
        (2, True, False, 60),
        (3, True, True, 100),
    ],
)
def test_each_signal_has_its_weight(failures, in_error, in_reflections, percent):
    signals = {"has_error_keyword": in_error, "has_reflection_keyword": in_reflections}
    rest = dict.fromkeys(("key", "goal", "tool", "since", "last", "error", "reflections"))
    gap = OpenGap(failures=failures, **signals, **rest)
    assert (gap.percent, gap.is_due) == (percent, percent > 50)
    assert gap.score == f"{percent / 100:.2f}"


@pytest.mark.parametrize("keyword", ERROR_KEYWORDS)
def test_each_keyword_of_an_error_counts_in_any_case(keyword):
    assert has_error_keyword(f"run 7: {keyword}: yaml")
    assert has_error_keyword(keyword.upper())


@pytest.mark.parametrize("error", ["", "exit status 1", "notfound", "disabledness", "timed out"])
def test_other_errors_do_not_count(error):
    assert not has_error_keyword(error)


def test_a_keyword_far_behind_the_beginning_of_an_error_is_not_looked_for():
    assert not has_error_keyword("x" * 5_000 + " ImportError")


@pytest.mark.parametrize("reflection", CASES["test_an_agent_that_says_what_it_lacks_is_heard"])
def test_an_agent_that_says_what_it_lacks_is_heard(reflection):
    assert has_reflection_keyword(reflection)


@pytest.mark.parametrize(
    "reflection", CASES["test_praise_quotations_and_other_people_are_not_taken_for_a_gap"]
)
def test_praise_quotations_and_other_people_are_not_taken_for_a_gap(reflection):
    assert not has_reflection_keyword(reflection)


@pytest.mark.parametrize("piece", ["`", '"', "```", "i i i ", "cannot ", "no ", "> ", "\n    "])
def test_a_long_reflection_is_scanned_in_bounded_time(piece):
    assert has_reflection_keyword(piece * 200_000) in (False, True)
