"""Checking the arguments of a call against the schema of its tool, before anything is done.

The schemas of the tools use a handful of keywords, and these are all that is here;
what a model got wrong is said at once, in words that it can act on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from ... import jsontext, limits
from ...errors import ToolFailure, printable
from ...skills.near import closest
from .tool import Schema

_TYPES: dict[str, tuple[type, str]] = {
    "string": (str, "text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
    "array": (list, "a list"),
    "object": (dict, "an object"),
}
_MOST_FAULTS = 8
_DEEPEST = 32


def parse(text: str | bytes) -> dict[str, Any]:
    """Return the arguments in a JSON text, the form in which some interfaces hand them over.

    Raises `ToolFailure` (`bad_arguments`).
    """
    if len(text) > limits.MAX_CALL_BYTES:
        raise _bad(f"they are longer than {limits.MAX_CALL_BYTES} bytes")
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if jsontext.depth(data, _DEEPEST) > _DEEPEST:
        raise _bad("they are nested too deeply")
    try:
        found = json.loads(text, object_pairs_hook=distinct, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise _bad(f"they are not JSON: {error}") from error
    except ValueError as error:  # also bytes that are no text, numbers of thousands of digits
        raise _bad(f"they are not JSON: {printable(error)}") from error
    if not isinstance(found, dict):
        raise _bad("they are not a JSON object")
    return found


def check(schema: Schema, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are given; a null counts as not given.

    Raises `ToolFailure` (`bad_arguments`) that names what is wrong.
    """
    if not isinstance(given, Mapping):
        raise _bad("they are not an object")
    values = {name: _given(value) for name, value in given.items() if value is not None}
    faults = list(_faults(schema, values, ""))
    if faults:
        raise _bad("; ".join(faults[:_MOST_FAULTS]))
    return values


def _given(value: Any) -> Any:
    """Return a value without what is null in the objects of a list."""
    if not isinstance(value, list):
        return value
    return [
        {name: inner for name, inner in item.items() if inner is not None}
        if isinstance(item, Mapping)
        else item
        for item in value
    ]


def _bad(fault: str) -> ToolFailure:
    return ToolFailure(f"These arguments cannot be taken: {fault}.", code="bad_arguments")


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON that is being read. Raises `ValueError` for a name given twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is given twice")
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _faults(schema: Schema, value: Any, where: str) -> Iterator[str]:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_is(kind, value) for kind in kinds):
        yield f"{where} must be {' or '.join(_TYPES[kind][1] for kind in kinds)}"
    elif isinstance(value, str):
        yield from _text_faults(schema, value, where)
    elif isinstance(value, list):
        yield from _list_faults(schema, value, where)
    elif isinstance(value, Mapping):
        yield from _object_faults(schema, value, where)
    elif not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{where} must be from {schema['minimum']} to {schema['maximum']}"


def _is(kind: str, value: Any) -> bool:
    of = Mapping if kind == "object" else _TYPES[kind][0]
    return isinstance(value, of) and isinstance(value, bool) == (kind == "boolean")


def _text_faults(schema: Schema, value: str, where: str) -> Iterator[str]:
    least, most = schema.get("minLength", 0), schema.get("maxLength", len(value))
    if not least <= len(value):
        yield f"{where} must not be empty"
    if len(value) > most:
        yield f"{where} has {len(value)} characters, and may have {most}"
    elif "\0" in value:
        yield f"{where} holds a NUL, which no text has"
    elif not _encodes(value):
        yield f"{where} holds half a surrogate pair, which is no character"
    elif value not in schema.get("enum", (value,)):
        yield f"{where} must be one of {', '.join(schema['enum'])}, not '{printable(value, 40)}'"


def _encodes(value: str) -> bool:
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
        yield from _faults(schema["items"], item, f"item {number} of {where}")


def _object_faults(schema: Schema, value: Mapping[str, Any], where: str) -> Iterator[str]:
    known: dict[str, Schema] = schema["properties"]
    of = f" of {where}" if where else ""
    for name in schema["required"]:
        if name not in value:
            yield f"{name}{of} is missing"
    for name, item in value.items():
        if name in known:
            yield from _faults(known[name], item, f"{name}{of}")
        else:
            yield f"there is no '{printable(name, 40)}'{of}{_meant(name, known)}"


def _meant(name: Any, known: Mapping[str, Schema]) -> str:
    near = closest(str(name), known, 1)
    return f", did you mean {near[0]}?" if near else f", only {', '.join(known) or 'nothing'}"
