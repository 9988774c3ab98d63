import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.programs.test_cases import MAX_CASES, TestCase, encode_cases, is_meaningful, parse_cases
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

TABLES = read_cases(__file__)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
)
CASES = st.builds(
    TestCase,
    payload=st.dictionaries(st.text(max_size=3), JSON, max_size=3),
    output=JSON,
    contains=st.text(max_size=3),
) | st.builds(TestCase, payload=st.dictionaries(st.text(max_size=3), JSON, max_size=3))


@given(st.lists(CASES, min_size=1, max_size=4))
def test_cases_come_back_as_they_were_written(cases):
    assert parse_cases(encode_cases(cases)) == cases


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "Expecting value"),
        (b"{}", "it is not a list of 1 to 64 cases"),
        (b"[]", "it is not a list of 1 to 64 cases"),
        (json.dumps([{"payload": {}}] * (MAX_CASES + 1)).encode(), "it is not a list of 1 to 64"),
        (b"[3]", "case 1 has no object `payload`"),
        (b'[{"payload": {}}, {"payload": []}]', "case 2 has no object `payload`"),
        (b'[{"payload": {}, "expect": 1}]', "case 1 has the unknown field expect"),
        (b'[{"payload": {}, "contains": 1}]', "`contains` of case 1 is not text"),
        (b'[{"payload": {}, "payload": {}}]', "is twice in one object"),
        (b'[{"payload": {"x": NaN}}]', "NaN is not a number"),
        (b"[" * 50 + b"]" * 50, "it is nested too deeply"),
        (b"[" * (2 << 20), "more than 1048576"),
        (b"\xff", "can't decode"),
    ],
)
def test_what_are_no_cases_is_refused(data, said):
    with raises_code("bad_cases", InvalidInput) as caught:
        parse_cases(data)
    assert said in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(("output", "means_something"), TABLES["test_empty_outputs_mean_nothing"])
def test_empty_outputs_mean_nothing(output, means_something):
    assert is_meaningful(output) == means_something


def test_an_expected_output_is_compared_as_json():
    assert TestCase(payload={}, output={"a": [1]}).refuse({"a": [1.0]}) == ""
    assert TestCase(payload={}, output=1).refuse(True) == "expected 1, got true"
    assert TestCase(payload={}, output=None).refuse(0) == "expected null, got 0"
    assert TestCase(payload={}, contains="b").refuse({"a": "b"}) == ""
    assert TestCase(payload={}, contains="é").refuse(["é"]) == ""
    assert TestCase(payload={}, contains="c").refuse("ab") == 'expected "c" in "ab"'
    assert TestCase(payload={}).refuse("anything") == ""
