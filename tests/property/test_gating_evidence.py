"""The evidence of the gate, against plain sums over all that can happen."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import comb, prod

from hypothesis import given
from hypothesis import strategies as st

from brain.gating.decision import DEFAULT_RULES, CaseRow, decide
from brain.gating.evidence import e_value, e_value_of_scores

COUNTS = st.integers(0, 25)
OUTCOMES = st.sampled_from("ppfe")
ONE = Fraction(1)


def integrate(polynomial: Sequence[Fraction]) -> Fraction:
    """Return the integral from 0 to 1 of a polynomial, its constant first."""
    return sum((part / (power + 1) for power, part in enumerate(polynomial)), Fraction(0))


def multiply(one: Sequence[Fraction], other: Sequence[Fraction]) -> list[Fraction]:
    """Return the product of two polynomials."""
    result = [Fraction(0)] * (len(one) + len(other) - 1)
    for (i, a), (j, b) in product(enumerate(one), enumerate(other)):
        result[i + j] += a * b
    return result


def plain_e(scores: Sequence[Fraction]) -> Fraction:
    """Return E as it is defined."""
    polynomial = [ONE]
    for score in scores:
        polynomial = multiply(polynomial, [ONE, score])
    return (prod((1 + score for score in scores), start=ONE) + integrate(polynomial)) / 2


@st.composite
def rounds_of_scores(draw: st.DrawFn) -> tuple[list[int], int]:
    """Balances of cases, and their number of rounds."""
    rounds = draw(st.integers(1, 12))
    return draw(st.lists(st.integers(-rounds, rounds), max_size=9)), rounds


@st.composite
def trials(draw: st.DrawFn) -> list[CaseRow]:
    """Rows of equal length."""
    rounds = draw(st.sampled_from([0, 1, 2, 5, 6, 12]))
    texts = st.text(OUTCOMES, min_size=rounds, max_size=rounds)
    sides = draw(st.lists(st.tuples(texts, texts, st.sampled_from([False, False, True]))))
    return [
        CaseRow(name=f"zebra-{n}", before=before, after=after, is_guard=is_guard)
        for n, (before, after, is_guard) in enumerate(sides)
    ]


@given(COUNTS, COUNTS)
def test_the_closed_form_is_the_integral(wins, losses):
    expanded = [
        sum(
            Fraction((-1) ** j * comb(losses, j) * comb(wins, power - j))
            for j in range(min(power, losses) + 1)
            if power - j <= wins
        )
        for power in range(wins + losses + 1)
    ]
    all_wins = 0 if losses else 2**wins
    assert e_value(wins, losses) == (all_wins + integrate(list(map(Fraction, expanded)))) / 2


@given(rounds_of_scores())
def test_e_of_scores_is_what_its_definition_says(drawn):
    balances, rounds = drawn
    assert e_value_of_scores(balances, rounds) == plain_e([Fraction(b, rounds) for b in balances])


@given(COUNTS, COUNTS, COUNTS)
def test_with_one_round_both_forms_are_one_number(wins, losses, ties):
    balances = [0] * ties + [1] * wins + [-1] * losses
    assert e_value_of_scores(balances, 1) == e_value(wins, losses)
    assert e_value_of_scores([7 * one for one in balances], 7) == e_value(wins, losses)


@given(COUNTS, COUNTS)
def test_a_win_raises_e_and_a_loss_lowers_it(wins, losses):
    assert e_value(wins + 1, losses) > e_value(wins, losses) > e_value(wins, losses + 1)
    # A fair coin: what a win adds, a loss takes.
    assert e_value(wins + 1, losses) + e_value(wins, losses + 1) == 2 * e_value(wins, losses)


@given(rounds_of_scores(), st.data())
def test_a_better_score_never_lowers_e(drawn, data):
    balances, rounds = drawn
    raised = [data.draw(st.integers(balance, rounds)) for balance in balances]
    assert e_value_of_scores(raised, rounds) >= e_value_of_scores(balances, rounds)


@given(rounds_of_scores(), st.integers(1, 4))
def test_e_grows_at_least_as_a_power_with_cases_such_as_these(drawn, copies):
    balances, rounds = drawn
    assert e_value_of_scores(balances * copies, rounds) >= e_value_of_scores(balances, rounds) ** (
        copies
    )


@given(rounds_of_scores())
def test_a_change_with_no_more_wins_than_losses_has_no_evidence(drawn):
    balances, rounds = drawn
    if sum(balances) <= 0:
        assert e_value_of_scores(balances, rounds) <= 1


SHARES = st.integers(0, 4).map(lambda count: Fraction(count, 8))


@given(st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=4))
def test_a_useless_change_has_an_expected_e_of_at_most_one(chances):
    """Every outcome of one round, of cases that win and lose with these probabilities."""
    mean = sum((win - lose for win, lose in chances), Fraction(0))
    expected = Fraction(0)
    for outcome in product((1, 0, -1), repeat=len(chances)):
        odds = [
            {1: win, 0: 1 - win - lose, -1: lose}[one]
            for one, (win, lose) in zip(outcome, chances, strict=True)
        ]
        expected += prod(odds, start=ONE) * e_value_of_scores(outcome, 1)
    assert mean > 0 or expected <= 1
    assert mean < 0 or any(win != lose for win, lose in chances) or expected == 1


@given(
    st.sampled_from([[0, 0], [Fraction(1, 4), Fraction(-1, 4)], [Fraction(1, 2), Fraction(-1, 2)]]),
    st.sampled_from([Fraction(0), Fraction(1, 4)]),
)
def test_looking_after_every_round_is_free(gains, noise):
    """Every course of three rounds of two cases, whose gains are 0 in the mean."""
    odds = [
        {1: noise + max(gain, 0), -1: noise + max(-gain, 0), 0: 1 - 2 * noise - abs(gain)}
        for gain in gains
    ]
    reached: dict[Fraction, Fraction] = {Fraction(t, 4): Fraction(0) for t in range(5, 12)}
    for course in product((1, 0, -1), repeat=6):
        rounds = [course[0:2], course[2:4], course[4:6]]
        chance = prod((odds[n % 2][one] for n, one in enumerate(course)), start=ONE)
        if not chance:
            continue
        best = max(
            e_value_of_scores(map(sum, zip(*rounds[:count], strict=True)), count)
            for count in (1, 2, 3)
        )
        for threshold in reached:
            reached[threshold] += chance * (best >= threshold)
    assert all(chance <= 1 / threshold for threshold, chance in reached.items())


@given(st.integers(1, 3), st.data())
def test_e_of_all_rounds_is_the_mean_of_e_with_a_round_of_each_case_left_out(rounds, data):
    """So E is a martingale when the rounds are read backwards."""
    cases = data.draw(
        st.lists(
            st.lists(st.sampled_from([-1, 0, 1]), min_size=rounds + 1, max_size=rounds + 1),
            min_size=1,
            max_size=4,
        )
    )
    shortened = [[sum(case) - left_out for left_out in case] for case in cases]
    every = [e_value_of_scores(balances, rounds) for balances in product(*shortened)]
    assert sum(every) / len(every) == e_value_of_scores(map(sum, cases), rounds + 1)


@given(trials(), st.booleans(), st.randoms())
def test_the_order_of_the_cases_changes_nothing(rows, repeats_itself, random):
    mixed = list(rows)
    random.shuffle(mixed)
    assert decide(mixed, repeats_itself=repeats_itself) == decide(
        rows, repeats_itself=repeats_itself
    )


@given(trials(), st.booleans())
def test_only_evidence_on_enough_cases_and_rounds_admits(rows, repeats_itself):
    decision = decide(rows, repeats_itself=repeats_itself)
    assert decision.wins + decision.losses + decision.ties == decision.cases * decision.rounds
    assert decision.more_cases == 0 or decision.gate == "undecided"
    if decision.gate == "admit":
        assert decision.e_value >= DEFAULT_RULES.threshold
        assert decision.cases >= DEFAULT_RULES.min_cases
        assert decision.wins > decision.losses and not decision.worse
        assert repeats_itself or decision.rounds >= DEFAULT_RULES.min_rounds
    if decision.worse:
        assert decision.gate == "reject"


@given(trials(), st.booleans())
def test_a_reason_names_no_held_out_case(rows, repeats_itself):
    assert "zebra" not in decide(rows, repeats_itself=repeats_itself).reason


@given(st.lists(st.sampled_from(["fp", "pp", "ff", "pf"]), min_size=5, max_size=20))
def test_guards_bring_no_gain(pairs):
    rows = [CaseRow(name=str(n), before=b, after=a) for n, (b, a) in enumerate(pairs)]
    guards = [CaseRow(name=f"guard {n}", before="f", after="p", is_guard=True) for n in range(9)]
    assert decide(rows + guards, repeats_itself=True) == decide(rows, repeats_itself=True)
