import pytest

from brain.digest import domain_hash
from brain.gating.held_out import canonical_json, is_held_out
from tests.support.cases import read_cases

CASES = read_cases(__file__)


@pytest.mark.parametrize(("value", "text"), CASES["test_inputs_are_hashed_as_canonical_json"])
def test_inputs_are_hashed_as_canonical_json(value, text):
    # The order of the third is that of RFC 8785, section 3.2.3.
    expected = text or '{"\\r":2,"1":3,"ö":5,"€":1,"😂":4,"\ufb33":6}'
    assert canonical_json(value).decode() == expected


def test_the_half_is_the_parity_of_the_first_byte_of_the_hash():
    digest = domain_hash("brain v1 case split")
    halves = set()
    for number in range(20):
        held_out = is_held_out({"number": number})
        assert held_out == (digest(b'{"number":%d}' % number)[0] % 2 == 0)
        halves.add(held_out)
    assert halves == {True, False}


def test_neither_order_of_keys_nor_spelling_of_numbers_moves_a_case():
    for number in range(20):
        one, other = {"n": number, "m": 1}, {"m": 1.0, "n": float(number)}
        assert is_held_out(one) == is_held_out(other)


def test_about_half_of_all_inputs_are_held_out():
    assert 900 < sum(is_held_out(f"task {number}") for number in range(2000)) < 1100


@pytest.mark.parametrize("value", [float("inf"), float("nan"), "\ud800"])
def test_what_has_no_json_is_in_no_half(value):
    with pytest.raises(ValueError):
        is_held_out({"x": value})
