from typing import Any

import pytest

from brain.gating.case_files import Case, Expectation
from brain.gating.output_check import find_fault, read_output


def make_case(**expected: Any) -> Case:
    """Return a case with this expectation."""
    return Case(
        skill="count",
        name="one",
        path="skills/count/cases/one.yaml",
        blob=b"",
        input={"text": "one two"},
        expect=Expectation(has_equals="equals" in expected, **expected),
        is_held_out=False,
    )


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ({"equals": {"words": 2}}, b'{ "words": 2.0 }\n'),
        ({"equals": 2}, b"2"),
        ({"equals": "2"}, b" 2\n"),
        ({"equals": "two words"}, b"  two words\n"),
        ({"equals": "two words\n"}, b'"two words"'),
        ({"equals": [1, 2]}, b"[1,2]"),
        ({"contains": ("two", "words")}, b"there are two words"),
        ({"contains": ('say "hi"',)}, b'{"text": "say \\"hi\\""}'),
        ({"contains": ("été",)}, b'["\\u00e9t\\u00e9"]'),
        ({"contains": ('"words": 2',)}, b'{"words": 2}'),
        ({"excludes": ("error",)}, b"fine"),
        ({"check": "def check(input, output): ..."}, b"anything"),
    ],
)
def test_a_right_output_has_no_fault(expected, output):
    assert find_fault(make_case(**expected), output) == ""


@pytest.mark.parametrize(
    ("expected", "output", "fault"),
    [
        ({"equals": {"words": 2}}, b'{"words": 3}', 'expected {"words": 2}, got {"words": 3}'),
        ({"equals": 1}, b"true", "expected 1, got true"),
        ({"equals": "yes"}, b"Yes", 'expected "yes", got "Yes"'),
        ({"contains": ("two",)}, b"one", 'expected "two" in the output, got "one"'),
        ({"excludes": ("err",)}, b"error", 'expected no "err" in the output, got "error"'),
        (
            {"excludes": ("été",)},
            b'["\\u00e9t\\u00e9"]',
            'expected no "été" in the output, got ["été"]',
        ),
        ({"equals": "a", "excludes": ("b",)}, b"ab", 'expected "a", got "ab"'),
    ],
)
def test_a_wrong_output_has_a_fault_that_says_what_was_expected(expected, output, fault):
    assert find_fault(make_case(**expected), output) == fault


NOTHINGS: list[tuple[Any, bytes]] = [
    ([], b"[]"),
    ({}, b"{}"),
    (None, b"null"),
    ("", b'""'),
    ("", b""),
    (0, b"0"),
    (False, b"false"),
]


@pytest.mark.parametrize(("value", "right"), NOTHINGS)
def test_what_says_nothing_is_right_if_it_is_what_is_expected(value, right):
    case = make_case(equals=value)
    assert find_fault(case, right) == ""
    for other, output in NOTHINGS:
        if (type(other), other) != (type(value), value):
            assert find_fault(case, output).startswith("expected ")


@pytest.mark.parametrize("output", [b"", b" \n", b"null", b'""', b'" "', b"[]", b"{}"])
@pytest.mark.parametrize("expected", [{"excludes": ("error",)}, {"check": "..."}])
def test_an_output_that_says_nothing_is_wrong(expected, output):
    assert find_fault(make_case(**expected), output) == (
        "the output says nothing: it is empty or null"
    )


@pytest.mark.parametrize("output", [b"[" * 10_000, b"{" * 70 + b"}" * 70, b"\xff\xfe", b"NaN"])
def test_output_that_is_not_json_within_the_limits_is_text(output):
    assert isinstance(read_output(output), str)
    assert find_fault(make_case(equals={"a": 1}), output).startswith('expected {"a": 1}, got "')


def test_a_fault_is_a_short_line_without_control_characters():
    fault = find_fault(make_case(equals=1), b"\x1b[31m" * 5000)
    assert len(fault) < 300 and fault.isprintable()
