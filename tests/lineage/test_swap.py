"""No interleaving of writers loses a change or makes it twice, if they look before they retry."""

import pytest

from tests.support.lineages import swap_interleavings


@pytest.mark.parametrize(
    "patience", [(0, 0), (1, 0), (1, 1), (2, 1), (0, 0, 0), (1, 0, 0), (2, 0, 0)], ids=str
)
def test_writers_that_look_for_all_their_attempts_lose_and_repeat_nothing(patience):
    found = swap_interleavings.explore_interleavings(
        patience, swap_interleavings.rule_descends_from_any
    )
    assert found.wrong == []
    assert found.final_states > len(patience)


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        (swap_interleavings.rule_retry_until_heard, "twice"),
        (swap_interleavings.rule_assume_done, "lost"),
        (swap_interleavings.rule_check_last_only, "twice"),
    ],
)
def test_the_search_finds_what_a_careless_rule_does(rule, fault):
    assert fault in swap_interleavings.explore_interleavings((1, 1), rule).wrong


def test_the_search_finds_what_a_move_without_comparing_does():
    assert (
        "lost"
        in swap_interleavings.explore_interleavings(
            (0, 0), swap_interleavings.rule_retry_until_heard, swap_interleavings.overwrite
        ).wrong
    )
