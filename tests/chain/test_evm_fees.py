"""What a transaction may cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.chain.evm.fees import (
    MAX_GAS,
    FeeCaps,
    Fees,
    build_quote,
    bump_fees,
    format_gwei,
    gas_limit,
    market_fees,
    max_fee_for_price,
)
from brain.errors import InvalidInput

GWEI = 10**9
CAPS = FeeCaps(100 * GWEI, 10**16)
wei = st.integers(0, 10**12)


def refused(*args: object, by: object = build_quote) -> bool:
    with pytest.raises(InvalidInput) as raised:
        by(*args)  # type: ignore[operator]
    return raised.value.code == "fee_cap"


def test_a_quote_tells_what_is_expected_and_what_is_the_worst():
    offer = market_fees(10 * GWEI, 2 * GWEI)
    assert offer == Fees(22 * GWEI, 2 * GWEI)
    result = build_quote(44_500, 35_600, 10 * GWEI, offer, CAPS)
    assert result.expected == 35_600 * 12 * GWEI
    assert result.worst == 44_500 * 22 * GWEI
    assert result.fees == offer


def test_gas_has_a_margin_over_the_estimate():
    assert gas_limit(35_600) == 44_500


@pytest.mark.parametrize("estimate", [0, MAX_GAS, 10**9, 2**63])
def test_chain_10_an_estimate_that_lies_is_capped(estimate):
    assert refused(estimate, by=gas_limit)


def test_a_base_fee_above_the_cap_is_refused():
    assert refused(44_500, 35_600, 100 * GWEI, market_fees(100 * GWEI, 1), CAPS)


def test_what_is_offered_never_exceeds_the_cap():
    result = build_quote(44_500, 35_600, 90 * GWEI, market_fees(90 * GWEI, GWEI), CAPS)
    assert result.max_fee == CAPS.max_fee


def test_a_transaction_that_may_cost_too_much_as_a_whole_is_refused():
    assert refused(
        44_500, 35_600, GWEI, market_fees(GWEI, 0), FeeCaps(CAPS.max_fee, 44_500 * 2 * GWEI - 1)
    )


def test_a_tip_that_a_node_invents_is_refused():
    assert refused(44_500, 35_600, GWEI, market_fees(GWEI, 2**200), CAPS)


@given(wei, wei, wei, wei)
def test_a_replacement_raises_both_fields_by_an_eighth(fee, tip, base, new):
    old, offer = Fees(fee, tip), market_fees(base, new)
    raised = bump_fees(old, offer, FeeCaps(10**13, 10**30))
    for before, after, advised in zip(old, raised, offer, strict=True):
        assert after > before
        assert after * 8 >= before * 9
        assert after >= advised
        assert after in (advised, before + 1, -(-before * 9 // 8))


@pytest.mark.parametrize(("price", "cap"), [(0, 1), (3, 60), (GWEI, 20 * GWEI), (10**12, 10**11)])
def test_the_cap_on_an_unknown_chain_is_a_multiple_of_its_price(price, cap):
    assert max_fee_for_price(price) == cap


def test_a_replacement_above_the_cap_is_refused():
    assert refused(Fees(90 * GWEI, 0), Fees(0, 0), CAPS, by=bump_fees)


def test_wei_are_told_in_gwei_without_loss():
    assert [format_gwei(1), format_gwei(GWEI), format_gwei(1_500_000_000)] == [
        "0.000000001",
        "1",
        "1.5",
    ]
