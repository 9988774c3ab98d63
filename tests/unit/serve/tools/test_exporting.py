"""One definition, in the form of every interface."""

from typing import Any

import jsonschema_rs
import pytest

from brain import limits
from brain.serve.tools import TOOLS, anthropic, definitions, openai, responses
from brain.serve.tools.toolbox import _TOOL_FUNCTIONS

NAMES = ["skills_list", "skill_view", "skill_manage", "memory"]
NAMES += ["brain_snapshot", "brain_diff", "brain_log", "brain_verify"]


def nested(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [found for item in schema for found in nested(item)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(found for item in schema.values() for found in nested(item))]


def test_every_tool_is_defined_and_carried_out():
    assert [tool.name for tool in TOOLS] == NAMES == list(_TOOL_FUNCTIONS)


@pytest.mark.parametrize("tool", TOOLS, ids=NAMES)
def test_nothing_unknown_unbounded_or_undescribed_may_be_given(tool):
    assert tool.description and tool.parameters["type"] == "object"
    for schema in nested(tool.parameters):
        kinds = schema.get("type", [])
        if kinds == "object":
            assert schema["additionalProperties"] is False
        if kinds == "array":
            assert schema["maxItems"]
        if "string" in kinds and "enum" not in schema:
            assert 0 < schema["maxLength"] <= limits.MAX_CALL_TEXT_CHARS and schema["description"]
        if "integer" in kinds:
            assert "minimum" in schema and "maximum" in schema


def test_no_top_level_choice_is_made_that_an_interface_would_refuse():
    for tool in TOOLS:
        assert not {"oneOf", "anyOf", "allOf", "not", "enum"} & set(tool.parameters)


def test_the_parameters_of_hermes_and_of_the_seed_keep_their_names():
    by_name = {tool.name: set(tool.parameters["properties"]) for tool in TOOLS}
    assert by_name["skills_list"] >= {"category"}
    assert by_name["skill_view"] >= {"name", "file_path"}
    assert by_name["skill_manage"] >= {
        *("op", "action", "name", "content", "old_string", "new_string", "replace_all"),
        *("category", "file_path", "file_content", "absorbed_into"),
    }
    assert by_name["memory"] >= {"action", "target", "content", "old_text", "operations"}


def test_the_forms_differ_and_the_definitions_do_not():
    for tool, chat, response, claude, server in zip(
        TOOLS, openai(), responses(), anthropic(), definitions.mcp(), strict=True
    ):
        assert chat["type"] == response["type"] == "function" and response["strict"] is False
        assert chat["function"]["parameters"] is response["parameters"] is tool.parameters
        assert claude["input_schema"] is server["inputSchema"] is tool.parameters
        names = {chat["function"]["name"], response["name"], claude["name"], server["name"]}
        assert names == {tool.name}
        assert server["annotations"]["readOnlyHint"] is tool.read_only


def test_the_forms_are_those_that_the_interfaces_ask_for():
    """The shapes, as the documentation of the interfaces states them."""
    name = {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$"}
    parameters = {"type": "object", "required": ["type", "properties"]}
    function = {"name": name, "description": {"type": "string"}, "parameters": parameters}
    shapes = {
        openai: {"type": {"const": "function"}, "function": closed(function)},
        responses: {"type": {"const": "function"}, "strict": {"const": False}, **function},
        anthropic: {"name": name, "description": {"type": "string"}, "input_schema": parameters},
    }
    for form, shape in shapes.items():
        for definition in form():
            jsonschema_rs.validate(closed(shape), definition)


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def test_reading_tools_are_told_from_writing_ones():
    writing = {"skill_manage", "memory", "brain_snapshot"}
    assert {tool.name for tool in TOOLS if not tool.read_only} == writing
    assert all(not tool.destructive for tool in TOOLS if tool.read_only)


def test_the_description_asks_to_improve_before_a_near_duplicate_is_made():
    manage = next(tool for tool in TOOLS if tool.name == "skill_manage")
    assert "Improve the skill you have" in manage.description
    assert "near-duplicate" in manage.description


def test_what_a_tool_may_do_is_stated_for_clients():
    keys = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    hints = {
        tool["name"]: "".join("x" if tool["annotations"][key] else "-" for key in keys)
        for tool in definitions.mcp()
    }
    reading = dict.fromkeys(NAMES, "x-x-")
    writing = {"skill_manage": "-x--", "memory": "-x--", "brain_snapshot": "--x-"}
    assert hints == reading | writing


def test_the_bounds_of_the_parameters_are_those_that_clients_know():
    name, skill, path, text = (1, 256), (1, 1024), (None, 1024), (None, 1_000_000)
    memory = {"content": text, "old_text": text}
    assert {tool.name: bounds(tool.parameters) for tool in TOOLS} == {
        "skills_list": {"category": (None, 256), "task": text, "cursor": (None, 100)},
        "skill_view": {"name": skill, "file_path": path, "version": (0, 999_999_999)},
        "skill_manage": {
            **dict.fromkeys(("content", "old_string", "new_string", "file_content"), text),
            "name": skill,
            "description": (None, 1024),
            "category": (None, 64),
            "file_path": path,
            "absorbed_into": path,
        },
        "memory": {"target": name, "operations": (None, 100), **memory},
        "brain_snapshot": {"message": (None, 4000)},
        "brain_diff": {"from": (1, 200), "to": (1, 200)},
        "brain_log": {"limit": (1, 200), "skill": skill},
        "brain_verify": {},
    }
    by_name = {tool.name: tool.parameters["properties"] for tool in TOOLS}
    assert bounds(by_name["memory"]["operations"]["items"]) == memory
    assert by_name["skill_view"]["version"]["maxLength"] == 64


def bounds(schema: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the least and the most of each parameter that has a bound."""
    least, most = ("minimum", "minLength", "minItems"), ("maximum", "maxLength", "maxItems")
    found = {
        name: tuple(
            next((part[key] for key in keys if key in part), None) for keys in (least, most)
        )
        for name, part in schema["properties"].items()
    }
    return {name: pair for name, pair in found.items() if pair != (None, None)}
