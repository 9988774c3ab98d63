"""JSON that is read strictly, and schemas."""

import math
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.errors import FormatError, InvalidInput
from brain.util import strict_json
from brain.util.json_schema import equal_json, find_schema_faults
from tests.support.cases import read_cases
from tests.support.refusals import raises_code


def make_error(message: str, code: str) -> FormatError:
    return FormatError(message, code=code)


READER = strict_json.FieldReader(make_error)


def parse(data: bytes) -> Any:
    return strict_json.parse_json(data, 4, 16, make_error)


def error_code(read: Callable[[], Any]) -> str:
    with pytest.raises(FormatError) as caught:
        read()
    return caught.value.code


def test_a_value_within_the_limits_is_returned():
    assert parse(b'{"a": [[[1, null, true, "[[[[[\\"{{{{,,,,"]]]}') == {
        "a": [[[1, None, True, '[[[[["{{{{,,,,']]]
    }


def test_a_text_that_is_a_single_string_has_no_depth():
    assert parse(b'"[[[[[[[["') == "[[[[[[[["


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"[[[[[]]]]]", "too_deep"),
        (b'{"a":{"a":{"a":{"a":[]}}}}', "too_deep"),
        (b"[" + b"1," * 16 + b"1]", "too_many"),
        (b'{"a": 1, "a": 1}', "duplicate_key"),
        (b"-0", "bad_field"),
        (b"1.0", "bad_field"),
        (b"NaN", "bad_field"),
        (b"\xff", "bad_json"),
        (b"\xef\xbb\xbf1", "bad_json"),
        (b"9" * 5000, "bad_json"),
        (b"", "bad_json"),
    ],
)
def test_other_json_is_refused_with_a_code(data, code):
    assert error_code(lambda: parse(data)) == code


def test_the_depth_of_an_unclosed_string_of_many_escapes_is_found_in_linear_time():
    data = b"[" * 40 + b'"' + b'\\"' * 500_000  # quadratic time would take hours
    assert strict_json.nesting_depth(data, 32) == 40
    assert strict_json.count_values(data, 32) == 41


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "NaN", "-Infinity", "1e999", "[", b"\xff"])
def test_unbounded_json_is_refused_where_parsers_differ(text):
    with pytest.raises(ValueError, match=r"."):
        strict_json.parse_unbounded_json(text)


def test_unbounded_json_may_hold_finite_numbers():
    assert strict_json.parse_unbounded_json("[-0, 1.5, 1e300]") == [0, 1.5, 1e300]
    assert strict_json.parse_or_none(b"[[1.5]]", 2, 3) == [[1.5]]
    for text in ("[[[1]]]", "[1, 2, 3]", "{", "NaN"):
        assert strict_json.parse_or_none(text, 2, 3) is None


def parse_lower_case(text: str) -> str:
    if not text.islower():
        raise InvalidInput("not lower case")
    return text


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda: READER.object({"a": 1}, ["a"], ["b"]), {"a": 1}),
        (lambda: READER.record({"b": 2, "a": 1}, "a", "b"), [1, 2]),
        (lambda: READER.array([1, 2], 2, 2), [1, 2]),
        (lambda: READER.integer(2, 1, 2), 2),
        (lambda: READER.text("ab", 1, 2), "ab"),
        (lambda: READER.choice("a", ("a", "b")), "a"),
        (lambda: READER.hex("0aff", 1, 2), b"\x0a\xff"),
        (lambda: READER.hex("0x", 0, 2, "0x"), b""),
        (lambda: READER.parsed("a", parse_lower_case, "lower case"), "a"),
    ],
)
def test_an_expected_value_is_returned(read, expected):
    assert read() == expected


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: READER.object([], ["a"]), "a list is not an object with a"),
        (lambda: READER.object({}, ["a"]), 'the field "a" is missing'),
        (lambda: READER.object({"a": 1, "c\n": 1}, ["a"], ["b"]), r'the field "c\\n" is unknown'),
        (lambda: READER.array((1,)), "a value of type tuple is not a list"),
        (lambda: READER.array([1], 2, 3), "not a list of 2 to 3"),
        (lambda: READER.array([1, 2, 3, 4], 2, 3), "not a list of 2 to 3"),
        (lambda: READER.integer(True, 0, 1), "a truth value is not an integer from 0 to 1"),
        (lambda: READER.integer(3, 1, 2), "3 is not an integer from 1 to 2"),
        (lambda: READER.text("abc", 1, 2), '"abc" is not text of 1 to 2 characters'),
        (lambda: READER.text(None, 0, 2), "null is not text of 0 to 2 characters"),
        (lambda: READER.choice(["a"], ("a", "b")), "not one of a, b"),
        (lambda: READER.hex("AB", 1, 1), "not lower-case hex"),
        (lambda: READER.hex("abc", 1, 2), "not lower-case hex"),
        (lambda: READER.hex("ab", 2, 3), "not hex of 2 to 3 bytes"),
        (lambda: READER.hex("ab", 1, 1, "0x"), "not hex that begins with 0x"),
        (lambda: READER.parsed("A", parse_lower_case, "lower case"), '"A" is not lower case'),
        (lambda: READER.parsed(1, parse_lower_case, "lower case"), "not lower case"),
    ],
)
def test_an_unexpected_value_is_refused(read, message):
    with raises_code("bad_field", FormatError, match=message):
        read()


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
