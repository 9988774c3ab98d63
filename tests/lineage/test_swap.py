"""No interleaving of writers loses a change or makes it twice, if they look before they retry."""

from __future__ import annotations

import pytest

from . import swap


@pytest.mark.parametrize(
    "patience",
    [(0, 0), (1, 0), (1, 1), (2, 1), (0, 0, 0), (1, 0, 0), (2, 0, 0)],
    ids=str,
)
def test_writers_that_look_for_all_their_attempts_lose_and_repeat_nothing(
    patience: tuple[int, ...],
) -> None:
    found = swap.explore(patience, swap.careful)
    assert found.wrong == []
    assert found.ends > len(patience)


@pytest.mark.parametrize(
    ("rule", "fault"),
    [(swap.blind, "twice"), (swap.trusting, "lost"), (swap.forgetful, "twice")],
)
def test_the_search_finds_what_a_careless_rule_does(rule: swap.Rule, fault: str) -> None:
    assert fault in swap.explore((1, 1), rule).wrong


def test_the_search_finds_what_a_move_without_comparing_does() -> None:
    assert "lost" in swap.explore((0, 0), swap.blind, swap.overwrite).wrong
