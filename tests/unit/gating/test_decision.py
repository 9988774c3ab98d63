from collections.abc import Sequence
from fractions import Fraction

import pytest

from brain.errors import InvalidInput
from brain.gating.decision import CaseRow, GateDecision, GateRules, decide, show_e
from tests.support.refusals import raises_code


def make_rows(*sides: tuple[str, str], is_guard: bool = False) -> list[CaseRow]:
    """Return rows with these outcomes before and after."""
    prefix = "guard" if is_guard else "case"
    return [
        CaseRow(name=f"{prefix}-{n}", before=before, after=after, is_guard=is_guard)
        for n, (before, after) in enumerate(sides)
    ]


def decide_program(rows: Sequence[CaseRow]) -> GateDecision:
    """Decide about a runner that gives the same outcome each time."""
    return decide(rows, repeats_itself=True)


def decide_model(rows: Sequence[CaseRow]) -> GateDecision:
    """Decide about a runner whose outcomes vary."""
    return decide(rows, repeats_itself=False)


WON, LOST, PASSED, FAILED = ("f", "p"), ("p", "f"), ("p", "p"), ("f", "f")


def test_five_wins_of_eight_admit_and_say_why():
    decision = decide_program(make_rows(*[WON] * 5, *[PASSED] * 3))
    assert decision == GateDecision(
        gate="admit",
        reason="5 of 8 held-out cases got better, none worse: E = 21.2 >= 20",
        cases=8,
        rounds=1,
        wins=5,
        losses=0,
        ties=3,
        e_value=Fraction(85, 4),
        is_final=True,
    )


@pytest.mark.parametrize(
    ("wins", "ties", "more"), [(3, 0, 2), (4, 0, 1), (3, 5, 6), (4, 4, 2), (1, 7, 32), (2, 1, 5)]
)
def test_too_few_wins_are_undecided_and_say_how_many_more_cases_it_takes(wins, ties, more):
    decision = decide_program(make_rows(*[WON] * wins, *[FAILED] * ties))
    assert decision.gate == "undecided" and decision.more_cases == more
    assert f"{more} more cases such as these would do" in decision.reason


def test_so_many_more_cases_at_the_rate_seen_do_it():
    sides = [WON] * 3 + [PASSED] * 5
    more = decide_program(make_rows(*sides)).more_cases
    wins = 3 * (8 + more) // 8
    grown = make_rows(*[WON] * wins, *[PASSED] * (8 + more - wins))
    assert decide_program(grown).gate == "admit"
    assert decide_program(grown[1:]).gate == "undecided"


def test_fewer_than_five_cases_never_admit_by_rule():
    decision = decide_model(make_rows(*[("f" * 12, "p" * 12)] * 4))
    assert decision.gate == "undecided" and decision.more_cases == 1
    assert decision.reason.startswith("a rule admits from 5 held-out cases, and there are 4;")


def test_no_cases_are_undecided_and_need_five():
    decision = decide_program([])
    assert (decision.gate, decision.more_cases, decision.e_value) == ("undecided", 5, 1)
    assert (decision.cases, decision.rounds) == (0, 0)


def test_one_loss_of_a_program_is_a_case_made_worse():
    decision = decide_program(make_rows(*[WON] * 9, LOST))
    assert decision.gate == "reject" and decision.worse == ("case-9",)
    assert decision.reason == (
        "1 held-out case got worse; 9 of 10 held-out cases got better, 1 worse"
    )


def test_a_guard_made_worse_rejects_whatever_the_gain():
    decision = decide_program([*make_rows(*[WON] * 9), *make_rows(LOST, is_guard=True)])
    assert decision.gate == "reject" and decision.worse == ("guard-0",)
    assert (decision.cases, decision.losses) == (9, 0)
    assert decision.reason.startswith("1 case of other skills got worse;")


def test_a_case_that_hangs_after_the_change_is_worse():
    assert decide_program(make_rows(*[WON] * 6, ("p", "e"))).worse == ("case-6",)


def test_an_error_is_a_failure_before_the_change_too():
    assert decide_program(make_rows(*[("e", "p")] * 5)).gate == "admit"
    assert decide_program(make_rows(*[("e", "f")] * 5, *[("f", "e")] * 5)).ties == 10


@pytest.mark.parametrize("sides", [FAILED, ("pf", "pf")])
def test_all_ties_are_no_gain(sides):
    decision = decide(make_rows(*[sides] * 8), GateRules(min_rounds=1), repeats_itself=False)
    assert decision.gate == "reject" and decision.reason.startswith("no gain: 0 of 8")
    assert decision.more_cases == 0


def test_cases_that_passed_before_can_show_no_gain_and_that_is_said():
    decision = decide_program(make_rows(*[PASSED] * 8))
    assert decision.gate == "reject"
    assert decision.reason.startswith("no gain can be shown: every held-out case passed before;")


def test_nothing_but_errors_is_undecided():
    decision = decide_program(make_rows(*[("e", "e")] * 8))
    assert decision.gate == "undecided" and decision.more_cases == 0
    assert decision.reason.startswith("every run ended in an error")


