import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.gating.case_files import (
    MAX_CASE_BYTES,
    Case,
    Expectation,
    encode_case,
    is_case_name,
    parse_case,
)
from brain.gating.held_out import is_held_out
from tests.support.refusals import raises_code

PATH = "skills/count/cases/two-words.yaml"
TEXT = "one two"
HALF, OTHER_HALF = ("held-out", "practice") if is_held_out(TEXT) else ("practice", "held-out")
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=6)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
)
INPUTS = st.dictionaries(WORDS, JSON, max_size=3) | WORDS.filter(str.strip)
LINES = st.lists(WORDS, max_size=4).map("\n".join)


def parse(text: str, path: str = PATH) -> Case:
    """Parse a document."""
    return parse_case("count", path, b"blob", text.encode())


def document(*lines: str, split: str = HALF) -> str:
    """Return a document with the input `TEXT` and these further lines."""
    return "\n".join([f"input: {TEXT}", f"split: {split}", *lines, ""])


def test_a_case_is_read_with_all_that_it_says():
    lines = (
        "expect:",
        '  equals: {"words": 2, "share": 0.5}',
        "  contains: [two]",
        "  excludes: ['no']",
        "  check: |",
        "    def check(input, output):",
        "        assert output",
        "source: receipt 1a2b",
    )
    assert parse(document(*lines)) == Case(
        skill="count",
        name="two-words",
        path=PATH,
        blob=b"blob",
        input=TEXT,
        expect=Expectation(
            has_equals=True,
            equals={"words": 2, "share": 0.5},
            contains=("two",),
            excludes=("no",),
            check="def check(input, output):\n    assert output\n",
        ),
        is_held_out=is_held_out(TEXT),
        source="receipt 1a2b",
    )


@given(INPUTS, LINES, LINES, st.lists(WORDS.filter(bool), max_size=2), WORDS)
def test_a_case_comes_back_as_it_was_written(case_input, equals, check, texts, source):
    expect = Expectation(
        has_equals=True,
        equals=equals,
        contains=tuple(texts),
        excludes=("error",),
        check=check if check.strip() else "",
    )
    try:
        data = encode_case(case_input, expect, source)
    except InvalidInput as error:
        # What YAML does not keep, such as a noncharacter, is refused rather than changed.
        assert error.code == "bad_case"
        return
    case = parse_case("count", PATH, b"", data)
    assert (case.input, case.expect, case.source) == (case_input, expect, source)
    assert case.is_held_out == is_held_out(case_input)


@pytest.mark.parametrize("value", [[], {}, None, "", 0, False, 0.0, [[]], [None], "null", "0"])
def test_any_json_value_may_be_what_the_output_equals(value):
    expect = Expectation(has_equals=True, equals=value)
    found = parse_case("count", PATH, b"", encode_case(TEXT, expect)).expect
    assert found == expect and type(found.equals) is type(value)


def test_text_of_several_lines_is_written_as_a_block():
    expect = Expectation(check="def check(input, output):\n    assert output\n")
    assert (
        encode_case({"text": "a b"}, expect)
        .decode()
        .startswith('input: {"text": "a b"}\nexpect:\n  check: |\n    def check(input, output):\n')
    )


