"""Arguments are checked against the schemas before anything is done."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brain import ToolFailure, limits
from brain.serve.tools import TOOLS, checks
from brain.serve.tools.definitions import Schema, object_schema, text_schema
from tests.support.refusals import raises_code

SCHEMAS = {tool.name: tool.parameters for tool in TOOLS}
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


def plausible(schema: Schema) -> st.SearchStrategy[Any]:
    """Return what is of the right type, mostly."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    of: dict[str, st.SearchStrategy[Any]] = {
        "string": st.sampled_from(schema.get("enum", ["", "a", "x" * 300, "\ud800"])),
        "integer": st.sampled_from([-1, 0, 1, 200, 201, 10**9, 10**40, True]),
        "boolean": st.booleans() | st.just(0),
        "array": st.lists(plausible(schema["items"]), max_size=3) if "items" in schema else JSON,
        "object": objects(schema) if "properties" in schema else JSON,
    }
    return st.one_of(JSON, *(of[kind] for kind in kinds))


def objects(schema: Schema) -> st.SearchStrategy[dict[str, Any]]:
    known = {name: plausible(inner) for name, inner in schema["properties"].items()}
    required = {name: known[name] for name in schema["required"]}
    rest = {name: value for name, value in known.items() if name not in required}
    usual = st.fixed_dictionaries(required, optional=rest)
    return usual | st.dictionaries(st.sampled_from([*known, "other"]), JSON, max_size=3)


def is_text(value: Any) -> bool:
    """Tell whether all text in a value is UTF-8 without NUL; the oracle does not ask."""
    if isinstance(value, dict):
        return all(is_text(item) for item in (*value, *value.values()))
    if isinstance(value, list):
        return all(map(is_text, value))
    if not isinstance(value, str):
        return True
    return "\0" not in value and (value.isascii() or value.encode("utf-8", "ignore") != b"")


def has_float(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(has_float, value.values()))
    return any(map(has_float, value)) if isinstance(value, list) else isinstance(value, float)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_that_a_validator_takes(name):
    jsonschema_rs.meta.validate(SCHEMAS[name])


@given(st.data())
def test_what_is_taken_is_what_a_validator_takes(data):
    schema = SCHEMAS[data.draw(st.sampled_from(sorted(SCHEMAS)))]
    value = data.draw(objects(schema))
    wanted = {name: item for name, item in value.items() if item is not None}
    if not is_text(wanted) or has_float(wanted):
        return  # 1.0 is an integer to a validator, and never given for one
    try:
        assert checks.check_arguments(schema, value) == wanted
    except ToolFailure as failure:
        assert failure.code == "bad_arguments"
        assert not jsonschema_rs.is_valid(schema, wanted)
    else:
        assert jsonschema_rs.is_valid(schema, wanted)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "name is missing"),
        ({"name": 3}, "name must be text"),
        ({"name": None}, "name is missing"),
        ({"name": ""}, "name must not be empty"),
        ({"name": "x" * 9}, "name has 9 characters, and may have 8"),
        ({"name": "\ud800"}, "half a surrogate pair"),
        ({"name": "a\0b"}, "holds a NUL"),
        ({"name": "a", "nam": 1}, "there is no 'nam', did you mean name?"),
        ({"name": "a", "zzzzz": 1}, "only name, count, mode, list"),
        ({"name": "a", "count": True}, "count must be a whole number"),
        ({"name": "a", "count": 0}, "count must be from 1 to 9"),
        ({"name": "a", "count": 10**99}, "count must be from 1 to 9"),
        ({"name": "a", "mode": "c"}, "mode must be one of a, b, not 'c'"),
        ({"name": "a", "list": [{}, {"x": 1}]}, "there is no 'x' of item 2 of list"),
        ({"name": "a", "list": [{}] * 4}, "list must have from 0 to 3 items"),
        ({"name": "a", "\x1b[2J": 1}, "there is no '\\x1b[2J'"),
    ],
)
def test_what_is_wrong_is_said(given, said):
    schema = object_schema(
        ("name",),
        name=text_schema("", 8, 1),
        count={"type": "integer", "minimum": 1, "maximum": 9},
        mode={"type": "string", "enum": ["a", "b"]},
        list={"type": "array", "items": object_schema(), "maxItems": 3},
    )
    with pytest.raises(ToolFailure) as caught:
        checks.check_arguments(schema, given)
    assert said in caught.value.text


@pytest.mark.parametrize(
    "given",
    ["", "{", "[]", "1", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 10**5, "1" * 5000, "\ud800"],
)
def test_arguments_in_bad_json_are_refused(given):
    with raises_code("bad_arguments", ToolFailure):
        checks.parse_arguments(given)


def test_arguments_past_the_limit_are_not_looked_at():
    with pytest.raises(ToolFailure, match="longer than"):
        checks.parse_arguments(" " * (8 << 20) + "{}")


@given(st.text() | st.binary())
@example(b"\xff")
def test_any_text_is_arguments_or_a_failure(given):
    try:
        assert isinstance(checks.parse_arguments(given), dict)
    except ToolFailure as failure:
        assert failure.code == "bad_arguments"


def test_arguments_at_the_limits_are_read():
    longest = "{}" + " " * (limits.MAX_CALL_BYTES - 2)
    deepest = '{"a": ' + "[" * 31 + "]" * 31 + "}"
    assert checks.parse_arguments(longest) == {}
    assert list(checks.parse_arguments(deepest)) == ["a"]
    for text, fault in ((longest + " ", "longer than"), (f"[{deepest}]", "too deeply")):
        with pytest.raises(ToolFailure, match=fault):
            checks.parse_arguments(text)


def test_eight_faults_are_named_at_once():
    with pytest.raises(ToolFailure) as caught:
        checks.check_arguments(object_schema(), dict.fromkeys("abcdefghi", 1))
    assert caught.value.message.split("; ")[-1] == "there is no 'h', only nothing."


def test_long_foreign_text_is_cut_in_a_fault():
    schema = object_schema(mode={"type": "string", "enum": ["a"]})
    for arguments in ({"mode": "x" * 41}, {"x" * 41: 1}):
        with pytest.raises(ToolFailure) as caught:
            checks.check_arguments(schema, arguments)
        assert f"'{'x' * 40}…'" in caught.value.message
    with pytest.raises(ToolFailure) as caught:
        checks.check_arguments(schema, {"mode": "x" * 40})
    assert caught.value.message.endswith(f"must be one of a, not '{'x' * 40}'.")


def test_a_list_has_its_least_and_its_most_items():
    items = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3}
    schema = object_schema(items=items)
    for count in (2, 3):
        arguments = {"items": list(range(count))}
        assert checks.check_arguments(schema, arguments) == arguments
    for count in (1, 4):
        with pytest.raises(ToolFailure, match="items must have from 2 to 3 items"):
            checks.check_arguments(schema, {"items": list(range(count))})


def test_a_whole_number_has_its_least_and_its_most():
    schema = object_schema(count={"type": "integer", "minimum": 2, "maximum": 4})
    for count in (2, 4):
        assert checks.check_arguments(schema, {"count": count}) == {"count": count}
    for count in (1, 5):
        with pytest.raises(ToolFailure, match="count must be from 2 to 4"):
            checks.check_arguments(schema, {"count": count})
    unbounded = object_schema(count={"type": "integer"})
    assert checks.check_arguments(unbounded, {"count": -7}) == {"count": -7}