def test_no_round_is_undecided():
    decision = decide_model(make_rows(*[("", "")] * 8))
    assert decision.gate == "undecided" and decision.reason.startswith("no round was run")


def test_outcomes_that_vary_are_looked_at_from_the_fifth_round():
    early, late = (decide_model(make_rows(*[("f" * n, "p" * n)] * 8)) for n in (4, 5))
    assert early.gate == "undecided" and early.more_cases == 0
    assert early.reason.startswith("4 of at least 5 rounds were run;")
    assert late.gate == "admit"


def test_more_rounds_of_the_same_outcomes_are_not_more_evidence():
    sides = [("f" * 12, "p" * 12)] * 4 + [("p" * 12, "p" * 12)] * 20
    decision = decide_model(make_rows(*sides))
    assert decision.gate == "undecided" and decision.e_value == Fraction(111, 10)
    assert decision.wins == 48


def test_losing_on_the_whole_is_seen_before_the_fifth_round():
    decision = decide_model(make_rows(*[("pp", "ff")] * 6, *[("pf", "pf")] * 9))
    assert decision.gate == "reject" and decision.reason.startswith("worse on the whole: ")


def test_a_case_of_a_model_is_worse_once_its_losses_are_beyond_chance():
    gains = [("f" * 9, "p" * 9)] * 8
    decision = decide_model(make_rows(*gains, ("p" * 9, "f" * 9)))
    assert decision.gate == "reject" and decision.worse == ("case-8",)
    assert "got worse beyond chance" in decision.reason


def test_a_case_that_lost_half_of_the_rounds_holds_a_change_up_and_may_clear_up():
    gains = [("f" * 6, "p" * 6)] * 8
    decision = decide_model(make_rows(*gains, ("pppppp", "fffppp")))
    assert decision.gate == "undecided" and not decision.worse
    assert decision.reason.endswith("but 1 case lost half of the rounds or more")
    assert decide_model(make_rows(*gains, ("pppppp", "ffpppp"))).gate == "admit"


def test_a_guard_that_lost_half_of_the_rounds_holds_a_change_up_too():
    gains = make_rows(*[("f" * 5, "p" * 5)] * 8)
    guards = make_rows(("ppppp", "fffpp"), is_guard=True)
    assert decide_model([*gains, *guards]).gate == "undecided"
    assert decide_model(gains).gate == "admit"


def test_a_gain_that_is_too_small_for_any_number_of_cases_says_so():
    sides = [("fffff", "pffff")] * 3 + [("pffff", "fffff")] * 2 + [("ppppp", "ppppp")] * 19
    decision = decide_model(make_rows(*sides))
    assert decision.gate == "undecided" and decision.more_cases == 0
    assert decision.reason.endswith("the gain is too small")


def test_more_cases_of_a_model_are_counted_by_how_e_grows():
    decision = decide_model(make_rows(*[("fffff", "pppff")] * 5))
    assert decision.gate == "undecided"
    grown = decide_model(make_rows(*[("fffff", "pppff")] * (5 + decision.more_cases)))
    assert grown.gate == "admit"


@pytest.mark.parametrize("sides", [("pp", "p"), ("p", "pp"), ("p", ""), ("x", "p"), ("p", "P")])
def test_rows_that_are_no_whole_rounds_are_refused(sides):
    with raises_code("bad_rounds", InvalidInput) as caught:
        decide_program(make_rows(WON, sides))
    assert "case-1" in caught.value.message


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(1, 40), "0.0"),
        (Fraction(19999, 1000), "19.9"),
        (Fraction(12345, 100), "123"),
        (Fraction(9999, 100), "99.9"),
        (Fraction(100), "100"),
        (Fraction(10**6 - 1), "999999"),
        (Fraction(10**6), "1000000 or more"),
    ],
)
def test_an_e_value_is_shown_rounded_down(value, shown):
    assert show_e(value) == shown


def test_reaching_the_threshold_exactly_is_enough():
    rules = GateRules(threshold=2, min_cases=2)
    better = [("f" * 26, "p" * wins + "f" * (26 - wins)) for wins in (13, 15)]
    decision = decide(make_rows(*better), rules, repeats_itself=False)
    assert decision.e_value == 2 and decision.gate == "admit"
    # The same scores turned round, with wins between the losses, so that no case stands out.
    worse = [("f" * w + "p" * (26 - w), "p" * w + "f" * (26 - w)) for w in (6, 5)]
    worse = [(before[:-1] + "p", after[:-1] + "p") for before, after in worse]
    rejected = decide(
        make_rows(*worse, *[("p" * 26, "p" * 26)] * 18),
        GateRules(threshold=2),
        repeats_itself=False,
    )
    assert (rejected.gate, rejected.worse) == ("reject", ())
    assert rejected.reason.endswith("E of the losses = 2.0")


def test_a_row_is_a_case_of_the_skill_itself_unless_it_says_otherwise():
    assert decide_program([CaseRow(name="a", before="f", after="p")]).cases == 1