def test_a_case_that_names_the_other_half_is_refused_with_the_right_one():
    with raises_code("wrong_split", InvalidInput) as caught:
        parse(document("expect: {contains: [two]}", split=OTHER_HALF))
    assert f"split: {HALF}" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the field `input` is missing"),
        (f"input: a\nsplit: {HALF}\n", "the field `expect` is missing"),
        ("input: a\nexpect: {contains: [b]}\n", "the field `split` is missing"),
        (document("expect: {contains: [b]}", "weight: 2"), "the field `weight` is unknown"),
        (document("expect: {regex: b}"), "the field `expect.regex` is unknown"),
        (document("expect: {}"), "`expect` has none of equals"),
        (document("expect: two"), "`expect` has none of equals"),
        (document("expect: {contains: []}"), "`expect.contains` is not a list of 1 to 64 texts"),
        (document("expect: {contains: two}"), "`expect.contains` is not a list of 1 to 64 texts"),
        (document("expect: {contains: [2]}"), "`expect.contains` is not a list of 1 to 64 texts"),
        (document("expect: {excludes: ['']}"), "`expect.excludes` is not a list of 1 to 64 texts"),
        (document("expect: {contains: [yes]}"), "yes has two readings in YAML"),
        (document("expect: {equals: 2026-11-23}"), "2026-11-23 has two readings in YAML"),
        (document("expect: {check: ' '}"), "`expect.check` is not Python code"),
        (document("expect: {check: [a]}"), "`expect.check` is not Python code"),
        (document("expect: {contains: [a]}", split="both"), "`split` is neither held-out nor"),
        (document("expect: {contains: [a]}", "source: 7"), "`source` is not a text"),
        (document("expect: {contains: [a]}", f"source: {'s' * 201}"), "`source` is not a text"),
        ("input: ''\nexpect: {contains: [a]}\nsplit: practice\n", "`input` is an empty text"),
        ("input: [1]\nexpect: {contains: [a]}\nsplit: practice\n", "neither an object nor a text"),
        (
            "input: {n: 9007199254740993}\nexpect: {contains: [a]}\nsplit: practice\n",
            "`input` is not JSON: 9007199254740993 is beyond 9007199254740991",
        ),
        ("input: {a: &x 1, b: *x}\n", "aliases and anchors are not allowed"),
        ("input: !!python/object:os.system {}\n", "the tag"),
        ("input: {a: 1, a: 2}\n", "stands twice"),
        ("input: " + "[" * 30 + "]" * 30, "nested too deeply"),
        ("input: {a: [", "line 1"),
        ("- input", "not a map"),
        ("x" * (MAX_CASE_BYTES + 1), f"more than {MAX_CASE_BYTES}"),
    ],
)
def test_what_is_no_case_is_refused(text, said):
    with raises_code("bad_case", InvalidInput) as caught:
        parse(text)
    assert said in caught.value.message
    assert caught.value.hint


def test_the_largest_values_that_are_allowed_come_back():
    case_input = {"least": -(2**53) + 1, "most": 2**53 - 1}
    data = encode_case(case_input, Expectation(contains=("a",)), "s" * 200)
    case = parse_case("count", PATH, b"", data)
    assert (case.input, case.source) == (case_input, "s" * 200)


def test_a_list_may_have_64_texts():
    texts = [f"t{number}" for number in range(65)]
    case = parse(document(f"expect: {{contains: [{', '.join(texts[:64])}]}}"))
    assert case.expect.contains == tuple(texts[:64])
    with pytest.raises(InvalidInput):
        parse(document(f"expect: {{contains: [{', '.join(texts)}]}}"))


def test_a_document_may_have_65536_bytes():
    text = document("expect: {contains: [two]}") + "# "
    text += "x" * (65536 - len(text))
    assert parse(text).name == "two-words"
    with pytest.raises(InvalidInput):
        parse(text + "x")


def test_bytes_that_are_not_utf8_are_refused():
    with raises_code("bad_case", InvalidInput):
        parse_case("count", PATH, b"", b"input: \xff")


@pytest.mark.parametrize("name", ["a", "0", "two-words", "v1.2_b", "a" * 64])
def test_names_of_cases(name):
    assert is_case_name(name)


@pytest.mark.parametrize("name", ["", "A", ".a", "-a", "a b", "a/b", "a\n", "é", "a" * 65])
def test_names_that_no_case_has(name):
    assert not is_case_name(name)


@pytest.mark.parametrize("file_name", ["a.yml", "a", ".yaml", "A.yaml", "a.yaml\n", "a b.yaml"])
def test_a_file_whose_name_is_not_that_of_a_case_is_refused(file_name):
    with raises_code("bad_case", InvalidInput) as caught:
        parse(document("expect: {contains: [two]}"), f"skills/count/cases/{file_name}")
    assert "its file name" in caught.value.message


@pytest.mark.parametrize(
    "case_input",
    ["", " ", {"x": float("nan")}, {"x": 1 << 60}, {"x": b"1"}, {1: 2}, {"x": "\ud800"}],
)
def test_an_input_that_cannot_be_written_is_refused(case_input):
    with raises_code("bad_case", InvalidInput):
        encode_case(case_input, Expectation(contains=("a",)))


def test_a_case_too_large_for_a_document_is_refused():
    with raises_code("bad_case", InvalidInput):
        encode_case("x" * MAX_CASE_BYTES, Expectation(contains=("a",)))
