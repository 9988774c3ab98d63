import pytest

from brain.errors import InvalidInput
from brain.skills import skill_version
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)

BUMPS = CASES["bumps"]

BAD = {
    "version-02": ["0", "-1", "-0", "+1", "v0", '"0"'],
    "version-03": ["99999999999999999999", "9" * 5000, "1000000000", "1.1000000000"],
    "version-05": ["1e3", "1.", ".5", "1.0e3", "1..2", "1.2.3.4.5"],
    "version-06": [".nan", ".inf", "-.inf", "NaN"],
    "version-08": ["012", "0x10", "0o17", "1_000", "1:30", "01.2", "007"],
    "version-09": ["2024-01-01T00:00"],
    "version-11": ["' 3 '", "\u0663", '"\u0663"', "'3", "3'", "\"3'", "1\u066b5", "\uff13", "²"],
    "words": CASES["bad"],
}


def bump(raw: str) -> str:
    form = skill_version.parse_version_form(raw)
    return skill_version.format_version(skill_version.next_version(form.text), form)


@pytest.mark.parametrize(("raw", "after"), BUMPS)
def test_a_bump_raises_the_last_number_and_keeps_the_form(raw, after):
    assert bump(raw) == after


@pytest.mark.parametrize(
    "raw",
    [pytest.param(raw, id=f"{row}-{raw[:12]!a}") for row, all_ in BAD.items() for raw in all_],
)
def test_what_is_not_a_version_is_refused_and_shown(raw):
    with raises_code("bad_version", InvalidInput) as caught:
        skill_version.parse_version(raw, 4)
    assert "line 4" in caught.value.message
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("raw", "text"), [("3", "3"), ("'3'", "3"), ('"v1.10"', "1.10"), ("V2", "2"), ("1.0", "1.0")]
)
def test_the_text_form_has_neither_quotes_nor_v(raw, text):
    assert skill_version.parse_version(raw) == text


@pytest.mark.parametrize(("a", "b", "order"), CASES["test_versions_compare_number_by_number"])
def test_versions_compare_number_by_number(a, b, order):
    assert skill_version.compare_versions(a, b) == order
    assert skill_version.compare_versions(b, a) == -order


def test_the_greatest_of_some_versions_is_found():
    assert skill_version.greatest_version(["1.9", "2", "1.10"]) == "2"


def test_an_integer_version_is_a_number_and_any_other_is_text():
    assert skill_version.version_value("12") == 12
    assert skill_version.version_value("1.10") == "1.10"


@pytest.mark.parametrize("text", ["999999999", "1.999999999", "latest"])
def test_version_14_what_has_no_next_version_stays(text):
    assert skill_version.next_version(text) == text


def test_version_14_a_new_skill_cannot_start_near_the_top():
    assert skill_version.check_initial_version("99999999") == "99999999"
    for text in ("100000000", "1.100000000", "999999999"):
        with raises_code("bad_version", InvalidInput):
            skill_version.check_initial_version(text)


@pytest.mark.parametrize("text", ["9" * 4301, "1\u202e", "", "x", "²"])
def test_what_a_foreign_store_gives_for_a_version_is_before_all_others_and_shown(text):
    assert skill_version.version_value(text) == skill_version.next_version(text) == text
    assert skill_version.compare_versions(text, "0.0") == -1
