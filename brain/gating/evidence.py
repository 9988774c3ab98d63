"""The evidence that a change helps, as an E-value: exact fractions that anybody can derive.

Each case has a score: the share of its rounds that were won, less the share that was lost. The
E-value bets on the scores, all or a part l of what there is:

    E = 1/2 product(1 + score) + 1/2 integral of product(1 + l score) over l from 0 to 1

With one round the scores are 1, 0 and -1, and E has a closed form (`e_value`).

Why at most one harmless or useless change in `threshold` reaches it, however often one looks:

1. A change is useless if the mean of its true scores is at most 0: over cases drawn from the tasks
   the skill is for, or over these very cases. Cases are independent, so for every l the expected
   product is product(1 + l mean_i) <= (1 + l mean)^cases <= 1 (arithmetic over geometric mean).
2. The average over l of such products has an expectation of at most 1 too. That is an E-value.
3. Rounds of one case are exchangeable, so its score after r rounds is the expected score after r,
   given those after r + 1, r + 2, ...: read backwards in r, E is a martingale.
4. A non-negative martingale that begins at 1 in the mean ever reaches t with a probability of at
   most 1/t (Ville's inequality). So looking after each round is free, and t = 20 means 5 %.

Betting scores: Shafer and Vovk, Game-Theoretic Foundations (2019); Waudby-Smith and Ramdas (2024),
Estimating means of bounded random variables by betting. Backwards martingales: Manole and Ramdas
(2023), Martingale methods for sequential estimation.

The case is the unit, not the run: a runner that gives the same output each time repeats a lucky
case as often as it is asked, and counting runs would admit one useless change in four.

`e_of_runs` asks less: whether these very cases gain, whatever others would do. Then each pair of
runs counts, and a fixed part l of the stake bets on each: E = product(1 + l gain). The cases of a
round are independent given the skills, so the expected factor of a round is at most (1 + l mean)
to the number of cases, as in 1: at most 1 if the true gains have a mean of at most 0. From round
to round E is a martingale read forwards, and 4 holds of the highest E that was ever reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb, lcm

_HALF = Fraction(1, 2)
_MANY_CASES = 13
_FIFTHS_OF_FEW, _FIFTHS_OF_MANY = 2, 1
"""The part of the stake that bets on a pair of runs: 2/5 finds 20 points with 8 cases."""


@lru_cache(maxsize=1024)
def e_value(wins: int, losses: int) -> Fraction:
    """Return E for so many scores of 1 and of -1; others are 0 and change nothing.

    The integral of (1+l)^wins (1-l)^losses is, by parts and with n = wins + losses,
    sum(C(n+1, i) for i = 0..wins) / ((n+1) C(n, wins)).
    """
    n = wins + losses
    if wins <= losses:
        ways = _sum_binomials(n + 1, wins)
    else:
        ways = (1 << (n + 1)) - _sum_binomials(n + 1, losses)
    integral = Fraction(ways, (n + 1) * comb(n, wins))
    return _HALF * (integral if losses else integral + (1 << wins))


def e_value_of_scores(balances: Iterable[int], rounds: int) -> Fraction:
    """Return E for cases with `balances`, wins less losses of each, over so many rounds.

    The order of the cases changes nothing.
    """
    moved = [balance for balance in balances if balance]
    if rounds == 1:
        wins = sum(balance > 0 for balance in moved)
        return e_value(wins, len(moved) - wins)
    product = _multiply(moved, rounds)
    scale = rounds ** len(moved)
    common = lcm(*range(1, len(product) + 1))
    integral = sum(part * (common // (power + 1)) for power, part in enumerate(product))
    return _HALF * (Fraction(sum(product), scale) + Fraction(integral, common * scale))


def e_of_runs(gains: Iterable[int], scale: int, cases: int) -> Fraction:
    """Return E that these very cases gain, from pairs of runs: `gains` / `scale`, from -1 to 1.

    The part of the stake follows from how many cases there are, before any of them ran.
    """
    part = _FIFTHS_OF_FEW if cases < _MANY_CASES else _FIFTHS_OF_MANY
    product, count = 1, 0
    for gain in gains:
        product *= 5 * scale + part * gain
        count += 1
    return Fraction(product, (5 * scale) ** count)


def _sum_binomials(n: int, last: int) -> int:
    total = term = 1
    for i in range(1, last + 1):
        term = term * (n - i + 1) // i
        total += term
    return total


def _multiply(balances: Sequence[int], rounds: int) -> list[int]:
    product = [1]
    for balance in balances:
        shifted = [0, *(balance * part for part in product)]
        product = [rounds * a + b for a, b in zip([*product, 0], shifted, strict=True)]
    return product
