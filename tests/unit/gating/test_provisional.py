"""A change that helps these very cases: provisional, beside what helps tasks like these."""

from random import Random

import pytest

from brain.gating.decision import DEFAULT_RULES, CaseRow, GateDecision, decide, find_round_limit
from tests.campaigns.null_edits import NOISES, ScriptedRuns, attempt_edit, draw_before


def try_rows(*sides: tuple[int, str, str], guards: int = 0, **given: object) -> GateDecision:
    rows = [(before, after) for count, before, after in sides for _ in range(count)]
    own = len(rows) - guards
    return decide(
        [
            CaseRow(name=f"{at}", before=before, after=after, is_guard=at >= own)
            for at, (before, after) in enumerate(rows)
        ],
        repeats_itself=len(rows[0][0]) < 3,
        **given,  # type: ignore[arg-type]
    )


F, P = "f" * 5, "p" * 5
TABLE = {
    "two of five got better, twice alike": ([(2, "ff", "pp"), (3, "ff", "ff")], True),
    "one of five got better": ([(1, "ff", "pp"), (4, "ff", "ff")], False),
    "one round is not checked yet": ([(2, "f", "p"), (3, "f", "f")], False),
    "two got better and one worse": ([(2, "ff", "pp"), (1, "pp", "ff")], False),
    "nine wins in five rounds": ([(3, F, "pppff"), (5, F, F)], True),
    "eight wins in five rounds": ([(2, F, "pppff"), (1, F, "ppfff"), (5, F, F)], False),
    "nine wins in four rounds": ([(3, "ffff", "pppf"), (5, "ffff", "ffff")], False),
    "one case alone won": ([(1, "f" * 12, "p" * 12), (7, "f" * 12, "f" * 12)], False),
    "one of them lost half": ([(5, F, "pppff"), (1, "ppppp", "pfffp")], False),
    "E was reached and is below now": (
        [(4, "fffff" + "pppp", "ppppp" + "pfff"), (4, "f" * 9, "f" * 9)],
        True,
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_what_is_shown_to_help_these_very_cases(name):
    sides, is_provisional = TABLE[name]
    decision = try_rows(*sides)
    assert decision.is_provisional is is_provisional
    assert ("these very cases gain" in decision.reason) is is_provisional


def test_a_guard_that_lost_half_keeps_a_change_from_being_provisional():
    sides = [(5, F, "pppff"), (1, P, "ppfff")]
    assert not try_rows(*sides, guards=1).is_provisional
    assert try_rows(*sides[:1]).is_provisional


def test_a_change_that_no_run_read_is_not_tried_further():
    decision = try_rows((5, "fff", "ppp"), read_cases=0)
    assert (decision.gate, decision.is_provisional, decision.is_final) == ("undecided", False, True)
    assert decision.reason == "read in 0 of 5 tasks, so its text was not tried"
    assert not try_rows((5, "fff", "ppp"), read_cases=1).is_final


@pytest.mark.parametrize(
    ("sides", "is_final"),
    [
        ([(2, "f", "p"), (3, "f", "f")], False),  # a second round tells whether it repeats itself
        ([(1, "f", "p"), (7, "f", "f")], True),
        ([(5, "f", "p")], True),
        ([(4, F, P)], False),  # never admitted, but later cases go on with as many rounds
        ([(4, F, F)], False),
        ([(8, F, "pffff")], False),  # may still be admitted
        ([(8, "f" * 12, "pfffff" * 2)], True),
    ],
)
def test_rounds_end_where_no_other_can_show_more(sides, is_final):
    assert try_rows(*sides).is_final is is_final


def test_a_runner_is_checked_for_what_it_promises():
    rows = [CaseRow(name="a", before="ff", after="pp"), CaseRow(name="b", before="ff", after="ff")]
    assert find_round_limit(rows, repeats_itself=True) == 2
    broken = [*rows, CaseRow(name="c", before="fp", after="pp")]
    assert find_round_limit(broken, repeats_itself=True) == DEFAULT_RULES.max_rounds
    assert find_round_limit(rows, repeats_itself=False) == DEFAULT_RULES.max_rounds
    graded = CaseRow(name="c", before="ff", after="ff", scores=(1, 2, 2, 2))
    assert find_round_limit([*rows, graded], repeats_itself=True) == DEFAULT_RULES.max_rounds


def test_scores_count_as_such():
    def rows(gain: int) -> list[CaseRow]:
        scores = (400, 400 + gain) * 12
        return [
            CaseRow(name=f"{at}", before="f" * 12, after="f" * 12, scores=scores) for at in range(8)
        ]

    small, large = (decide(rows(gain), repeats_itself=False) for gain in (50, 100))
    assert (small.is_provisional, large.is_provisional) == (False, True)
    assert (large.wins, large.gate) == (96, "undecided") and 1 < small.e_of_runs < 20


@pytest.mark.parametrize("noise", ["low", "middle"])
def test_a_gain_of_twenty_points_in_eight_cases_is_found_and_none_is_not(noise):
    """Fixed seeds; `python -m tests.campaigns.null_edits` measures with thousands of attempts."""
    rng, found = Random(29), {0.0: 0, 0.2: 0}
    for gain in found:
        for _ in range(100):
            before = draw_before(rng, 8, NOISES[noise], "everywhere", 0.2)
            runs = ScriptedRuns(rng, before, [p + gain for p in before])
            found[gain] += attempt_edit(runs, DEFAULT_RULES, False).is_live
    assert found[0.0] <= 5 and found[0.2] >= 70
