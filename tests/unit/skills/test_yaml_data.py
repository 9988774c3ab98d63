import pytest

from brain.errors import InvalidInput
from brain.skills.yaml_data import load_yaml_data, write_yaml_data
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)


@pytest.mark.parametrize(("text", "value"), CASES["test_plain_values_are_those_of_json"])
def test_plain_values_are_those_of_json(text, value):
    found = load_yaml_data(f"key: {text}")
    assert found == {"key": value} and type(found["key"]) is type(value)


@pytest.mark.parametrize(
    "text", ["", *"yes No on y ~ True 0x10 0o7 017 1_000 1:30 .5 +1 2026-11-23 .inf .nan =".split()]
)
def test_a_value_with_two_readings_is_refused(text):
    with raises_code("bad_value", InvalidInput) as caught:
        load_yaml_data(f"key: {text}")
    assert "quotes" in caught.value.hint


def test_a_number_beyond_all_is_refused():
    with pytest.raises(InvalidInput):
        load_yaml_data("key: 1e999")


@pytest.mark.parametrize("value", CASES["test_what_is_written_is_read_back"])
def test_what_is_written_is_read_back(value):
    text = write_yaml_data({"first": value, "last": 1})
    assert load_yaml_data(text) == {"first": value, "last": 1}


def test_an_empty_file_holds_nothing():
    assert load_yaml_data("# nothing\n") == {}
