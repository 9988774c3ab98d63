"""Case documents that nobody meant as such, and outputs of any kind."""

import json

from hypothesis import given
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.gating.case_files import Case, Expectation, parse_case
from brain.gating.held_out import canonical_json, is_held_out
from brain.gating.output_check import find_fault, read_output

WORDS = """
input expect split source equals contains excludes check held-out practice : - | > [ ] { } ,
" ' # & * ! 1 2.5 true null yes ~ a é 😂
"""
BLANKS = ("\n", "\n  ", " ", ": ", "\t", "\r", "\x85", "\ufeff", "\u2028", "\0")
PIECES = st.lists(st.sampled_from([*WORDS.split(), *BLANKS]), max_size=40).map("".join)
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
)


@given(st.binary(max_size=80) | PIECES.map(str.encode))
def test_whatever_is_read_is_a_case_or_refused(data):
    try:
        case = parse_case("s", "skills/s/cases/a.yaml", b"", data)
    except InvalidInput as error:
        assert error.code in ("bad_case", "wrong_split") and error.hint
        assert error.message.isprintable()
    else:
        assert case.is_held_out == is_held_out(case.input)


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4))
def test_canonical_json_is_json_of_the_same_value(value):
    try:
        text = canonical_json(value)
    except ValueError:
        assert "\\ud" in json.dumps(value)  # half a surrogate pair
        return
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


@given(st.binary(max_size=60) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_output_equals_itself(output):
    value = read_output(output)
    case = Case(
        skill="s",
        name="a",
        path="skills/s/cases/a.yaml",
        blob=b"",
        input="x",
        expect=Expectation(has_equals=True, equals=value),
        is_held_out=False,
    )
    assert find_fault(case, output) == ""
