"""Lists in a YAML file are changed in place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.skills.strict_yaml import load_yaml_file
from brain.skills.yaml_list import set_yaml_list
from tests.support.cases import read_cases

CASES = read_cases(__file__)


@pytest.mark.parametrize(
    ("before", "items", "after"), CASES["test_only_the_lines_of_changed_items_change"]
)
def test_only_the_lines_of_changed_items_change(before, items, after):
    assert set_yaml_list(before, "pinned", items) == after


names = st.sampled_from(["a", "true", "12", "x y", "é", "category/skill", "- #"])


@given(st.lists(names, unique=True), st.lists(names, unique=True), st.booleans())
def test_the_new_list_reads_back_with_all_other_keys(old, new, block):
    listed = "".join(f"\n  - {item!r}" for item in old) if block else f" {old}"
    text = f"name: x\npinned:{listed}\nlayout: flat\n"
    values = load_yaml_file(set_yaml_list(text, "pinned", new))
    assert set(values.pop("pinned") or ()) == set(new)
    assert values == {"name": "x", "layout": "flat"}


def test_a_map_in_braces_is_refused():
    with pytest.raises(InvalidInput) as error:
        set_yaml_list("{name: x}\n", "pinned", ["a"])
    assert error.value.hint == "add the list 'pinned' with an editor"
