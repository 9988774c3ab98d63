import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from brain.gating.evidence import e_value, e_value_of_scores


@pytest.mark.parametrize(
    ("wins", "losses", "expected"),
    [
        (0, 0, Fraction(1)),
        (1, 0, Fraction(7, 4)),
        (0, 1, Fraction(1, 4)),
        (1, 1, Fraction(1, 3)),
        (4, 0, Fraction(111, 10)),
        (5, 0, Fraction(85, 4)),
        (8, 1, Fraction(1013, 180)),
    ],
)
def test_e_of_wins_and_losses_is_an_exact_fraction(wins, losses, expected):
    assert e_value(wins, losses) == expected


def test_five_wins_without_a_loss_are_the_fewest_that_reach_twenty():
    assert e_value(4, 0) < 20 < e_value(5, 0)


def test_thousands_of_runs_give_a_fraction_without_rounding():
    found = e_value(2500, 1500)
    assert found > 10**50
    assert e_value(2501, 1500) + e_value(2500, 1501) == 2 * found


def test_ties_change_nothing():
    assert e_value_of_scores([3, 0, -1, 0, 0], 6) == e_value_of_scores([-1, 3], 6)


def test_without_cases_there_is_no_evidence():
    assert e_value_of_scores([], 1) == e_value_of_scores([], 9) == 1


def test_half_of_the_rounds_won_counts_as_half_a_score():
    # 1/2 (3/2)^2 + 1/2 (1 + 1/2 + 1/12)
    assert e_value_of_scores([3, 3], 6) == Fraction(9, 8) + Fraction(19, 24)


def test_repeating_the_same_outcomes_adds_no_evidence():
    once = e_value_of_scores([1, 1, 1, -1], 1)
    assert e_value_of_scores([12, 12, 12, -12], 12) == once


def test_the_ten_lines_of_the_page_give_the_same_evidence():
    page = (Path(__file__).parents[3] / "docs/concepts/gate.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Callable[[list[Fraction]], Fraction]] = {}
    exec(code, names)
    for balances in ([], [1] * 5, [5, 3, 0, -1, 2, 2, -5], [12, -12, 7]):
        rounds = max(balances, default=1)
        scores = [Fraction(balance, rounds) for balance in balances]
        assert names["evidence"](scores) == e_value_of_scores(balances, rounds)


def test_the_table_of_the_page_is_right():
    page = (Path(__file__).parents[3] / "docs/concepts/gate.md").read_text("utf-8")
    head, values = (
        [cell.strip() for cell in row.split("|")[2:-1]]
        for row in re.findall(r"^\| (?:better, none worse|E) \|.*$", page, re.MULTILINE)
    )
    for wins, value in zip(map(int, head), values, strict=True):
        digits = len(value.partition(".")[2])
        assert f"{float(e_value(wins, 0)):.{digits}f}" == value
