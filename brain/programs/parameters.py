"""The JSON Schema of a skill's parameters: schema.json checked, made, and applied to payloads.

It is the schema of an object, with the keywords of `util.json_schema`, and `title`,
`description`, `default`, `examples` and `format`, which describe. A `pattern` is refused: an
expression of a stranger can take exponential time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import InvalidInput, printable_text
from ..util import strict_json
from ..util.json_schema import JSON_TYPES, find_schema_faults, has_json_type, list_types
from . import SCHEMA_FILE

MAX_SCHEMA_BYTES = 64 << 10
MAX_SCHEMA_DEPTH = 16
MAX_PROPERTIES = 64
"""Of one object."""
MAX_CHOICES = 256
MAX_BOUND = 1_000_000
"""Of a length or a number of items."""
MAX_PAYLOAD_BYTES = 100_000
"""Of a payload as JSON: the kernel passes an argument of at most 128 KiB."""

_PAIRS = (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"))
_KEYWORDS: dict[str, dict[str, Any]] = {
    name: schema
    for names, schema in (
        ("title description format $schema $comment $id", {"type": "string"}),
        ("additionalProperties", {"type": "boolean"}),
        ("enum examples", {"type": "array", "minItems": 1, "maxItems": MAX_CHOICES}),
        (
            "minLength maxLength minItems maxItems",
            {"type": "integer", "minimum": 0, "maximum": MAX_BOUND},
        ),
        ("minimum maximum", {"type": "number"}),
        ("required", {"type": "array"}),
        ("properties", {"type": "object", "additionalProperties": True}),
        ("type const items default", {}),
    )
    for name in names.split()
}
"""The schema of each keyword."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_MAX_FAULTS = 8

_TYPE_NAMES = {name: name for name in ("string", "integer", "boolean", "number", "array", "object")}
_TYPE_NAMES |= {"float": "number", "str": "string", "int": "integer", "bool": "boolean"}
_TYPE_NAMES |= {"list": "array", "dict": "object"}
"""Types of parameters as definitions name them."""


def parse_schema(data: bytes) -> dict[str, Any]:
    """Return the schema in a file. Raises `InvalidInput` (`bad_schema`) that names the field."""
    try:
        return check_schema(strict_json.parse_bounded(data, MAX_SCHEMA_DEPTH, MAX_SCHEMA_BYTES))
    except ValueError as error:
        raise _bad_schema(str(error)) from error


def check_schema(schema: Any) -> dict[str, Any]:
    """Return a schema that is parsed already. Raises `InvalidInput` (`bad_schema`)."""
    faults = list(_schema_faults(schema, ""))
    if isinstance(schema, dict) and schema.get("type") != "object":
        faults = ['type: it must be "object"']
    if faults := faults or list(_value_faults(schema, "")):
        raise _bad_schema("; ".join(faults[:_MAX_FAULTS]))
    out: dict[str, Any] = schema
    return out


def encode_schema(schema: Mapping[str, Any]) -> bytes:
    """Return the text of schema.json."""
    return (json.dumps(schema, ensure_ascii=False, indent=2) + "\n").encode()


