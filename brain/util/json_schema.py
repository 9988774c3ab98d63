"""Check JSON values against a JSON Schema of a few keywords.

Supported are `type` (also a list of them), `enum`, `const`, `minimum`, `maximum`, `minLength`,
`maxLength`, `items`, `minItems`, `maxItems`, `properties`, `required` and
`additionalProperties`. An object has no other properties than the named ones, unless
`additionalProperties` is true. The faults are in words that a model can act on. No keyword takes
a regular expression, so checking takes linear time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import printable_text
from .text import suggest_names

Schema = Mapping[str, Any]

JSON_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "string": (str, "text"),
    "integer": (int, "a whole number"),
    "number": ((int, float), "a number"),
    "boolean": (bool, "true or false"),
    "array": (list, "a list"),
    "object": (Mapping, "an object"),
    "null": (type(None), "null"),
}
"""The types by name, each with what it is in Python and in words."""
_MAX_SHOWN_CHARS = 40


def find_schema_faults(schema: Schema, value: Any, where: str) -> Iterator[str]:
    """Yield what is wrong with a value; `where` names it, "" for the arguments as a whole."""
    kinds = list_types(schema)
    if kinds and not any(has_json_type(kind, value) for kind in kinds):
        yield f"{where} must be {' or '.join(JSON_TYPES[kind][1] for kind in kinds)}"
    elif isinstance(value, str) and (fault := _find_text_fault(schema, value)):
        yield f"{where} {fault}"
    elif isinstance(value, list):
        yield from _list_faults(schema, value, where)
    elif isinstance(value, Mapping):
        yield from _object_faults(schema, value, where)
    elif has_json_type("number", value) and (fault := _find_number_fault(schema, value)):
        yield f"{where} {fault}"
    else:
        yield from _choice_faults(schema, value, where)


def list_types(schema: Schema) -> list[str]:
    """Return the types that a schema allows, none if it allows all."""
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def has_json_type(kind: str, value: Any) -> bool:
    """Tell whether a value is of a type; true and false are no numbers."""
    is_bool = isinstance(value, bool)
    return isinstance(value, JSON_TYPES[kind][0]) and is_bool == (kind == "boolean")


def find_json_type(value: Any) -> str:
    """Return the type of a value; a whole number is an integer."""
    return next(kind for kind in JSON_TYPES if has_json_type(kind, value))


def equal_json(one: Any, other: Any) -> bool:
    """Compare JSON values; unlike Python, JSON tells true from 1."""
    if has_json_type("number", one) and has_json_type("number", other):
        return bool(one == other)
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal_json, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal_json(one[key], other[key]) for key in one)
    return bool(one == other)


def _choice_faults(schema: Schema, value: Any, where: str) -> Iterator[str]:
    if "const" in schema and not equal_json(value, schema["const"]):
        yield f"{where} must be {_show(schema['const'])}, not {_quote(value)}"
    elif "enum" in schema and not any(equal_json(value, choice) for choice in schema["enum"]):
        choices = ", ".join(map(_show, schema["enum"]))
        yield f"{where} must be one of {choices}, not {_quote(value)}"


def _find_number_fault(schema: Schema, value: float) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "must be a finite number: JSON has no NaN and no infinity (RFC 8259, section 6)"
    least, most = schema.get("minimum"), schema.get("maximum")
    if (least is None or value >= least) and (most is None or value <= most):
        return ""
    if least is not None and most is not None:
        return f"must be from {least} to {most}"
    return f"must be {least} or more" if most is None else f"must be {most} or less"


def _find_text_fault(schema: Schema, value: str) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength", len(value))
    if len(value) < least:
        if least == 1:
            return "must not be empty"
        return f"has {len(value)} characters, and needs {least}"
    if len(value) > most:
        return f"has {len(value)} characters, and may have {most}"
    if "\0" in value:
        return "holds a NUL, which no text has"
    if any("\ud800" <= char <= "\udfff" for char in value):
        return "holds half a surrogate pair, which is no character"
    return "".join(_choice_faults(schema, value, "")).strip()


def _list_faults(schema: Schema, value: list[Any], where: str) -> Iterator[str]:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if len(value) < least or (most is not None and len(value) > most):
        count = f"from {least} to {most}" if most is not None else f"{least} or more"
        yield f"{where} must have {count} items"
        return
    yield from _choice_faults(schema, value, where)
    for number, item in enumerate(value, 1):
        yield from find_schema_faults(schema.get("items", {}), item, f"item {number} of {where}")


def _object_faults(schema: Schema, value: Mapping[str, Any], where: str) -> Iterator[str]:
    allowed: Mapping[str, Schema] = schema.get("properties", {})
    is_closed = not schema.get("additionalProperties", "properties" not in schema and where != "")
    of_owner = f" of {where}" if where else ""
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{name}{of_owner} is missing"
    for name, item in value.items():
        if name in allowed:
            yield from find_schema_faults(allowed[name], item, f"{name}{of_owner}")
        elif is_closed:
            unknown = f"'{printable_text(name, _MAX_SHOWN_CHARS)}'{of_owner}"
            names = suggest_names(str(name), allowed, 1)
            hint = (
                f"did you mean {names[0]}?" if names else f"only {', '.join(allowed) or 'nothing'}"
            )
            yield f"there is no {unknown}, {hint}"


def _show(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return printable_text(text, _MAX_SHOWN_CHARS)


def _quote(value: Any) -> str:
    return f"'{_show(value)}'" if isinstance(value, str) else _show(value)
