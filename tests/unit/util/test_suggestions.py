"""Names that are near one that is not there."""

from difflib import get_close_matches

from hypothesis import given
from hypothesis import strategies as st

from brain.util.text import suggest_names

NAMES = ["oracle-manipulation", "oracles", "reentrancy", "signature-replay", "a"]


def test_the_best_comes_first():
    assert suggest_names("oracel", NAMES)[0] == "oracles"
    assert suggest_names("reentrency", NAMES) == ["reentrancy"]
    assert suggest_names("nothing like it", NAMES) == []


def test_among_very_many_names_the_near_one_is_found():
    many = [f"skill-{number:05d}-of-some-kind" for number in range(5000)]
    assert suggest_names("reentrncy", [*many, "reentrancy"]) == ["reentrancy"]


@given(st.text(), st.lists(st.text(max_size=20), max_size=20))
def test_what_is_found_is_found_by_comparing_all(wanted, names):
    found = suggest_names(wanted, names)
    assert set(found) <= set(get_close_matches(wanted[:256], names, len(names) or 1))
