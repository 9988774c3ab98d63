import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.programs.parameters import MAX_PAYLOAD_BYTES, check_schema
from brain.programs.probes import make_payloads
from tests.support.true_functions import FUNCTIONS

BOUND = st.integers(0, 8)


def _ordered(kind: str, least: str, most: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda low, high, use: {
            "type": kind,
            **({least: min(low, high)} if use & 1 else {}),
            **({most: max(low, high)} if use & 2 else {}),
        },
        BOUND,
        BOUND,
        st.integers(0, 3),
    )


LEAVES = (
    _ordered("string", "minLength", "maxLength")
    | _ordered("integer", "minimum", "maximum")
    | _ordered("number", "minimum", "maximum")
    | st.sampled_from(
        [
            {"type": "boolean"},
            {"type": "null"},
            {"type": ["string", "null"]},
            {"enum": ["a", 1, None]},
            {"const": [1]},
            {"type": "string", "format": "date"},
            {"type": "integer", "default": 7, "examples": [1, 2]},
            {},
        ]
    )
)


def _object(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda properties, required: {
            "type": "object",
            "properties": properties,
            "required": [name for name in required if name in properties],
            "additionalProperties": False,
        },
        st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
        st.lists(st.sampled_from("abcd"), unique=True),
    )


SCHEMAS = _object(
    st.recursive(
        LEAVES,
        lambda inner: (
            _object(inner)
            | st.builds(
                lambda item, low: {"type": "array", "items": item, "minItems": low}, inner, BOUND
            )
        ),
        max_leaves=8,
    )
)


@given(SCHEMAS, st.integers(0, 2**32))
def test_each_payload_fits_the_schema_and_is_new(schema, seed):
    check_schema(schema)
    seen = make_payloads(schema, [], seed, 2)
    made = make_payloads(schema, seen, seed + 1, 8)
    texts = [json.dumps(payload, sort_keys=True) for payload in [*seen, *made]]
    assert len(set(texts)) == len(texts)
    assert all(jsonschema_rs.is_valid(schema, payload) for payload in made)
    assert made == make_payloads(schema, seen, seed + 1, 8)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_eight_payloads_are_made_for_each_function_and_another_seed_gives_others(function):
    made = [make_payloads(function.schema, function.seen, seed, 8) for seed in range(3)]
    assert [len(payloads) for payloads in made] == [8, 8, 8]
    assert made[0] != made[1] != made[2]


def one(**part: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": part}, "required": ["x"]}


def values(seen: list[Any], count: int = 60, **part: Any) -> list[Any]:
    rows = [{"x": value} for value in seen]
    return [payload["x"] for payload in make_payloads(one(**part), rows, 5, count)]


def test_numbers_reach_their_bounds_and_stay_within():
    made = values([5], type="integer", minimum=2, maximum=40)
    assert {2, 40} <= set(made) and min(made) == 2 and max(made) == 40
    assert all(type(value) is int for value in made)
    assert any(type(value) is float for value in values([5], type="number"))
    assert set(values([], type="integer", minimum=1.5, maximum=3.5)) == {2, 3}


def test_texts_are_of_the_kind_of_the_seen_ones():
    assert all(value[4] == value[7] == "-" for value in values(["2024-01-31"], type="string"))
    assert all("@" in value for value in values(["a@b.org"], type="string"))
    assert all(value.startswith("https://") for value in values(["https://a.org/b"], type="string"))
    assert all(value[0] == "v" for value in values(["v1.20.3"], type="string"))
    words = {word for value in values(["ab cd", "ef gh"], type="string") for word in value.split()}
    assert words == {"ab", "cd", "ef", "gh"}
    lines = values(["n,m\n1,2\n3,4\n"], type="string")
    assert all(len(line.split(",")) == 2 for value in lines for line in value.splitlines())


def test_texts_have_their_length():
    made = values(["abc"], type="string", minLength=30, maxLength=40)
    assert made and all(30 <= len(value) <= 40 for value in made)


def test_choices_examples_and_types_are_all_taken():
    assert set(values([1], enum=[1, 2, "a"])) == {2, "a"}
    assert 77 in values([1], type="integer", examples=[77])
    kinds = {type(value) for value in values(["a"], type=["string", "integer", "boolean"])}
    assert kinds == {str, int, bool}
    assert None in values(["a"], type=["string", "null"])


def test_lists_take_items_of_seen_ones():
    made = values([[1, 2], [3]], type="array", items={"enum": [1, 2, 3]}, minItems=1, maxItems=4)
    assert {len(value) for value in made} == {1, 2, 3, 4}


def test_optional_parameters_are_there_and_not_there():
    schema = {**one(type="string"), "required": []}
    made = make_payloads(schema, [{"x": "a b"}], 3, 20)
    assert {} in made and any("x" in payload for payload in made)


def test_without_parameters_there_is_one_payload():
    empty = {"type": "object", "properties": {}}
    assert make_payloads(empty, [], 1, 8) == [{}]
    assert make_payloads(empty, [{}], 1, 8) == []


def test_payloads_stay_small_whatever_the_schema():
    part: dict[str, Any] = {"type": "string", "minLength": 9}
    for _ in range(7):
        part = {"type": "array", "items": part, "minItems": 3}
    for schema in (
        one(**part),
        one(type="string", minLength=10**6),
        one(type="array", minItems=10**6, items={"type": "integer"}),
    ):
        for payload in make_payloads(schema, [], 1, 2):
            assert len(json.dumps(payload)) <= MAX_PAYLOAD_BYTES
