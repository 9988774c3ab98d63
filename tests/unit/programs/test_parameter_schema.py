import json
import re
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.errors import InvalidInput
from brain.programs.parameters import (
    check_payload,
    check_schema,
    compare_with_definition,
    encode_schema,
    parse_schema,
    schema_from_definition,
)
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)

SCHEMA: dict[str, Any] = CASES["schema"]


def test_a_schema_comes_back_as_it_was_written():
    assert parse_schema(encode_schema(SCHEMA)) == SCHEMA
    jsonschema_rs.meta.validate(SCHEMA)


def one(**part: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": part}}


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ([], "it is not an object"),
        ({}, 'type: it must be "object"'),
        ({"type": "array"}, 'type: it must be "object"'),
        (one(type="text"), "x: type: text is not one of string, integer"),
        (one(type=[["a"]]), "x: type: ['a'] is not one of"),
        (one(type="string", pattern="(a+)+$"), "x: the keyword pattern is not supported"),
        (one(anyOf=[{}]), "x: the keyword anyOf is not supported"),
        (one(**{"$ref": "#"}), "x: the keyword $ref is not supported"),
        (one(type="string", minLength=-1), "x: minLength: it must be from 0 to 1000000"),
        (one(type="string", maxLength=True), "x: maxLength: it must be a whole number"),
        (one(type="string", minLength=10**9), "x: minLength: it must be from 0 to"),
        (one(type="integer", minimum="0"), "x: minimum: it must be a number"),
        (one(type="integer", minimum=2, maximum=1), "x: minimum: it is more than maximum"),
        (one(type="integer", default="a"), "x: default: it must be a whole number"),
        (one(type="integer", examples=[1, 2.5]), "x: examples: it must be a whole number"),
        (one(type="integer", enum=["a"]), 'x: enum: "a" is not of the type'),
        (one(enum=[]), "x: enum: it must have from 1 to 256 items"),
        (one(enum=list(range(257))), "x: enum: it must have from 1 to 256 items"),
        (one(items=1), "x[]: it is not an object"),
        (one(type="array", items={"type": "z"}), "x[]: type: z is not one of"),
        (one(properties={"y": {"type": 1}}), "x.y: type: 1 is not one of"),
        (one(description=1), "x: description: it must be text"),
        (one(additionalProperties={}), "x: additionalProperties: it must be true or false"),
        ({"type": "object", "properties": []}, "properties: it must be an object"),
        ({"type": "object", "properties": {"a b": {}}}, "properties: a b is not a name"),
        ({"type": "object", "properties": {"": {}}}, "is not a name for a parameter"),
        ({"type": "object", "required": ["x"]}, "required: x is not among the properties"),
        ({"type": "object", "required": [[]]}, "required: [] is not among the properties"),
        ({"type": "object", "required": "x"}, "required: it must be a list"),
        ({"type": "object", "properties": {f"p{n}": {} for n in range(65)}}, "more than the 64"),
    ],
)
def test_a_fault_of_a_schema_is_named_with_its_field(schema, fault):
    with raises_code("bad_schema", InvalidInput, match=re.escape(fault)) as caught:
        check_schema(schema)
    assert caught.value.hint


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        b'{"type": "object", "type": "object"}',
        b'{"type": "object", "properties": ' + b'{"a":' * 20 + b"{}" + b"}" * 21,
        b" " * (65 << 10),
        b"[" * 60_000,
    ],
)
def test_what_is_no_json_or_too_large_is_refused(data):
    with raises_code("bad_schema", InvalidInput):
        parse_schema(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "required", "enum", "default", "minimum"]
            ),
            inner,
            max_size=4,
        )
    ),
)


@given(JSON, JSON)
def test_any_json_is_a_schema_or_refused_and_a_schema_takes_any_payload(schema, payload):
    for candidate in (schema, {"type": "object", "properties": {"x": schema}}):
        try:
            checked = check_schema(candidate)
        except InvalidInput as error:
            assert error.code == "bad_schema"
            continue
        try:
            assert check_payload(checked, payload) == payload
        except InvalidInput as error:
            assert error.code == "bad_payload"


@pytest.mark.parametrize(
    ("payload", "fault"), CASES["test_a_payload_that_does_not_fit_is_refused_before_a_run"]
)
def test_a_payload_that_does_not_fit_is_refused_before_a_run(payload, fault):
    with raises_code("bad_payload", InvalidInput, match=re.escape(fault)):
        check_payload(SCHEMA, payload)


def definition(*params: dict[str, Any]) -> dict[str, Any]:
    return {"name": "x", "params": list(params)}


TEXT = {"name": "text", "type": "string", "description": "A text", "required": True}
RATE = {"name": "rate", "type": "float", "required": False, "default": 0.5}


def test_a_definition_gives_a_schema():
    schema = schema_from_definition(definition(TEXT, RATE, {"name": "on", "type": "boolean"}))
    assert json.loads(encode_schema(schema)) == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "A text"},
            "rate": {"type": "number", "default": 0.5},
            "on": {"type": "boolean"},
        },
        "required": ["text", "on"],
        "additionalProperties": False,
    }
    assert (
        compare_with_definition(schema, definition(TEXT, RATE, {"name": "on", "type": "boolean"}))
        == []
    )


@pytest.mark.parametrize(
    "param",
    [
        {"name": 3, "type": "string"},
        {"name": "a b", "type": "string"},
        {"name": "x", "type": "whatever"},
        {"name": "x", "type": ["string"]},
        {"name": "n", "type": "integer", "required": False, "default": "many"},
        {"type": "string"},
        TEXT,
    ],
)
def test_a_malformed_parameter_of_a_definition_is_refused(param):
    with raises_code("bad_definition", InvalidInput):
        schema_from_definition(definition(TEXT, param))


def test_differences_between_schema_and_definition_are_named():
    schema = schema_from_definition(definition(TEXT, RATE))
    other = definition(
        {"name": "text", "type": "integer", "required": False}, {"name": "n", "type": "integer"}
    )
    assert compare_with_definition(schema, other) == [
        "definition() does not name rate",
        "schema.json does not name n",
        "text is string in schema.json, integer in definition()",
        "only schema.json requires text",
    ]
