import math

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.util.json_schema import equal_json, find_schema_faults
from tests.support.cases import read_cases

CASES = read_cases(__file__)

LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=3)
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3), max_leaves=5)
BOUNDS = st.integers(0, 3)
TEXTS = st.fixed_dictionaries(
    {"type": st.just("string")}, optional={"minLength": BOUNDS, "maxLength": BOUNDS}
)
NUMBERS = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number", ["number", "null"]])},
    optional={"minimum": st.integers(-5, 5), "maximum": st.integers(-5, 5)},
)
CHOICES = st.fixed_dictionaries(
    {"enum": st.lists(JSON, min_size=1, max_size=3)}
) | st.fixed_dictionaries({"const": JSON})
OTHERS = st.sampled_from(
    [{"type": "boolean"}, {"type": "null"}, {"type": ["string", "boolean"]}, {}]
)
LEAF_SCHEMAS = TEXTS | NUMBERS | CHOICES | OTHERS
LISTS = st.fixed_dictionaries(
    {"type": st.just("array")},
    optional={"items": LEAF_SCHEMAS, "minItems": BOUNDS, "maxItems": BOUNDS},
)
OBJECTS = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(st.sampled_from("ab"), LEAF_SCHEMAS | LISTS),
        "required": st.lists(st.sampled_from("ab"), unique=True),
        "additionalProperties": st.booleans(),
    }
)


@given(OBJECTS, st.dictionaries(st.sampled_from("abc"), JSON))
def test_the_faults_are_those_of_a_validator(schema, value):
    faults = list(find_schema_faults(schema, value, ""))
    assert (not faults) == jsonschema_rs.is_valid(schema, value)
    assert all(fault.strip() == fault and fault for fault in faults)


@pytest.mark.parametrize(("schema", "value", "fault"), CASES["test_a_fault_says_what_is_wanted"])
def test_a_fault_says_what_is_wanted(schema, value, fault):
    assert list(find_schema_faults(schema, value, "x")) == [fault]


def test_json_tells_true_from_one_and_not_one_from_one_point_zero():
    assert not equal_json([True], [1]) and not equal_json({"a": 0}, {"a": False})
    assert equal_json({"a": [1, "x", None]}, {"a": [1.0, "x", None]})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("schema", [{}, {"type": "number"}, {"enum": [1]}, {"maximum": 3}])
def test_what_json_has_no_number_for_is_a_fault(schema, value):
    (fault,) = find_schema_faults({"items": schema}, [value], "x")
    assert fault.startswith("item 1 of x must be a finite number")