def schema_from_definition(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema for the parameters that `definition()` names.

    Raises `InvalidInput` (`bad_definition`).
    """
    properties: dict[str, dict[str, Any]] = {}
    required: list[str] = []
    params = definition.get("params")
    for number, param in enumerate(params if isinstance(params, list) else [], 1):
        name, kind = param.get("name"), param.get("type")
        if not isinstance(name, str) or name in properties or str(kind) not in _TYPE_NAMES:
            raise InvalidInput(
                f"parameter {number} of definition() is malformed: "
                f"{printable_text(name, 40)} of type {printable_text(kind, 40)}",
                code="bad_definition",
                hint="give each parameter a name of its own and one of the types string, integer, "
                "float and boolean",
            )
        properties[name] = {"type": _TYPE_NAMES[str(kind)]}
        if param.get("description"):
            properties[name]["description"] = str(param["description"])
        if param.get("required", True):
            required.append(name)
        elif param.get("default") is not None:
            properties[name]["default"] = param["default"]
    schema = {"type": "object", "properties": properties, "required": required}
    try:
        return check_schema({**schema, "additionalProperties": False})
    except InvalidInput as error:
        raise InvalidInput(
            f"the parameters of definition() are malformed: {error.message}",
            code="bad_definition",
            hint="a default is a value of the type of its parameter",
        ) from error


def compare_with_definition(schema: Mapping[str, Any], definition: Mapping[str, Any]) -> list[str]:
    """Return where schema.json and `definition()` differ, in sentences; none if they agree.

    The schema may say more of a parameter than the definition can.
    """
    wanted = schema_from_definition(definition)
    stated, defined = schema.get("properties", {}), wanted["properties"]
    out = [f"definition() does not name {name}" for name in stated if name not in defined]
    out += [f"{SCHEMA_FILE} does not name {name}" for name in defined if name not in stated]
    for name in (name for name in stated if name in defined):
        kinds, kind = list_types(stated[name]), defined[name]["type"]
        if kinds and kind not in kinds:
            out.append(f"{name} is {' or '.join(kinds)} in {SCHEMA_FILE}, {kind} in definition()")
        if (name in wanted["required"]) != (name in schema.get("required", ())):
            where = "definition()" if name in wanted["required"] else SCHEMA_FILE
            out.append(f"only {where} requires {name}")
    return out


def check_payload(schema: Mapping[str, Any], payload: Any) -> dict[str, Any]:
    """Return a payload that fits a schema. Raises `InvalidInput` (`bad_payload`)."""
    faults = (
        list(find_schema_faults(schema, payload, ""))
        if isinstance(payload, Mapping)
        else ["they are not an object"]
    )
    if faults:
        raise InvalidInput(
            f"the arguments do not fit the parameters: {'; '.join(faults[:_MAX_FAULTS])}",
            code="bad_payload",
            hint="call again with arguments that fit the schema",
        )
    return dict(payload)


def _schema_faults(schema: Any, where: str) -> Iterator[str]:
    prefix = f"{where}: " if where else ""
    if not isinstance(schema, dict):
        yield f"{prefix}it is not an object"
        return
    wrong = set()
    for name, value in schema.items():
        fault = next(find_schema_faults(_KEYWORDS.get(name, {}), value, "it"), "")
        if fault:
            wrong.add(name)
            yield f"{prefix}{name}: {fault}"
        elif name not in _KEYWORDS:
            yield f"{prefix}the keyword {printable_text(name, 40)} is not supported"
    kinds = schema.get("type", [])
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if not isinstance(kind, str) or kind not in JSON_TYPES:
            known = ", ".join(JSON_TYPES)
            yield f"{prefix}type: {printable_text(kind, 40)} is not one of {known}"
    for least, most in _PAIRS:
        if {least, most} <= schema.keys() - wrong and schema[least] > schema[most]:
            yield f"{prefix}{least}: it is more than {most}"
    if "items" in schema:
        yield from _schema_faults(schema["items"], f"{where}[]")
    if not {"properties", "required"} & wrong:
        yield from _property_faults(schema, where)


def _property_faults(schema: dict[str, Any], where: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    prefix = f"{where}: " if where else ""
    if len(properties) > MAX_PROPERTIES:
        yield f"{prefix}properties: it has more than the {MAX_PROPERTIES} that there can be"
        return
    for name, inner in properties.items():
        if not _NAME.fullmatch(name):
            yield f"{prefix}properties: {printable_text(name, 40)} is not a name for a parameter"
        else:
            yield from _schema_faults(inner, f"{where}.{name}" if where else name)
    for name in schema.get("required", ()):
        if not isinstance(name, str) or name not in properties:
            yield f"{prefix}required: {printable_text(name, 40)} is not among the properties"


def _value_faults(schema: dict[str, Any], where: str) -> Iterator[str]:
    """Yield a fault for each default, example or choice that the schema itself refuses."""
    prefix = f"{where}: " if where else ""
    values = [("default", schema["default"])] if "default" in schema else []
    values += [("examples", value) for value in schema.get("examples", ())]
    for name, value in values:
        for fault in find_schema_faults(schema, value, "it"):
            yield f"{prefix}{name}: {fault}"
    kinds = list_types(schema)
    for choice in schema.get("enum", ()):
        if kinds and not any(has_json_type(kind, choice) for kind in kinds):
            yield f"{prefix}enum: {printable_text(json.dumps(choice), 40)} is not of the type"
    if "items" in schema:
        yield from _value_faults(schema["items"], f"{where}[]")
    for name, inner in schema.get("properties", {}).items():
        yield from _value_faults(inner, f"{where}.{name}" if where else name)


def _bad_schema(reason: str) -> InvalidInput:
    return InvalidInput(
        f"{SCHEMA_FILE} cannot be used: {reason}",
        code="bad_schema",
        hint='write it like {"type": "object", "properties": {"text": {"type": "string"}}, '
        '"required": ["text"]}',
    )
