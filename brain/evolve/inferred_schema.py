"""Make the schema of a skill's parameters from payloads, or from the definition of its class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InvalidInput, printable_text

Schema = dict[str, Any]
_PARAMETER_TYPES = {
    "string": "string",
    "str": "string",
    "integer": "integer",
    "int": "integer",
    "float": "number",
    "number": "number",
    "boolean": "boolean",
    "bool": "boolean",
}
"""By the type that a class names: that of JSON Schema."""


def infer_schema(payloads: Sequence[Mapping[str, Any]]) -> Schema:
    """Return the schema of an object that allows all `payloads`, with them as examples.

    An argument that every payload has is required.
    """
    names = dict.fromkeys(name for payload in payloads for name in payload)
    return {
        "type": "object",
        "properties": {
            name: _infer_value([payload[name] for payload in payloads if name in payload])
            for name in names
        },
        "required": [name for name in names if all(name in payload for payload in payloads)],
        "additionalProperties": False,
    }


def _infer_value(values: Sequence[Any]) -> Schema:
    kinds = list(dict.fromkeys(map(_json_type, values)))
    if "number" in kinds and "integer" in kinds:
        kinds.remove("integer")
    schema: Schema = {"type": kinds[0] if len(kinds) == 1 else kinds}
    if objects := [value for value in values if isinstance(value, Mapping)]:
        schema |= {key: part for key, part in infer_schema(objects).items() if key != "type"}
    if lists := [value for value in values if isinstance(value, list)]:
        items = [item for value in lists for item in value]
        schema["items"] = _infer_value(items) if items else {"type": "string"}
    return schema


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    kinds = ((int, "integer"), (float, "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")


def schema_from_definition(definition: Mapping[str, Any]) -> Schema:
    """Return the schema of the parameters that `definition()` of a class lists.

    Raises `InvalidInput` (`bad_definition`) for one that cannot be read.
    """
    params = definition.get("params", [])
    if not isinstance(params, list):
        raise _definition_error("its params are not a list")
    properties: Schema = {}
    required = []
    for param in params:
        name, part = _read_param(param)
        properties[name] = part
        if param.get("required", True):
            required.append(name)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _read_param(param: Any) -> tuple[str, Schema]:
    name = param.get("name") if isinstance(param, Mapping) else None
    if not isinstance(name, str) or not name:
        raise _definition_error("a parameter has no name")
    kind = param.get("param_type", param.get("type", "string"))
    if kind not in _PARAMETER_TYPES:
        raise _definition_error(
            f"the type of {name} is {printable_text(kind, 40)}, not one of "
            + ", ".join(_PARAMETER_TYPES)
        )
    part: Schema = {"type": _PARAMETER_TYPES[kind]}
    if isinstance(param.get("description"), str):
        part["description"] = param["description"]
    if param.get("default") is not None:
        part["default"] = param["default"]
    return name, part


def _definition_error(reason: str) -> InvalidInput:
    return InvalidInput(
        f"definition() cannot be used: {printable_text(reason, 200)}",
        code="bad_definition",
        hint="return a SkillDefinition whose params are SkillParam(name, type, description)",
    )
