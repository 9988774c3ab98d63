"""Check the arguments of a tool call against the schema of the tool.

Only the keywords that the schemas of the tools use are supported. The error names all
faults at once, in words that a model can act on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ... import limits
from ...errors import ToolFailure, printable_text
from ...skills.suggestions import suggest_names
from ...util import strict_json
from .tool import Schema

_JSON_TYPES: dict[str, tuple[type, str]] = {
    "string": (str, "text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
    "array": (list, "a list"),
    "object": (dict, "an object"),
}
_MAX_FAULTS = 8
_MAX_DEPTH = 32


def parse_arguments(text: str | bytes) -> dict[str, Any]:
    """Return the arguments in a JSON text. Raises `ToolFailure` (`bad_arguments`)."""
    if len(text) > limits.MAX_CALL_BYTES:
        raise _bad_arguments(f"they are longer than {limits.MAX_CALL_BYTES} bytes")
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if strict_json.nesting_depth(data, _MAX_DEPTH) > _MAX_DEPTH:
        raise _bad_arguments("they are nested too deeply")
    try:
        arguments = strict_json.parse_unbounded_json(text)
    except ValueError as error:  # also for invalid UTF-8 and numbers of thousands of digits
        raise _bad_arguments(f"they are not JSON: {printable_text(error)}") from error
    if not isinstance(arguments, dict):
        raise _bad_arguments("they are not a JSON object")
    return arguments


def parse_if_text(arguments: Mapping[str, Any] | str | bytes) -> Mapping[str, Any]:
    """Return arguments that may be a JSON text. Raises `ToolFailure` (`bad_arguments`)."""
    return parse_arguments(arguments) if isinstance(arguments, str | bytes) else arguments


def check_arguments(schema: Schema, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments without nulls, which count as missing.

    Raises `ToolFailure` (`bad_arguments`) that names every fault.
    """
    if not isinstance(arguments, Mapping):
        raise _bad_arguments("they are not an object")
    values = {name: _drop_nulls(value) for name, value in arguments.items() if value is not None}
    faults = list(_schema_faults(schema, values, ""))
    if faults:
        raise _bad_arguments("; ".join(faults[:_MAX_FAULTS]))
    return values


def _drop_nulls(value: Any) -> Any:
    """Return a value; if it is a list, without the nulls in its objects."""
    if not isinstance(value, list):
        return value
    return [
        {name: inner for name, inner in item.items() if inner is not None}
        if isinstance(item, Mapping)
        else item
        for item in value
    ]


def _bad_arguments(fault: str) -> ToolFailure:
    return ToolFailure(
        f"These arguments are refused: {fault}.",
        code="bad_arguments",
        hint="Call again with arguments that fit the schema of the tool.",
    )


def _schema_faults(schema: Schema, value: Any, where: str) -> Iterator[str]:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_has_type(kind, value) for kind in kinds):
        yield f"{where} must be {' or '.join(_JSON_TYPES[kind][1] for kind in kinds)}"
    elif isinstance(value, str):
        yield from _text_faults(schema, value, where)
    elif isinstance(value, list):
        yield from _list_faults(schema, value, where)
    elif isinstance(value, Mapping):
        yield from _object_faults(schema, value, where)
    elif not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{where} must be from {schema['minimum']} to {schema['maximum']}"


def _has_type(kind: str, value: Any) -> bool:
    expected_type = Mapping if kind == "object" else _JSON_TYPES[kind][0]
    return isinstance(value, expected_type) and isinstance(value, bool) == (kind == "boolean")


def _text_faults(schema: Schema, value: str, where: str) -> Iterator[str]:
    min_chars, max_chars = schema.get("minLength", 0), schema.get("maxLength", len(value))
    if not min_chars <= len(value):
        yield f"{where} must not be empty"
    if len(value) > max_chars:
        yield f"{where} has {len(value)} characters, and may have {max_chars}"
    elif "\0" in value:
        yield f"{where} holds a NUL, which no text has"
    elif not _is_encodable(value):
        yield f"{where} holds half a surrogate pair, which is no character"
    elif value not in schema.get("enum", (value,)):
        choices = ", ".join(schema["enum"])
        yield f"{where} must be one of {choices}, not '{printable_text(value, 40)}'"


def _is_encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _list_faults(schema: Schema, value: list[Any], where: str) -> Iterator[str]:
    if not schema.get("minItems", 0) <= len(value) <= schema["maxItems"]:
        yield f"{where} must have from {schema.get('minItems', 0)} to {schema['maxItems']} items"
        return
    for number, item in enumerate(value, 1):
        yield from _schema_faults(schema["items"], item, f"item {number} of {where}")


def _object_faults(schema: Schema, value: Mapping[str, Any], where: str) -> Iterator[str]:
    if "properties" not in schema:  # any object
        return
    allowed: dict[str, Schema] = schema["properties"]
    of_owner = f" of {where}" if where else ""
    for name in schema["required"]:
        if name not in value:
            yield f"{name}{of_owner} is missing"
    for name, item in value.items():
        if name in allowed:
            yield from _schema_faults(allowed[name], item, f"{name}{of_owner}")
        else:
            unknown = f"'{printable_text(name, 40)}'{of_owner}"
            yield f"there is no {unknown}, {_suggest_name(name, allowed)}"


def _suggest_name(name: Any, allowed: Mapping[str, Schema]) -> str:
    suggestions = suggest_names(str(name), allowed, 1)
    if suggestions:
        return f"did you mean {suggestions[0]}?"
    return f"only {', '.join(allowed) or 'nothing'}"
