"""What the contract costs, against what it should cost at most."""

import pytest

from tests.support.chain import gas_costs


@pytest.fixture(scope="module")
def rows():
    return gas_costs.measure_on_new_node()


@pytest.fixture(scope="module")
def costs(rows):
    return dict(rows)


def test_an_update_is_near_what_any_update_must_cost(costs):
    assert costs["`commit` by the owner"] <= min(36_000, 1.25 * gas_costs.MIN_GAS)


def test_an_update_by_the_signer_costs_one_more_cold_slot(costs):
    extra = costs["`commit` by the signer"] - costs["`commit` by the owner"]
    assert 2_100 <= extra <= 2_150


def test_opening_costs_three_fresh_words_and_little_else(costs):
    assert costs["`open`"] <= 75_000


def test_a_brain_in_a_batch_of_a_thousand_costs_next_to_nothing(costs):
    assert costs["– per brain, 1,000 in a batch"] <= 30


def test_the_documentation_shows_what_is_measured(rows):
    page = gas_costs.COSTS_PAGE.read_text("utf-8")
    assert gas_costs.replace_table(page, gas_costs.format_table(rows)) == page
    costs = dict(rows)
    opening, update = (
        gas_costs.format_gas(costs[what]) for what in ("`open`", "`commit` by the owner")
    )
    assert f"| BrainRegistry | {opening} | {update} |" in page
